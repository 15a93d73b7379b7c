//! From the file as written to the file as used; the only place that knows what a row may say.

use std::collections::BTreeSet;

use serde_spanned::Spanned;

use super::{Branch, Config, ConfigError, Features, Source, claims, git, wire};
use crate::pick::nearest;

/// Names with a meaning of their own in selections and records.
const RESERVED: [&str; 2] = ["all", "sequential"];
/// A guess at what tables can still show; the longest of the study has 48.
const LONGEST_NAME: usize = 64;
/// What the A/A twin of the baseline is called: the baseline's name with this behind it.
pub const TWIN_SUFFIX: &str = "-again";
/// What the instrumented build of a branch is called: the branch's name with this behind it.
pub const INSTRUMENTED_SUFFIX: &str = "-instrumented";

/// Checks the text of a `branches.toml`; `file` is how messages call it.
///
/// # Errors
/// [`ConfigError`] for the first fault, with its line.
pub fn parse(
    file: &str,
    text: &str,
    known_features: &BTreeSet<String>,
) -> Result<Config, ConfigError> {
    let place = Place { file, text };
    let written: wire::File = toml::from_str(text).map_err(|error| place.syntax(&error))?;
    let names: Vec<String> =
        written.branch.iter().map(|row| row.get_ref().name.get_ref().clone()).collect();
    let mut branches: Vec<Branch> = Vec::new();
    let mut first_lines: Vec<usize> = Vec::new();
    let mut baseline: Option<(String, usize)> = None;
    for row in written.branch {
        let line = place.line(row.span().start);
        let row = row.into_inner();
        let checked = check_row(&place, &row, line, known_features, &names)?;
        if let Some(earlier) = branches.iter().position(|other| other.name == checked.name) {
            return Err(place.at(
                row.name.span().start,
                format!(
                    "branch `{}`: the name is taken by line {}; give every branch its own",
                    checked.name, first_lines[earlier]
                ),
            ));
        }
        if let (true, Some(mark)) = (checked.baseline, &row.baseline) {
            if let Some((other, other_line)) = &baseline {
                return Err(place.at(
                    mark.span().start,
                    format!(
                        "branch `{}`: `baseline = true` although `{other}` (line {other_line}) is \
                         the baseline already; keep one of the two",
                        checked.name
                    ),
                ));
            }
            baseline = Some((checked.name.clone(), place.line(mark.span().start)));
        }
        first_lines.push(place.line(row.name.span().start));
        branches.push(checked);
    }
    if branches.is_empty() {
        return Err(place.nowhere("no branch; add a `[[branch]]` table with a name and a source"));
    }
    if baseline.is_none() {
        return Err(place.nowhere(
            "no branch has `baseline = true`; mark the one that the others are compared with",
        ));
    }
    Ok(Config { branches })
}

fn check_row(
    place: &Place<'_>,
    row: &wire::Branch,
    line: usize,
    known_features: &BTreeSet<String>,
    names: &[String],
) -> Result<Branch, ConfigError> {
    let name = row.name.get_ref();
    check_name(name)
        .map_err(|why| place.at(row.name.span().start, format!("branch `{name}`: {why}")))?;
    Ok(Branch {
        name: name.clone(),
        source: check_source(place, row, line, known_features)?,
        baseline: row.baseline.as_ref().is_some_and(|mark| *mark.get_ref()),
        hypothesis: row.hypothesis.clone(),
        claims: claims::check(place, name, &row.claims, names)?,
        typed: None,
    })
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
        return Err("a name starts with a letter and has only a-z, 0-9, `_` and `-`, \
                    because it becomes a folder, a package and a column"
            .to_owned());
    }
    if name.len() > LONGEST_NAME {
        return Err(format!(
            "the name has {} characters, and {LONGEST_NAME} is the most, because it becomes a folder and a column; \
             choose a shorter one",
            name.len()
        ));
    }
    if RESERVED.contains(&name) {
        return Err(format!("the name is reserved ({}); choose another", RESERVED.join(", ")));
    }
    for (suffix, owner) in
        [(TWIN_SUFFIX, "the baseline's A/A twin"), (INSTRUMENTED_SUFFIX, "instrumented builds")]
    {
        if name.ends_with(suffix) {
            return Err(format!("names that end in `{suffix}` belong to {owner}; choose another"));
        }
    }
    Ok(())
}

fn check_source(
    place: &Place<'_>,
    row: &wire::Branch,
    line: usize,
    known_features: &BTreeSet<String>,
) -> Result<Source, ConfigError> {
    let name = row.name.get_ref();
    let wrong = |at: usize, message: String| place.at(at, format!("branch `{name}`: {message}"));
    let given: Vec<&str> = [
        ("published", row.published.is_some()),
        ("fork", row.fork.is_some()),
        ("path", row.path.is_some()),
        ("git", row.git.is_some()),
    ]
    .into_iter()
    .filter_map(|(key, is_given)| is_given.then_some(key))
    .collect();
    let [kind] = given[..] else {
        let message = if given.is_empty() {
            "no source; give one of `published`, `fork`, `path`, `git`".to_owned()
        } else {
            format!("{} sources (`{}`); keep one", given.len(), given.join("`, `"))
        };
        return Err(place.at_line(line, format!("branch `{name}`: {message}")));
    };
    for (key, span) in [
        ("rev", row.rev.as_ref().map(Spanned::span)),
        ("subdirectory", row.subdirectory.as_ref().map(Spanned::span)),
        ("features", row.features.as_ref().map(Spanned::span)),
    ] {
        let belongs = kind == "git" || (kind == "path" && key == "features");
        if let (Some(span), false) = (span, belongs) {
            let remedy = match (kind, key) {
                ("fork", "features") => "write the features into `fork = […]`",
                ("published", "features") => "a published release is measured as it is; remove it",
                _ => "it goes with `git` only; remove it",
            };
            return Err(wrong(span.start, format!("`{key}` does not go with `{kind}`; {remedy}")));
        }
    }
    let free_features = || {
        let listed =
            row.features.as_ref().map(|list| list.get_ref().as_slice()).unwrap_or_default();
        listed.iter().map(|feature| feature.get_ref().clone()).collect::<BTreeSet<_>>()
    };
    if let Some(version) = &row.published {
        check_version(version.get_ref()).map_err(|why| wrong(version.span().start, why))?;
        return Ok(Source::Published { version: version.get_ref().clone() });
    }
    if let Some(features) = &row.fork {
        return check_fork(features, known_features)
            .map(|features| Source::Fork { features })
            .map_err(|(at, why)| wrong(at.unwrap_or(row.name.span().start), why));
    }
    if let Some(path) = &row.path {
        return Ok(Source::Path { path: path.get_ref().into(), features: free_features() });
    }
    let Some(url) = &row.git else { unreachable!("one of four sources is given") };
    let Some(rev) = &row.rev else {
        return Err(wrong(
            url.span().start,
            "`git` without `rev`; name the commit, because a branch that moves cannot be compared"
                .to_owned(),
        ));
    };
    if !git::is_commit(rev.get_ref()) {
        return Err(wrong(
            rev.span().start,
            format!(
                "`rev = \"{}\"` is no commit; write its number of 7 to 40 hexadecimal digits, because a branch or \
                 tag that moves cannot be compared",
                rev.get_ref()
            ),
        ));
    }
    Ok(Source::Git {
        url: url.get_ref().clone(),
        rev: rev.get_ref().clone(),
        subdirectory: row.subdirectory.as_ref().map(|folder| folder.get_ref().clone()),
        features: free_features(),
    })
}

pub(super) fn check_version(version: &str) -> Result<(), String> {
    cargo_metadata::semver::Version::parse(version).map(drop).map_err(|error| {
        format!("published = \"{version}\" is no exact version ({error}); write it like \"1.13.0\"")
    })
}

pub(super) fn check_fork(
    features: &[Spanned<String>],
    known: &BTreeSet<String>,
) -> Result<BTreeSet<String>, (Option<usize>, String)> {
    let mut checked = BTreeSet::new();
    for feature in features {
        let (at, name) = (Some(feature.span().start), feature.get_ref());
        if !known.contains(name) {
            let list = known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let hint = nearest(name, known.iter().map(String::as_str))
                .map(|near| format!("; did you mean `{near}`?"))
                .unwrap_or_default();
            return Err((at, format!("unknown feature `{name}`; known: {list}{hint}")));
        }
        if !checked.insert(name.clone()) {
            return Err((at, format!("feature `{name}` is listed twice; remove one")));
        }
    }
    Features::of_the_fork().refusal(&checked).map_or(Ok(checked), |why| Err((None, why)))
}

/// Turns byte offsets into lines, and faults into errors.
pub(super) struct Place<'a> {
    file: &'a str,
    text: &'a str,
}

impl Place<'_> {
    fn line(&self, offset: usize) -> usize {
        1 + self.text[..offset.min(self.text.len())].matches('\n').count()
    }

    pub(super) fn at(&self, offset: usize, message: String) -> ConfigError {
        self.at_line(self.line(offset), message)
    }

    fn at_line(&self, line: usize, message: String) -> ConfigError {
        ConfigError { file: self.file.to_owned(), line: Some(line), message }
    }

    fn nowhere(&self, message: &str) -> ConfigError {
        ConfigError { file: self.file.to_owned(), line: None, message: message.to_owned() }
    }

    /// The parser's own complaint, with the branch it is about and, for a misspelt key, the likely one.
    fn syntax(&self, error: &toml::de::Error) -> ConfigError {
        let span = error.span().unwrap_or(0..0);
        let said = error.message().trim().replace('\n', "; ").replace("field", "key");
        let quoted: Vec<&str> = error.message().split('`').skip(1).step_by(2).collect();
        let table = self.table_around(span.start);
        let header = table.lines().next().unwrap_or_default().trim();
        let message = if header == "[branch]" {
            "`[branch]` is a single table; write `[[branch]]`, since branches are a list".to_owned()
        } else if said == "missing key `name`" {
            "this branch has no `name`; give it one: name = \"…\"".to_owned()
        } else if said == "duplicate key" {
            let key = self.text.get(span.clone()).unwrap_or_default();
            format!("{}`{key}` is there twice; keep one of the two", branch_of(table))
        } else {
            let hint = match quoted.split_first() {
                Some((unknown, known)) if said.starts_with("unknown key") => {
                    nearest(unknown, known.iter().copied())
                        .map(|near| format!("; did you mean `{near}`?"))
                        .unwrap_or_default()
                }
                _ => String::new(),
            };
            format!("{}{said}{hint}", branch_of(table))
        };
        self.at(span.start, message)
    }

    /// The table that an offset lies in, from its header to the next one, by the text alone: the file did not
    /// parse.
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
        line.trim().strip_prefix("name")?.trim_start().strip_prefix('=')?.split('"').nth(1)
    });
    name.map_or(String::new(), |name| format!("branch `{name}`: "))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
