//! Edits of rayon-core, such as proposals to upstream: line ranges of its files, and the text that
//! replaces them. `findings/README.md` describes the format.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_spanned::Spanned;

use crate::config::FileText;
use crate::config::pick::plain;
use crate::stop::Stop;
use crate::system::digest;
use crate::system::whole_file::{self, files_below, write_if_changed};

/// One change of rayon-core, with an edit script for each tree that it supports.
#[derive(Debug)]
pub struct Edits {
    /// The change in one line: the subject of a commit.
    pub change: String,
    /// The rest of the commit message: why the change is made, where it was measured, where it
    /// loses, and the release note.
    pub message: String,
    /// The line for upstream's release notes; empty if the change is not a proposal to upstream.
    pub release_note: String,
    shown: String,
    files: Vec<Script>,
}

/// A file of the crate, before and after its edit script.
#[derive(Debug)]
pub struct Changed {
    /// The file's path in the crate.
    pub file: String,
    /// The file's text in upstream's tree.
    pub before: String,
    /// The file's text with the edits.
    pub after: String,
}

#[derive(Debug)]
struct Script {
    path: String,
    /// Each tree that the edit script fits, with the SHA-256 of the file in that tree.
    sha256: BTreeMap<String, String>,
    edits: Vec<Edit>,
}

#[derive(Debug)]
struct Edit {
    /// The range of lines to replace, counted from 0. If the range is empty, the text is inserted
    /// before the line at its start.
    lines: Range<usize>,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    change: String,
    why: String,
    measured: String,
    loses: String,
    #[serde(default, rename = "release-note")]
    release_note: String,
    file: Vec<WrittenScript>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenScript {
    path: Spanned<String>,
    sha256: BTreeMap<String, String>,
    edit: Vec<Spanned<WrittenEdit>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenEdit {
    lines: Option<String>,
    after: Option<usize>,
    text: String,
}

impl Edits {
    /// Reads and checks a file, which messages call `shown`.
    ///
    /// # Errors
    /// [`Stop::BadInput`] with file, line, value and remedy.
    pub fn read(file: &Path, shown: &str) -> Result<Self, Stop> {
        let text = whole_file::read_text(file).map_err(|error| {
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
        let mut files = Vec::new();
        for script in written.file {
            let path = script.path.get_ref().clone();
            let is_inside = Path::new(&path)
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            if !is_inside {
                let why =
                    format!("`path = \"{path}\"` leaves the crate; write it like \"src/job.rs\"");
                return Err(wrong(script.path.span().start, &why));
            }
            let mut edits: Vec<Edit> = Vec::new();
            for edit in script.edit {
                let start = edit.span().start;
                let last = edits.last().map_or(0, |last| last.lines.end);
                let edit = edit.into_inner().checked(last);
                edits.push(edit.map_err(|why| wrong(start, &why))?);
            }
            files.push(Script {
                path,
                sha256: script.sha256,
                edits,
            });
        }
        let [why, measured, loses, release_note] = [
            written.why,
            written.measured,
            written.loses,
            written.release_note,
        ]
        .map(|text| text.trim().to_owned());
        let note = if release_note.is_empty() {
            String::new()
        } else {
            format!("\nRelease note:\n{release_note}\n")
        };
        let edits = Self {
            change: written.change,
            message: format!("{why}\n\nMeasured:\n{measured}\n\nLoses:\n{loses}\n{note}"),
            release_note,
            shown: shown.to_owned(),
            files,
        };
        edits.check_complete()?;
        Ok(edits)
    }

    /// Refuses the edits if a file has no script, or two scripts, for one of the trees. Such a tree
    /// would get only a part of the change.
    fn check_complete(&self) -> Result<(), Stop> {
        for path in self.files.iter().map(|script| &script.path) {
            for tree in self.trees() {
                let is_for = |it: &&Script| it.path == *path && it.sha256.contains_key(tree);
                let count = self.files.iter().filter(is_for).count();
                if count != 1 {
                    return Err(Stop::BadInput(format!(
                        "{}: {count} edit scripts of {path} for `{tree}`, expected 1; give one `[[file]]` of this path the key \
                         `sha256.\"{tree}\"`, with `edit = []` if the tree needs no change there",
                        self.shown
                    )));
                }
            }
        }
        Ok(())
    }

    /// The trees that the edits support: releases, and commits of upstream's main branch.
    #[must_use]
    pub fn trees(&self) -> BTreeSet<&str> {
        let trees = self.files.iter().flat_map(|script| script.sha256.keys());
        trees.map(String::as_str).collect()
    }

    /// Refuses a release that the edits do not support.
    ///
    /// # Errors
    /// [`Stop::BadInput`] with the release and the supported trees.
    pub fn expect(&self, version: &str) -> Result<(), Stop> {
        let trees = self.trees();
        if trees.contains(version) {
            return Ok(());
        }
        Err(Stop::BadInput(format!(
            "{}: written for rayon-core {}, not for {version}; name one of these releases, or add to each file \
             `sha256.\"{version}\"`, or a `[[file]]` with it",
            self.shown,
            Vec::from_iter(trees).join(", ")
        )))
    }

    /// Returns the edited files of the crate in `folder`. The hashes of the crate's files show
    /// which tree the folder has.
    ///
    /// # Errors
    /// [`Stop::BadInput`] if the folder matches no tree that the edits support, or if an edit names
    /// a line that its file lacks. For a folder without a match, the error names each tree, the
    /// first file that differs from that tree, and the remedy.
    pub fn apply(&self, folder: &Path) -> Result<Vec<Changed>, Stop> {
        let mut misses = Vec::new();
        for tree in self.trees() {
            let scripts = self
                .files
                .iter()
                .filter_map(|script| Some((script, script.sha256.get(tree)?)));
            let texts: Result<Vec<_>, String> = scripts
                .map(|(script, sha256)| Ok((script, pinned(folder, &script.path, sha256)?)))
                .collect();
            match texts {
                Ok(texts) => return texts.into_iter().map(|it| self.changed(it)).collect(),
                Err(miss) => misses.push(format!("\n  {tree}: {miss}")),
            }
        }
        Err(Stop::BadInput(format!(
            "{}: the edits fit no version of {}; these files differ from those that the edits were written for (perhaps the patch is already applied):{}\nCheck out one of these \
             trees, make its patch, and apply that with `git apply`, which follows moved lines. If our text is still right, \
             you can instead add a `[[file]]` with the new sha256 and lines",
            self.shown,
            folder.display(),
            misses.concat()
        )))
    }

    fn changed(&self, (script, before): (&Script, String)) -> Result<Changed, Stop> {
        let file = script.path.clone();
        match script.applied(&before) {
            Ok(after) => Ok(Changed {
                file,
                before,
                after,
            }),
            Err(why) => Err(Stop::BadInput(format!("{}: {file}: {why}", self.shown))),
        }
    }

    /// Copies `root`, a workspace or a single crate, to `to`. The copy is a workspace by itself.
    /// Applies the edits to the copy of the crate in `krate`, which is `root` or lies in `root`.
    ///
    /// # Errors
    /// The errors of [`Self::apply`]; also if a file cannot be read or written.
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
}

impl Script {
    fn applied(&self, before: &str) -> Result<String, String> {
        let lines: Vec<&str> = before.split_inclusive('\n').collect();
        let (mut after, mut next) = (String::new(), 0);
        for edit in &self.edits {
            let kept = lines.get(next..edit.lines.start);
            let (Some(kept), true) = (kept, edit.lines.end <= lines.len()) else {
                let (last, count) = (edit.lines.end, lines.len());
                return Err(format!(
                    "an edit names line {last}, but the file has {count}; mend `lines` or `after`"
                ));
            };
            after.extend(kept.iter().copied());
            after.push_str(&edit.text);
            next = edit.lines.end;
        }
        after.extend(lines[next..].iter().copied());
        Ok(after)
    }
}

impl WrittenEdit {
    /// Returns the edit, unless it begins before line `last`, where the previous edit ends.
    fn checked(self, last: usize) -> Result<Edit, String> {
        let lines = match (self.lines, self.after) {
            (Some(lines), None) => range(&lines).ok_or_else(|| {
                format!("`lines = \"{lines}\"`; write the first and the last, counted from 1, like \"12-14\" or \"12\"")
            })?,
            (None, Some(line)) => line..line,
            _ => {
                return Err(
                    "give `lines`, the lines to replace, or `after`, the line after which the text is inserted"
                        .to_owned(),
                );
            }
        };
        if last > lines.start {
            return Err("begins before the edit above it ends; order the edits by upstream's line numbers, and join \
                        edits that overlap"
                .to_owned());
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            return Err(
                "`text` has no end of line; write it between `\"\"\"`, as lines".to_owned(),
            );
        }
        Ok(Edit {
            lines,
            text: self.text,
        })
    }
}

fn pinned(folder: &Path, path: &str, expected: &str) -> Result<String, String> {
    let text = fs::read_to_string(folder.join(path))
        .map_err(|error| format!("{path} cannot be read: {error}"))?;
    let found = digest::of_bytes(text.as_bytes());
    if found == expected {
        return Ok(text);
    }
    Err(format!("{path} has sha256 {found}, expected {expected}"))
}

fn range(lines: &str) -> Option<Range<usize>> {
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let (first, last) = (first.parse::<usize>().ok()?, last.parse::<usize>().ok()?);
    (1 <= first && first <= last).then(|| first - 1..last)
}

/// The file in a copy that lists the copied paths, each followed by a zero byte.
const COPIED: &str = ".copied-files";

/// Copies a folder, except the folders `target` and `.git` in it, and files that are neither
/// regular files nor links. Adds a `[workspace]` table to its `Cargo.toml` if there is none. A file
/// for which `new_text` returns a text gets that text. Removes files that an earlier call copied
/// and that `from` no longer has: cargo would still build such a test or build script. Other files
/// in the copy stay.
///
/// # Errors
/// If a file cannot be read, written or removed.
pub fn copy_folder(
    from: &Path,
    to: &Path,
    new_text: impl Fn(&Path) -> Option<Vec<u8>>,
) -> Result<()> {
    let places = files_below(from)?;
    remove_leftovers(&places, to)?;
    for place in places {
        let source = from.join(&place);
        let copy = to.join(&place);
        let makes_folder = || fs::create_dir_all(copy.parent().unwrap_or(to));
        // Skips links without a target (some editors leave such links), pipes and sockets. No build
        // needs these files, and reading a pipe never ends.
        let kind = match fs::metadata(&source) {
            Ok(facts) => facts.file_type(),
            Err(error) if fs::symlink_metadata(&source).is_ok_and(|it| it.is_symlink()) => {
                tell!("note: {} is left out: {error}", source.display());
                continue;
            }
            Err(error) => return Err(error).with_context(|| source.display().to_string()),
        };
        if kind.is_dir() {
            // The copy of a link to a folder leads to the original folder.
            makes_folder()?;
            symlink(source.canonicalize()?, &copy)
                .with_context(|| format!("{} cannot be made", copy.display()))?;
            continue;
        }
        if !kind.is_file() {
            tell!("note: {} is left out: it is not a file", source.display());
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

/// Removes copies of an earlier call that are not among `places`, then empty folders, and all
/// copied links, which the caller makes again. Lists `places` in `to` for the next call.
fn remove_leftovers(places: &[PathBuf], to: &Path) -> Result<()> {
    let list = to.join(COPIED);
    let earlier: Vec<PathBuf> = match fs::read(&list) {
        Ok(text) => text
            .split(|byte| *byte == 0)
            .filter(|place| !place.is_empty())
            .map(|place| OsStr::from_bytes(place).into())
            .collect(),
        Err(_) => Vec::new(),
    };
    let now: BTreeSet<&Path> = places.iter().map(PathBuf::as_path).collect();
    for place in earlier {
        let copy = to.join(&place);
        let is_link = fs::symlink_metadata(&copy).is_ok_and(|it| it.is_symlink());
        if !is_link && now.contains(place.as_path()) {
            continue;
        }
        match fs::remove_file(&copy) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("{} cannot be removed", copy.display()));
            }
            _ => {}
        }
        let mut folders = copy.ancestors().skip(1).take_while(|it| *it != to);
        // `remove_dir` fails for the first folder that is not empty, and so ends the loop.
        while folders.next().is_some_and(|it| fs::remove_dir(it).is_ok()) {}
    }
    fs::create_dir_all(to).with_context(|| format!("{} cannot be made", to.display()))?;
    // Written before anything is copied: if the runner is killed, the list names files that were
    // not copied, which does no harm.
    let mut text = Vec::new();
    for place in places {
        text.extend_from_slice(place.as_os_str().as_bytes());
        text.push(0);
    }
    write_if_changed(&list, text).map(drop)
}

#[cfg(test)]
mod tests;
