//! A fault in a file that a user wrote: its place, and how to mend it.

use crate::config::pick::{hint, plain};

/// Everything that can be wrong with `branches.toml`: where, what, and how to mend it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ConfigError {
    /// File name.
    pub file: String,
    /// 1-based line; `None` when the fault is that something is nowhere in the file.
    pub line: Option<usize>,
    /// Branch, key, value and remedy.
    pub message: String,
}

impl ConfigError {
    /// Makes an error of the parser's complaint about `file`, whose content is `text`.
    pub(crate) fn of_parser(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let offset = error.span().unwrap_or_default().start;
        FileText { file, text }.at(offset, plain(error.message()))
    }
}

/// Turns byte offsets into lines, and faults into errors.
pub(crate) struct FileText<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl FileText<'_> {
    pub(super) fn line(&self, offset: usize) -> usize {
        1 + self.text[..offset.min(self.text.len())]
            .matches('\n')
            .count()
    }

    pub(crate) fn at(&self, offset: usize, message: String) -> ConfigError {
        self.at_line(self.line(offset), message)
    }

    pub(super) fn at_line(&self, line: usize, message: String) -> ConfigError {
        ConfigError {
            file: self.file.to_owned(),
            line: Some(line),
            message,
        }
    }

    pub(super) fn nowhere(&self, message: &str) -> ConfigError {
        ConfigError {
            file: self.file.to_owned(),
            line: None,
            message: message.to_owned(),
        }
    }

    /// The parser's own complaint, with the branch it is about and, for a misspelt key, the likely
    /// one.
    pub(super) fn syntax(&self, error: &toml::de::Error) -> ConfigError {
        let span = error.span().unwrap_or(0..0);
        let said = plain(error.message());
        let quoted: Vec<&str> = error.message().split('`').skip(1).step_by(2).collect();
        let table = self.table_around(span.start);
        let header = table.lines().next().unwrap_or_default().trim();
        let message = if header == "[branch]" {
            "`[branch]` is a single table; write `[[branch]]`, since branches are a list".to_owned()
        } else if said == "missing key `name`" {
            "this branch has no `name`; give it one: name = \"…\"".to_owned()
        } else if said == "duplicate key" {
            let key = self.text.get(span.clone()).unwrap_or_default();
            format!(
                "{}`{key}` is there twice; keep one of the two",
                branch_of(table)
            )
        } else {
            let hint = match quoted.split_first() {
                Some((unknown, known)) if said.starts_with("unknown key") => {
                    hint(unknown, known.iter().copied())
                }
                _ => String::new(),
            };
            format!("{}{said}{hint}", branch_of(table))
        };
        self.at(span.start, message)
    }

    /// The table that an offset lies in, from its header to the next one, by the text alone: the
    /// file did not parse.
    fn table_around(&self, offset: usize) -> &str {
        let is_header = |line: &str| line.trim_start().starts_with('[') && !line.contains('=');
        let (mut start, mut end, mut at) = (0, self.text.len(), 0);
        for line in self.text.split_inclusive('\n') {
            if is_header(line) {
                if at > offset {
                    end = at;
                    break;
                }
                start = at;
            }
            at += line.len();
        }
        &self.text[start..end]
    }
}

/// `branch `name`: ` for the table of a branch that has a name.
fn branch_of(table: &str) -> String {
    let is_branch = table.trim_start().starts_with("[[branch]]");
    let name = table.lines().filter(|_| is_branch).find_map(|line| {
        line.trim()
            .strip_prefix("name")?
            .trim_start()
            .strip_prefix('=')?
            .split('"')
            .nth(1)
    });
    name.map_or(String::new(), |name| format!("branch `{name}`: "))
}
