//! Prints a table: for a terminal, for a document, or as data.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context as _, Result};
use comfy_table::{Cell, CellAlignment, ColumnConstraint, Table, Width, presets};
use console::Term;
use serde::Serialize;
use textwrap::core::Word;
use textwrap::{Options, WordSeparator, WordSplitter};

/// How a table is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For a terminal.
    Table,
    /// For a document.
    Markdown,
    /// One object per row.
    Json,
    /// One line per row.
    Csv,
}

/// Prints a text on standard output at once, also if that is a file or a pipe.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.context("standard output cannot be written")
}

/// A value as indented JSON, ending with a line end.
pub(crate) fn json(value: &impl Serialize) -> Result<String> {
    Ok(format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Width of texts for people, in columns, wherever they are printed: a terminal of 80 columns shows
/// them completely.
pub(crate) const PAGE: usize = 79;

/// Columns of the terminal that standard output is connected to. `None` if it is not a terminal;
/// then lines may have any length.
pub(crate) fn columns_of_stdout() -> Option<usize> {
    let size = Term::stdout().size_checked();
    size.filter(|_| std::io::stdout().is_terminal())
        .map(|(_, columns)| columns.into())
}

/// Escapes control characters of a text, which may quote other people's texts. Only its line ends
/// and tabs still affect a terminal.
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

/// A column: its heading, and whether it holds numbers.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    title: Cow<'static, str>,
    is_figure: bool,
}

impl Column {
    /// A column of words, aligned to the left.
    pub(crate) fn text(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            title: title.into(),
            is_figure: false,
        }
    }

    /// A column of numbers, aligned to the right.
    pub(crate) fn number(title: impl Into<Cow<'static, str>>) -> Self {
        Self {
            title: title.into(),
            is_figure: true,
        }
    }
}

/// Rows for people.
#[derive(Clone, Debug)]
pub(crate) struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

const GAP: u16 = 2;

impl TextTable {
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self {
            columns: columns.into(),
            rows: Vec::new(),
        }
    }

    /// Adds a row of `plain` texts.
    pub(crate) fn push(&mut self, cells: impl IntoIterator<Item = String>) {
        let row: Vec<_> = cells.into_iter().map(|cell| plain(&cell)).collect();
        assert_eq!(
            row.len(),
            self.columns.len(),
            "a row has a cell for each column"
        );
        self.rows.push(row);
    }

    /// Returns the table, ending with a line end, in lines of at most so many columns. Every format
    /// except [`Format::Markdown`] is printed as [`Format::Table`].
    pub(crate) fn text(&self, format: Format, columns: Option<usize>) -> String {
        let is_markdown = format == Format::Markdown;
        let mut table = Table::new();
        table.load_style(if is_markdown {
            presets::ASCII_MARKDOWN
        } else {
            presets::NOTHING
        });
        table.set_header(self.columns.iter().map(|column| &*column.title));
        let widths = self.widths(columns);
        for row in &self.rows {
            table.add_row(row.iter().zip(&widths).map(|(text, &width)| {
                // An unescaped bar would end the cell.
                Cell::new(if is_markdown {
                    text.replace('|', "\\|")
                } else {
                    textwrap::fill(text, Options::new(width).word_separator(CELLS))
                })
            }));
        }
        for (index, column) in table.column_iter_mut().enumerate() {
            let is_figure = self.columns[index].is_figure;
            column.set_cell_alignment(if is_figure {
                CellAlignment::Right
            } else {
                CellAlignment::Left
            });
            if is_markdown {
                column.set_padding((1, 1));
            } else {
                column.set_padding((0, GAP));
                let width = u16::try_from(widths[index])
                    .unwrap_or(u16::MAX)
                    .saturating_add(GAP);
                column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width)));
            }
        }
        let lines: Vec<String> = table
            .to_string()
            .lines()
            .map(|line| line.trim_end().to_owned())
            .collect();
        lines.join("\n") + "\n"
    }

    /// Widths of the columns: as wide as their content. If the table is wider than the terminal,
    /// the widest columns of words are narrowed, and their cells are broken as [`CELLS`] says.
    fn widths(&self, columns: Option<usize>) -> Vec<usize> {
        /// In narrower columns, a line would hold only a syllable.
        const LEAST: usize = 8;
        let widest = |index: usize| {
            let cells = self.rows.iter().map(|row| row[index].chars().count());
            cells.fold(self.columns[index].title.len(), usize::max)
        };
        let mut widths: Vec<usize> = (0..self.columns.len()).map(widest).collect();
        let gaps = usize::from(GAP) * widths.len().saturating_sub(1);
        let excess = |widths: &[usize]| {
            let total = widths.iter().sum::<usize>() + gaps;
            columns.map_or(0, |columns| total.saturating_sub(columns))
        };
        while excess(&widths) > 0 {
            let words = (0..widths.len()).filter(|&index| !self.columns[index].is_figure);
            let Some(index) = words.max_by_key(|&index| widths[index]) else {
                break;
            };
            if widths[index] <= LEAST {
                break;
            }
            widths[index] -= 1;
        }
        widths
    }
}

/// Cells are broken at spaces and dashes, and within paths, lists and the kernel's names.
const CELLS: WordSeparator = WordSeparator::Custom(|line| {
    Box::new(line.split_inclusive([' ', '_', '/', ',']).map(Word::from))
});

/// Breaks a text into lines of at most `width` characters; lines after the first begin with
/// `indent`. Words stay complete, so that names can be copied.
pub(crate) fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let options = Options::new(width)
        .subsequent_indent(indent)
        .break_words(false);
    textwrap::fill(text, options.word_splitter(WordSplitter::NoHyphenation))
}

/// Labels, each beside its value as `plain` text, in lines of at most so many characters.
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

    fn table() -> TextTable {
        let mut table = TextTable::new([Column::text("branch"), Column::number("ratio")]);
        let long = "split-counters-no-jec-sleepers-only-cache-padded";
        table.push([long.to_owned(), "1.024".to_owned()]);
        table.push(["a|b".to_owned(), "0.5".to_owned()]);
        table
    }

    #[test]
    fn what_a_message_quotes_does_not_move_the_cursor_or_clear_the_screen() {
        assert_eq!(
            plain("`\u{1b}[2J\u{1b}[31mred\u{1b}[0m\u{7}\r\0`\n\tnext \u{e9}"),
            "`red\\u{7}\\r\\u{0}`\n\tnext \u{e9}"
        );
    }

    #[test]
    fn a_narrow_terminal_breaks_names_at_dashes_and_no_line_is_longer() {
        let text = table().text(Format::Table, Some(40));
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
        assert!(text.contains("-sleepers- "), "{text}");
        assert!(text.contains("1.024"), "{text}");
    }

    #[test]
    fn several_wide_columns_of_words_are_narrowed_until_the_table_fits() {
        let mut table = TextTable::new(["driver", "governor", "preference"].map(Column::text));
        table.push(
            [
                "intel-something-long",
                "a-governor-of-its-own",
                "balance_performance",
            ]
            .map(str::to_owned),
        );
        let text = table.text(Format::Table, Some(40));
        assert!(
            text.lines().all(|line| line.chars().count() <= 40),
            "{text}"
        );
    }

    #[test]
    fn without_a_terminal_a_row_is_a_line_whatever_its_length() {
        let text = table().text(Format::Table, None);
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    }

    #[test]
    fn what_stands_beside_a_label_does_not_move_the_cursor() {
        let text = labelled([("hypothesis", "\u{1b}[2Jfaster\r\u{7}")], [12, 80], "");
        assert_eq!(text, "hypothesis  faster\\r\\u{7}\n");
    }

    #[test]
    fn markdown_escapes_what_would_end_a_cell() {
        let text = table().text(Format::Markdown, None);
        assert!(text.contains("| a\\|b"), "{text}");
        assert!(text.lines().nth(1).unwrap().contains("---"), "{text}");
    }
}
