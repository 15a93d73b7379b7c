//! The file of a recording, as commands are given it: read whole, or refused in the words that were
//! typed.

use std::path::Path;

use recording::{Error, Recording, Tree};

use crate::stop::Stop;

/// The recording in the file at `path`, which messages call `called`, and its tree of jobs.
///
/// # Errors
/// As [`told`], for a file that is no recording, cut or damaged.
pub(crate) fn read(path: &Path, called: &str) -> Result<(Recording, Tree), Stop> {
    let read = || {
        let recording = Recording::read(path)?;
        let tree = Tree::of(&recording)?;
        Ok((recording, tree))
    };
    read().map_err(|error| told(called, &error))
}

/// Returns the error for a fault of a recording.
pub(crate) fn told(called: &str, error: &Error) -> Stop {
    let text = format!("{called}: {error}");
    match error {
        Error::ClockJumped { .. } => Stop::HostNotFit(text),
        _ => Stop::BadInput(text),
    }
}
