//! Prints texts and data on standard output, and breaks texts into lines.

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use console::Term;
use serde::Serialize;
use textwrap::{Options, WordSplitter};

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// A table for a terminal.
    Table,
    /// A table in Markdown, for a document.
    #[value(name = "md")]
    Markdown,
    /// JSON with one object per row.
    Json,
    /// CSV with one line per row.
    Csv,
}

/// Prints a text on standard output at once, even if standard output is a file or a pipe.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("standard output cannot be written")
}

pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Width in columns of texts for people, wherever these texts are printed. A terminal of 80 columns
/// shows such lines completely.
pub(crate) const PAGE: usize = 79;

/// Returns the number of columns of the terminal that standard output is connected to. `None` if
/// standard output is not a terminal; lines may then have any length.
pub(crate) fn columns_of_stdout() -> Option<usize> {
    let size = Term::stdout().size_checked();
    size.filter(|_| std::io::stdout().is_terminal())
        .map(|(_, columns)| columns.into())
}

/// Removes ANSI sequences from a text and escapes its control characters, because a text may quote
/// other people's texts. Only line ends and tabs stay.
#[must_use]
pub(crate) fn plain(text: &str) -> String {
    let shown = |mark: char| match mark {
        '\n' | '\t' => mark.to_string(),
        _ if mark.is_control() => mark.escape_default().to_string(),
        _ => mark.to_string(),
    };
    let text = console::strip_ansi_codes(text);
    text.chars().map(shown).collect()
}

/// Breaks a text into lines of at most `width` characters; lines after the first begin with
/// `indent`. Words stay complete, so that names can be copied; a line with a longer word is longer.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let options = Options::new(width)
        .subsequent_indent(indent)
        .break_words(false);
    textwrap::fill(text, options.word_splitter(WordSplitter::NoHyphenation))
}

/// Returns labels, each beside its value as `plain` text, in lines of at most `columns` characters.
pub(crate) fn labelled<'a>(
    rows: impl IntoIterator<Item = (&'a str, &'a str)>,
    [label, columns]: [usize; 2],
    indent: &str,
) -> String {
    let text = |(what, says): (&str, &str)| {
        let lines: Vec<String> = plain(says)
            .lines()
            .map(|line| wrapped(line, columns.saturating_sub(label), indent))
            .collect();
        let beside = lines.join("\n").replace('\n', &format!("\n{:label$}", ""));
        format!("{what:label$}{beside}").trim_end().to_owned() + "\n"
    };
    rows.into_iter().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_message_quotes_does_not_move_the_cursor_or_clear_the_screen() {
        assert_eq!(
            plain("`\u{1b}[2J\u{1b}[31mred\u{1b}[0m\u{7}\r\0`\n\tnext \u{e9}"),
            "`red\\u{7}\\r\\u{0}`\n\tnext \u{e9}"
        );
    }

    #[test]
    fn what_stands_beside_a_label_does_not_move_the_cursor() {
        let text = labelled([("hypothesis", "\u{1b}[2Jfaster\r\u{7}")], [12, 80], "");
        assert_eq!(text, "hypothesis  faster\\r\\u{7}\n");
    }
}
