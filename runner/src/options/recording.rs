//! The file of a recording on the command line: it is read whole, or refused with the path that was
//! typed.

use std::path::Path;

use recording::{Error, Recording, Tree};

use crate::stop::Stop;

/// Reads the recording in the file at `path`, which messages call `called`, and its tree of jobs.
///
/// # Errors
/// As [`stop_of`], for a file that is not a recording, or that is incomplete or damaged.
pub(crate) fn read(path: &Path, called: &str) -> Result<(Recording, Tree), Stop> {
    let read = || {
        let recording = Recording::read(path)?;
        let tree = Tree::of(&recording)?;
        Ok((recording, tree))
    };
    read().map_err(|error| stop_of(called, &error))
}

/// Returns the error for a fault of a recording.
pub(crate) fn stop_of(called: &str, error: &Error) -> Stop {
    let text = format!("{called}: {error}");
    match error {
        Error::ClockJumped { .. } => Stop::HostNotFit(text),
        _ => Stop::BadInput(text),
    }
}
