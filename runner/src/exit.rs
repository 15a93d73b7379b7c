//! The exit code of an error, whichever part of the runner it is from.

use crate::config::ConfigError;
use crate::stop::{Exit, Stop};
use crate::trials_file::BrokenLine;

/// The exit code of an error. What nobody classified is a failing machine (disk, permissions): 4.
#[must_use]
pub fn exit_of(error: &anyhow::Error) -> Exit {
    if error.is::<ConfigError>() || error.is::<BrokenLine>() {
        return Exit::BadInput;
    }
    match error.downcast_ref::<Stop>() {
        Some(Stop::BadInput(_)) => Exit::BadInput,
        Some(Stop::BuildFailed(_)) => Exit::BuildFailed,
        Some(Stop::Interrupted(_)) => Exit::Interrupted,
        Some(Stop::HostNotFit(_)) | None => Exit::HostNotFit,
    }
}

/// Whether a command only stopped because nobody reads its standard output any more.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_it = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(is_it)
}
