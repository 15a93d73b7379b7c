//! Finds the places of edits in a crate's sources, checks that they are those meant, and puts our
//! text there.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context as _, Result};
use proc_macro2::TokenStream;

use super::items::{Place, places};
use super::{Action, Changed, Edit, Edits, Target};
use crate::config::pick::hint;
use crate::stop::Stop;
use crate::system::digest;
use crate::system::whole_file::{files_below, write_if_changed};

/// Digits of a hash: enough to tell the statements of a crate apart.
const DIGITS: usize = 12;

impl Edits {
    /// What the files of the crate in `folder` become, in the order of their names.
    ///
    /// # Errors
    /// [`Stop::BadInput`] for an edit that does not fit, with its place and the remedy.
    pub fn apply(&self, folder: &Path) -> Result<Vec<Changed>, Stop> {
        let mut files: BTreeMap<&str, Vec<(usize, &Edit)>> = BTreeMap::new();
        for (i, edit) in self.list.iter().enumerate() {
            files.entry(&edit.file).or_default().push((i + 1, edit));
        }
        let changed = files.into_iter().map(|(file, edits)| {
            let path = folder.join(file);
            let before = fs::read_to_string(&path).map_err(|error| {
                let place = path.display();
                self.wrong(
                    edits[0],
                    &format!("{place} cannot be read: {error}; name a file that is there"),
                )
            })?;
            let after = self.changed(&before, &edits)?;
            Ok(Changed {
                file: file.to_owned(),
                before,
                after,
            })
        });
        changed.collect()
    }

    /// Copies the workspace in `root`, or a crate that is none, to `to`, and applies the edits to the
    /// copy of the crate in `krate`, which is `root` or lies in it. The copy is a workspace by itself.
    /// Files that are right already keep their time stamps.
    ///
    /// # Errors
    /// As [`Self::apply`]; and if a file cannot be read or written.
    pub fn copy(&self, root: &Path, krate: &Path, to: &Path) -> Result<Vec<Changed>> {
        let changed = self.apply(krate)?;
        let inside = krate
            .strip_prefix(root)
            .with_context(|| format!("{} is not in {}", krate.display(), root.display()))?;
        let new_text = |file: &Path| {
            let file = file.strip_prefix(inside).ok()?;
            let change = changed
                .iter()
                .find(|change| Path::new(&change.file) == file)?;
            Some(change.after.clone().into_bytes())
        };
        copy_folder(root, to, new_text)
            .with_context(|| format!("{} cannot be copied to {}", root.display(), to.display()))?;
        Ok(changed)
    }

    /// The text of one file with its edits, each with its number.
    fn changed(&self, before: &str, edits: &[(usize, &Edit)]) -> Result<String, Stop> {
        let source = syn::parse_file(before).map_err(|error| {
            self.wrong(edits[0], &format!("the crate's file is no Rust: {error}"))
        })?;
        let places = places(&source);
        let mut changes = Vec::new();
        for &edit in edits {
            let range = target(&places, before, edit.1).map_err(|why| self.wrong(edit, &why))?;
            changes.push((edit, change(before, &range, edit.1)));
        }
        changes.sort_by_key(|(_, (range, _))| range.start);
        for pair in changes.windows(2) {
            if pair[1].1.0.start < pair[0].1.0.end {
                let other = pair[0].0.0;
                return Err(self.wrong(
                    pair[1].0,
                    &format!("changes what edit {other} changes; make one of the two"),
                ));
            }
        }
        let mut after = before.to_owned();
        for (_, (range, text)) in changes.into_iter().rev() {
            after.replace_range(range, &text);
        }
        syn::parse_file(&after).map_err(|error| {
            let line = error.span().start().line;
            let text = after
                .lines()
                .nth(line.saturating_sub(1))
                .unwrap_or_default()
                .trim();
            self.wrong(
                edits[0],
                &format!("with its edits the file is no Rust: {error}, at `{text}`; mend our text"),
            )
        })?;
        Ok(after)
    }

    fn wrong(&self, (number, edit): (usize, &Edit), why: &str) -> Stop {
        Stop::BadInput(format!("{}: edit {number} ({edit}): {why}", self.shown))
    }
}

/// Where the target of an edit lies, if it is the one that the edit was written for.
fn target(places: &[Place], text: &str, edit: &Edit) -> Result<Range<usize>, String> {
    let named: Vec<&Place> = places
        .iter()
        .filter(|place| place.name == edit.item)
        .collect();
    let [place] = named[..] else {
        let all = places.iter().map(|place| place.name.as_str());
        let hint = hint(&edit.item, all);
        return Err(match named.len() {
            0 => format!(
                "the file has no such item; write `name`, `Type::name` or `impl Trait for Type / name`{hint}"
            ),
            count => {
                format!("{count} items of the file are called so, and edits cannot tell them apart")
            }
        });
    };
    let range = match edit.target {
        Target::Item => &place.item,
        Target::Signature => place.signature.as_ref().ok_or("is no function, so it has no signature")?,
        Target::Statement(number) => place.statements.get(number - 1).ok_or_else(|| {
            let count = place.statements.len();
            format!("the item has {count} statements; name one of them, or look what became of the one that is meant")
        })?,
    };
    let there = &text[range.clone()];
    let found = hash(there);
    if found == edit.was {
        return Ok(range.clone());
    }
    Err(format!(
        "was = \"{}\", but what stands there has {found}, `{}`: it is not what the edit was written for; look at it, and \
         if our text is right there, write was = \"{found}\"",
        edit.was,
        there.lines().next().unwrap_or_default()
    ))
}

/// Stands for a piece of source text: its tokens, whatever its comments and white space.
pub(super) fn hash(text: &str) -> String {
    let tokens = text
        .parse::<TokenStream>()
        .map_or_else(|_| text.to_owned(), |tokens| tokens.to_string());
    let tokens: String = tokens.split_whitespace().collect();
    digest::of_bytes(tokens.as_bytes())[..DIGITS].to_owned()
}

/// What is put in the place of what. The comment lines right above a target, and the comment behind
/// it, belong to it.
fn change(text: &str, target: &Range<usize>, edit: &Edit) -> (Range<usize>, String) {
    let line_start = |at: usize| text[..at].rfind('\n').map_or(0, |end| end + 1);
    let line_end = |at: usize| {
        text[at..]
            .find('\n')
            .map_or(text.len(), |length| at + length)
    };
    let mut start = target.start;
    let first = line_start(start);
    let indent = text[first..].len() - text[first..].trim_start_matches(' ').len();
    if !matches!(edit.target, Target::Signature) && first + indent == start {
        while line_start(start) > 0 {
            let above = line_start(line_start(start) - 1);
            let line = text[above..].trim_start_matches(' ');
            if !line.starts_with("//") {
                break;
            }
            start = text.len() - line.len();
        }
    }
    let rest = line_end(target.end);
    let end = if text[target.end..rest].trim_start().starts_with("//") {
        rest
    } else {
        target.end
    };
    let margin = " ".repeat(indent);
    let indented = |ours: &str| {
        let line = |line: &str| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{margin}{line}")
            }
        };
        ours.strip_suffix('\n')
            .unwrap_or(ours)
            .split('\n')
            .map(line)
            .collect::<Vec<_>>()
            .join("\n")
    };
    let between = if matches!(edit.target, Target::Item) {
        "\n\n"
    } else {
        "\n"
    };
    match &edit.action {
        Action::Replace(ours) => (start..end, indented(ours).trim_start().to_owned()),
        Action::Before(ours) => (
            start..start,
            format!("{}{between}{margin}", indented(ours).trim_start()),
        ),
        Action::After(ours) => (end..end, format!("{between}{}", indented(ours))),
        Action::Delete => (
            line_start(start)..(line_end(end) + 1).min(text.len()),
            String::new(),
        ),
    }
}

/// Copies what is in a folder, but what cargo and git keep there; `new_text` has what files become.
pub(crate) fn copy_folder(
    from: &Path,
    to: &Path,
    new_text: impl Fn(&Path) -> Option<Vec<u8>>,
) -> Result<()> {
    for place in files_below(from)? {
        let source = from.join(&place);
        let copy = to.join(&place);
        let makes_folder = || fs::create_dir_all(copy.parent().unwrap_or(to));
        // Editors leave links that lead nowhere, and other programs pipes and sockets: nothing is
        // built of them, and reading a pipe does not end.
        let kind = match fs::metadata(&source) {
            Ok(facts) => facts.file_type(),
            Err(error) if fs::symlink_metadata(&source).is_ok_and(|it| it.is_symlink()) => {
                tell!("note: {} is left out: {error}", source.display());
                continue;
            }
            Err(error) => return Err(error).with_context(|| source.display().to_string()),
        };
        if kind.is_dir() {
            // A link: what it leads to is where it was.
            makes_folder()?;
            let _ = fs::remove_file(&copy); // of an earlier copy
            symlink(source.canonicalize()?, &copy)
                .with_context(|| format!("{} cannot be made", copy.display()))?;
            continue;
        }
        if !kind.is_file() {
            tell!("note: {} is left out: it is no file", source.display());
            continue;
        }
        let mut content = match new_text(&place) {
            Some(text) => text,
            None => {
                fs::read(&source).with_context(|| format!("{} cannot be read", source.display()))?
            }
        };
        if place == Path::new("Cargo.toml") {
            let manifest: toml::Table = toml::from_str(std::str::from_utf8(&content)?)?;
            if !manifest.contains_key("workspace") {
                content.extend_from_slice(b"\n[workspace]\n");
            }
        }
        makes_folder()?;
        write_if_changed(&copy, &content)?;
    }
    Ok(())
}
