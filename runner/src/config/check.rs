//! The rules of a row of `branches.toml`. A branch that is named in one word on the command line
//! becomes a row, too (see [`super::spec`]).

use std::collections::BTreeSet;
use std::path::PathBuf;

use cargo_metadata::semver::{Version, VersionReq};
use serde::Deserialize;
use serde_spanned::Spanned;

use super::features::Features;
use super::git;
use super::{
    Branch, Claim, Config, ConfigError, Expectation, FileText, INSTRUMENTED_SUFFIX, Quantity,
    Source, TWIN_SUFFIX,
};
use crate::config::catalogue;
use crate::config::pick::{hint, listed, pick};

/// Names that no branch may have, because they mean something else in selections and records.
const RESERVED: [&str; 2] = ["all", "sequential"];
/// The longest branch name that tables can still show; a guess. The longest name of the 2022 study
/// has 48 characters.
const LONGEST_NAME: usize = 64;
/// The versions of rayon-core that the programs' rayon accepts.
const ACCEPTED: &str = "^1.13.0";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    branch: Vec<Spanned<Row>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) group: Option<String>,
    pub(super) published: Option<String>,
    pub(super) edits: Option<PathBuf>,
    pub(super) fork: Option<Vec<String>>,
    pub(super) path: Option<PathBuf>,
    pub(super) git: Option<String>,
    pub(super) rev: Option<String>,
    pub(super) features: Option<Vec<String>>,
    #[serde(default)]
    baseline: bool,
    #[serde(default)]
    hypothesis: String,
    #[serde(default)]
    claims: Vec<WrittenClaim>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClaim {
    expect: Expectation,
    against: Option<String>,
    workloads: Option<String>,
    threads: Option<String>,
    #[serde(default, alias = "figure")]
    quantity: Quantity,
}

/// Checks the text of a `branches.toml`, which messages call `file`.
///
/// # Errors
/// [`ConfigError`] for the first fault, with the line of its row.
pub fn parse(file: &str, text: &str) -> Result<Config, ConfigError> {
    let place = FileText { file, text };
    let rows: File =
        toml::from_str(text).map_err(|error| ConfigError::of_parser(file, text, &error))?;
    let names: Vec<String> = rows
        .branch
        .iter()
        .map(|row| row.get_ref().name.clone())
        .collect();
    let mut branches: Vec<Branch> = Vec::new();
    for row in rows.branch {
        let start = row.span().start;
        let fault =
            |why: String| place.at(start, format!("branch `{}`: {why}", row.get_ref().name));
        let branch = row.get_ref().check(&names).map_err(fault)?;
        for other in &branches {
            if other.name == branch.name {
                return Err(fault(
                    "the name is taken; give every branch its own".to_owned(),
                ));
            }
            if branch.baseline && other.baseline {
                return Err(fault(format!(
                    "`baseline = true` although `{}` is already the baseline; keep one of the two",
                    other.name
                )));
            }
        }
        branches.push(branch);
    }
    if !branches.iter().any(|branch| branch.baseline) {
        return Err(place.at(
            0,
            "no branch has `baseline = true`; add it to the branch with which the others are compared"
                .to_owned(),
        ));
    }
    Ok(Config { branches })
}

impl Row {
    pub(super) fn check(&self, names: &[String]) -> Result<Branch, String> {
        check_name(&self.name)?;
        if let Some(group) = &self.group {
            check_name(group).map_err(|why| format!("`group = \"{group}\"`: {why}"))?;
        }
        let claims = self.claims.iter();
        Ok(Branch {
            baseline: self.baseline,
            group: self.group.clone(),
            hypothesis: self.hypothesis.clone(),
            claims: claims
                .map(|claim| claim.check(&self.name, names))
                .collect::<Result<_, _>>()?,
            ..Branch::new(self.name.clone(), self.source()?)
        })
    }

    fn source(&self) -> Result<Source, String> {
        let kinds = [
            ("published", self.published.is_some()),
            ("fork", self.fork.is_some()),
            ("path", self.path.is_some()),
            ("git", self.git.is_some()),
        ];
        let kinds: Vec<&str> = kinds.iter().filter(|it| it.1).map(|it| it.0).collect();
        let [kind] = kinds[..] else {
            return Err(format!(
                "{} sources; give one of `published`, `fork`, `path`, `git`",
                kinds.len()
            ));
        };
        for (key, is_given, owners) in [
            ("edits", self.edits.is_some(), &["published"][..]),
            ("features", self.features.is_some(), &["path", "git"]),
            ("rev", self.rev.is_some(), &["git"]),
        ] {
            if is_given && !owners.contains(&kind) {
                return Err(format!(
                    "`{key}` does not go with `{kind}`, only with `{}`; remove it",
                    owners.join("` and `")
                ));
            }
        }
        let features: BTreeSet<String> = self.features.iter().flatten().cloned().collect();
        if let Some(version) = &self.published {
            check_version(version)?;
            let version = version.clone();
            return Ok(match self.edits.clone() {
                Some(edits) => Source::Edited { version, edits },
                None => Source::Published { version },
            });
        }
        if let Some(features) = &self.fork {
            let features = check_fork(features)?;
            return Ok(Source::Fork { features });
        }
        if let Some(path) = self.path.clone() {
            return Ok(Source::Path { path, features });
        }
        let rev = self.rev.clone().unwrap_or_default();
        if !git::is_commit(&rev) {
            return Err(format!(
                "`rev = \"{rev}\"` is not a commit; write its hash of 7 to 40 hexadecimal digits, because a moving \
                 branch or tag cannot be compared"
            ));
        }
        Ok(Source::Git {
            url: self.git.clone().unwrap_or_default(),
            rev,
            features,
        })
    }
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    if !name.starts_with(|c: char| c.is_ascii_lowercase())
        || !name.chars().all(is_plain)
        || name.len() > LONGEST_NAME
    {
        return Err(format!(
            "a name starts with a letter and has only a-z, 0-9, `_` and `-`, at most {LONGEST_NAME}, because it \
             becomes a folder, a package and a column; choose another"
        ));
    }
    let suffixes = [TWIN_SUFFIX, INSTRUMENTED_SUFFIX];
    if RESERVED.contains(&name) || suffixes.iter().any(|it| name.ends_with(it)) {
        return Err(format!(
            "the runner reserves the names `{}` and the endings `{}`; choose another",
            RESERVED.join("`, `"),
            suffixes.join("`, `")
        ));
    }
    Ok(())
}

fn check_version(version: &str) -> Result<(), String> {
    let parsed = Version::parse(version).map_err(|error| {
        format!("`{version}` is not an exact version ({error}); write it like 1.13.0")
    })?;
    if VersionReq::parse(ACCEPTED).is_ok_and(|accepted| accepted.matches(&parsed)) {
        return Ok(());
    }
    Err(format!(
        "`{version}`: the programs use rayon, which accepts only rayon-core 1.13.0 or a later 1.x; name one of those"
    ))
}

fn check_fork(features: &[String]) -> Result<BTreeSet<String>, String> {
    let fork = Features::of_the_fork();
    let mut checked = BTreeSet::new();
    for name in features {
        if !fork.names.contains(name) {
            let known = || fork.names.iter().map(String::as_str);
            return Err(format!(
                "unknown feature `{name}`; {}{}",
                hint(name, known()),
                listed("feature", known())
            ));
        }
        if !checked.insert(name.clone()) {
            return Err(format!("feature `{name}` is listed twice; remove one"));
        }
    }
    fork.refusal(&checked).map_or(Ok(checked), Err)
}

impl WrittenClaim {
    fn check(&self, name: &str, branches: &[String]) -> Result<Claim, String> {
        if let Some(against) = &self.against
            && (against == name || !branches.contains(against))
        {
            let others = branches.iter().map(String::as_str).filter(|it| *it != name);
            return Err(format!(
                "`against = \"{against}\"` is not another branch; {}",
                listed("branch", others)
            ));
        }
        let workloads = match &self.workloads {
            None => Vec::new(),
            Some(list) => pick("`workloads`", "workload", list, &catalogue::names())
                .map_err(|error| error.to_string())?,
        };
        if let Some(threads) = &self.threads {
            check_threads(threads)?;
        }
        Ok(Claim {
            expect: self.expect,
            against: self.against.clone(),
            workloads: workloads.into_iter().map(str::to_owned).collect(),
            threads: self.threads.clone(),
            quantity: self.quantity,
        })
    }
}

/// Checks one thread count, or a range with at least one end. Each end is a number, `cores` or
/// `cpus`. The analysis reads these texts again, so a text that it refuses must not reach a sweep;
/// `claim_threads.json` has examples that both are tested with.
fn check_threads(range: &str) -> Result<(), String> {
    // `parse` alone would accept `+8` and `08`.
    let starts_as_number = |text: &str| text.starts_with(|c: char| ('1'..='9').contains(&c));
    let number = |text: &str| match text {
        "cores" | "cpus" => Some(None),
        _ if starts_as_number(text) => text.parse::<u32>().ok().map(Some),
        _ => None,
    };
    let ends = match range.split_once("..") {
        None => number(range).map(|count| (count, count)),
        Some((first, "")) => number(first).map(|first| (first, None)),
        Some((first, last)) => {
            let first = if first.is_empty() { "1" } else { first };
            let last = last.strip_prefix('=').and_then(number);
            number(first).zip(last)
        }
    };
    match ends {
        Some((Some(first), Some(last))) if first > last => {}
        Some(_) => return Ok(()),
        None => {}
    }
    Err(format!(
        "`threads = \"{range}\"` is not a range of thread counts; write for example \"8\", \"8..\", \"..=cpus\" or \
         \"16..=cores\""
    ))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
