//! The exit code of an error, whichever part of the runner it is from.

use crate::config::ConfigError;
use crate::record::trials_file::BrokenLine;
use crate::stop::{Exit, Stop};

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

/// An error in words, on a terminal that nothing in it changes: it may quote what others wrote.
#[must_use]
pub fn words_of(error: &anyhow::Error) -> String {
    let text = format!("{error:#}");
    let plain = console::strip_ansi_codes(&text);
    let shown = |mark: char| match mark {
        '\n' | '\t' => mark.to_string(),
        _ if mark.is_control() => mark.escape_default().to_string(),
        _ => mark.to_string(),
    };
    plain.chars().map(shown).collect()
}

/// Whether a command only stopped because nobody reads its standard output any more.
#[must_use]
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_it = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_error_quotes_does_not_move_the_cursor_or_clear_the_screen() {
        let error = anyhow::anyhow!("`\u{1b}[2J\u{1b}[31mred\u{1b}[0m\u{7}\r`\n\tnext \u{e9}");
        assert_eq!(words_of(&error), "`red\\u{7}\\r`\n\tnext \u{e9}");
    }
}
