//! Errors in a machine's file, with the names that the file uses.

use serde_spanned::Spanned;

/// An error in a machine's file: its place and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct MachineError {
    /// The file, as it was named.
    pub file: String,
    /// Its line, if a line is at fault.
    pub line: Option<usize>,
    /// Key, value and remedy.
    pub message: String,
}

impl std::fmt::Display for MachineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl MachineError {
    /// Converts the parser's error about `text`, which messages call `file`.
    pub(super) fn of_parser(file: &str, text: &str) -> impl Fn(toml::de::Error) -> Self {
        move |error| Self {
            file: file.to_owned(),
            line: error.span().map(|span| line_of(text, span.start)),
            message: error.message().to_owned(),
        }
    }

    /// A message about the place at an offset in `text`, which is called `file`.
    pub(super) fn at(file: &str, text: &str) -> impl Fn(usize, String) -> Self {
        move |offset, message| Self {
            file: file.to_owned(),
            line: Some(line_of(text, offset)),
            message,
        }
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset.min(text.len())].matches('\n').count() + 1
}

/// Refuses an empty source.
pub(super) fn sourced(
    source: &Spanned<String>,
    of: &str,
    fault: &impl Fn(usize, String) -> MachineError,
) -> Result<(), MachineError> {
    if source.get_ref().trim().is_empty() {
        return Err(fault(
            source.span().start,
            format!("source of {of} is empty; write its source, or `measured`, or `guess`"),
        ));
    }
    Ok(())
}
