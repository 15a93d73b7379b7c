//! The exit code of an error, whichever part of the runner it is from.

use std::io::{Error, ErrorKind};

use crate::config::ConfigError;
use crate::record::trials_file::BrokenLine;
use crate::stop::{Exit, Stop};

/// The exit code of an error. What nobody classified is a failing machine (disk, permissions): 4;
/// unless a file was read, and is not the text that it should be.
#[must_use]
pub fn exit_of(error: &anyhow::Error) -> Exit {
    if error.is::<ConfigError>() || error.is::<BrokenLine>() {
        return Exit::BadInput;
    }
    match error.downcast_ref::<Stop>() {
        Some(Stop::BadInput(_)) => Exit::BadInput,
        Some(Stop::BuildFailed(_)) => Exit::BuildFailed,
        Some(Stop::Interrupted(_)) => Exit::Interrupted,
        None if is_no_text(error) => Exit::BadInput,
        Some(Stop::HostNotFit(_)) | None => Exit::HostNotFit,
    }
}

/// Whether the cause is bytes that are no text.
fn is_no_text(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|it| it.downcast_ref::<Error>());
    causes
        .into_iter()
        .any(|it| it.kind() == ErrorKind::InvalidData)
}

/// Whether a command only stopped because nobody reads its standard output any more.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_it = |error: &Error| error.kind() == ErrorKind::BrokenPipe;
    error.downcast_ref::<Error>().is_some_and(is_it)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(of(ErrorKind::StorageFull), Exit::HostNotFit);
    }
}
