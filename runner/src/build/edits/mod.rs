//! Proposals to upstream: our text, and where in a published rayon-core it goes. No line of
//! upstream is in one.
//!
//! `findings/README.md` describes the format.

mod apply;
mod items;

use std::fmt;
use std::fs;
use std::path::{Component, Path};

use serde::Deserialize;
use serde_spanned::Spanned;

use crate::config::FileText;
use crate::config::pick::plain;
use crate::stop::Stop;
pub(crate) use apply::copy_folder;
pub(crate) use items::places;

/// The edits of one file, each well formed; whether they fit is seen where they are applied.
#[derive(Debug)]
pub struct Edits {
    /// The release that they were written for.
    pub published: String,
    /// What they change, in a line.
    pub change: String,
    /// How messages call the file.
    shown: String,
    list: Vec<Edit>,
}

/// A file of the crate that the edits change.
#[derive(Debug)]
pub struct Changed {
    /// Its place in the crate.
    pub file: String,
    /// Its text as published.
    pub before: String,
    /// Its text with the edits.
    pub after: String,
}

/// One change of one place.
#[derive(Debug)]
struct Edit {
    file: String,
    item: String,
    target: Target,
    /// Stands for the tokens of the target, see [`apply::hash`].
    was: String,
    action: Action,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    /// With its attributes and its documentation.
    Item,
    /// From `fn`, or what stands before it but `pub`, to the body.
    Signature,
    /// Counted from 1 in the order of the text, those of inner blocks too.
    Statement(usize),
}

#[derive(Debug)]
enum Action {
    Replace(String),
    Before(String),
    After(String),
    Delete,
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    published: String,
    change: String,
    edit: Vec<Spanned<WrittenEdit>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEdit {
    file: String,
    item: String,
    statement: Option<usize>,
    #[serde(default)]
    signature: bool,
    was: String,
    replace: Option<String>,
    before: Option<String>,
    after: Option<String>,
    #[serde(default)]
    delete: bool,
}

impl Edits {
    /// Reads and checks a file; `shown` is how messages call it.
    ///
    /// # Errors
    /// [`Stop::BadInput`] with file, place, value and remedy.
    pub fn read(file: &Path, shown: &str) -> Result<Self, Stop> {
        let text = fs::read_to_string(file).map_err(|error| {
            Stop::BadInput(format!(
                "{shown}: cannot be read: {error}; name a file of edits"
            ))
        })?;
        Self::parse(&text, shown)
    }

    fn parse(text: &str, shown: &str) -> Result<Self, Stop> {
        let place = FileText { file: shown, text };
        let wrong =
            |at: usize, message: &str| Stop::BadInput(place.at(at, message.to_owned()).to_string());
        let written: WrittenFile = toml::from_str(text).map_err(|error| {
            wrong(
                error.span().unwrap_or_default().start,
                &plain(error.message()),
            )
        })?;
        if written.edit.is_empty() {
            return Err(wrong(0, "no edit; add an `[[edit]]`"));
        }
        let checked = |edit: Spanned<WrittenEdit>| {
            let start = edit.span().start;
            edit.into_inner()
                .checked()
                .map_err(|why| wrong(start, &why))
        };
        Ok(Self {
            published: written.published,
            change: written.change,
            shown: shown.to_owned(),
            list: written
                .edit
                .into_iter()
                .map(checked)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Refuses another release than the one that the edits were written for.
    ///
    /// # Errors
    /// [`Stop::BadInput`] with both.
    pub fn expect(&self, version: &str) -> Result<(), Stop> {
        if self.published == version {
            return Ok(());
        }
        Err(Stop::BadInput(format!(
            "{}: written for rayon-core {}, not for {version}; name that release, or look at each edit again and \
             write `published = \"{version}\"`",
            self.shown, self.published
        )))
    }
}

impl WrittenEdit {
    fn checked(self) -> Result<Edit, String> {
        let is_inside = Path::new(&self.file)
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        if !is_inside {
            return Err(format!(
                "`file = \"{}\"` is no place in the crate; write it like \"src/job.rs\"",
                self.file
            ));
        }
        let target = match (self.statement, self.signature) {
            (None, false) => Target::Item,
            (None, true) => Target::Signature,
            (Some(number), false) if number > 0 => Target::Statement(number),
            (Some(0), false) => {
                return Err("`statement = 0`; statements are counted from 1".to_owned());
            }
            _ => {
                return Err(
                    "`statement` and `signature`; keep one, or none for the whole item".to_owned(),
                );
            }
        };
        let delete = self.delete.then_some(Action::Delete);
        let actions = [
            self.replace.map(Action::Replace),
            self.before.map(Action::Before),
            self.after.map(Action::After),
            delete,
        ];
        let mut actions = actions.into_iter().flatten();
        let (Some(action), None) = (actions.next(), actions.next()) else {
            return Err(
                "an edit does one thing; give one of `replace`, `before`, `after`, `delete = true`"
                    .to_owned(),
            );
        };
        if matches!(
            (target, &action),
            (
                Target::Signature,
                Action::Before(_) | Action::After(_) | Action::Delete
            )
        ) {
            return Err("a signature can only be replaced; give `replace`".to_owned());
        }
        Ok(Edit {
            file: self.file,
            item: self.item,
            target,
            was: self.was,
            action,
        })
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, `{}`", self.file, self.item)?;
        match self.target {
            Target::Item => Ok(()),
            Target::Signature => write!(f, ", signature"),
            Target::Statement(number) => write!(f, ", statement {number}"),
        }
    }
}

#[cfg(test)]
mod tests;
