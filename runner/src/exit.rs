//! The exit code of an error from any part of the runner.

use std::io::Error;

use crate::config::ConfigError;
use crate::record::trials_file::BrokenLine;
use crate::stop::{Exit, Stop, is_no_file_of_text};

/// Returns the exit code of an error. An unclassified error means a failing machine (disk,
/// permissions), unless the error says that a path is not a text file.
#[must_use]
pub fn exit_of(error: &anyhow::Error) -> Exit {
    if error.is::<ConfigError>() || error.is::<BrokenLine>() {
        return Exit::BadInput;
    }
    match error.downcast_ref::<Stop>() {
        Some(Stop::BadInput(_)) => Exit::BadInput,
        Some(Stop::BuildFailed(_)) => Exit::BuildFailed,
        Some(Stop::Interrupted(_)) => Exit::Interrupted,
        None if error.chain().any(is_misfit) => Exit::BadInput,
        Some(Stop::HostNotFit(_)) | None => Exit::HostNotFit,
    }
}

fn is_misfit(cause: &(dyn std::error::Error + 'static)) -> bool {
    cause
        .downcast_ref::<Error>()
        .is_some_and(is_no_file_of_text)
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use anyhow::Context as _;

    use super::*;

    #[test]
    fn a_file_that_is_no_text_is_bad_input_and_a_full_disk_is_not() {
        let of = |kind: ErrorKind| {
            exit_of(
                &Err::<(), _>(Error::from(kind))
                    .context("a file")
                    .unwrap_err(),
            )
        };
        assert_eq!(of(ErrorKind::InvalidData), Exit::BadInput);
        assert_eq!(of(ErrorKind::IsADirectory), Exit::BadInput);
        assert_eq!(of(ErrorKind::StorageFull), Exit::HostNotFit);
    }
}
