//! Turns `branches.toml` from its written form into the form that the runner uses. Only this file
//! knows the rules of a row.

use std::collections::BTreeSet;
use std::fmt::Display;

use cargo_metadata::semver::{Version, VersionReq};
use serde_spanned::Spanned;

use super::features::Features;
use super::git;
use super::{
    Branch, Claim, Config, ConfigError, Expectation, FileText, INSTRUMENTED_SUFFIX, Quantity,
    Source, TWIN_SUFFIX,
};
use crate::config::catalogue;
use crate::config::pick::{hint, pick};

/// Names with a meaning of their own in selections and records.
const RESERVED: [&str; 2] = ["all", "sequential"];
/// The longest name that tables can still show; a guess. The longest of the study has 48
/// characters.
const LONGEST_NAME: usize = 64;

/// Checks the text of a `branches.toml`, which messages call `file`.
///
/// # Errors
/// [`ConfigError`] for the first fault, with its line.
pub fn parse(file: &str, text: &str) -> Result<Config, ConfigError> {
    let place = FileText { file, text };
    let written: wire::File = toml::from_str(text).map_err(|error| place.syntax(&error))?;
    let names: Vec<String> = written
        .branch
        .iter()
        .flat_map(|row| names(row.get_ref()))
        .collect();
    let mut branches: Vec<Branch> = Vec::new();
    let mut first_lines: Vec<usize> = Vec::new();
    let mut baseline: Option<(String, usize)> = None;
    for row in written.branch {
        let start = row.span().start;
        let row = row.into_inner();
        let told = |fault: Fault| {
            let message = format!("branch `{}`: {}", row.name.get_ref(), fault.why);
            place.at(fault.at, message)
        };
        let checked = check_row(&row, start, &names).map_err(told)?;
        let without = without_each(&row, &checked).map_err(told)?;
        if let (true, Some(mark)) = (checked.baseline, &row.baseline) {
            if let Some((other, other_line)) = &baseline {
                return Err(told(wrong(
                    mark,
                    format!(
                        "`baseline = true` although `{other}` (line {other_line}) is already the baseline; keep one of \
                         the two"
                    ),
                )));
            }
            baseline = Some((checked.name.clone(), place.line(mark.span().start)));
        }
        for branch in std::iter::once(checked).chain(without) {
            if let Some(earlier) = branches.iter().position(|other| other.name == branch.name) {
                return Err(place.at(
                    row.name.span().start,
                    format!(
                        "branch `{}`: the name is taken by line {}; give every branch its own",
                        branch.name, first_lines[earlier]
                    ),
                ));
            }
            first_lines.push(place.line(row.name.span().start));
            branches.push(branch);
        }
    }
    if branches.is_empty() {
        return Err(place.nowhere("no branch; add a `[[branch]]` table with a name and a source"));
    }
    if baseline.is_none() {
        return Err(place.nowhere(
            "no branch has `baseline = true`; add it to the branch with which the others are compared",
        ));
    }
    Ok(Config { branches })
}

/// A fault of a row: its position in the file, in bytes, and the reason.
#[derive(Debug)]
pub(super) struct Fault {
    at: usize,
    pub(super) why: String,
}

/// Returns the fault of a value in a row.
fn wrong<T>(written: &Spanned<T>, why: impl Display) -> Fault {
    Fault {
        at: written.span().start,
        why: why.to_string(),
    }
}

/// Checks a row by itself; it starts at `start`, and `names` are all names of the file.
pub(super) fn check_row(
    row: &wire::Branch,
    start: usize,
    names: &[String],
) -> Result<Branch, Fault> {
    let name = row.name.get_ref();
    check_name(name).map_err(|why| wrong(&row.name, why))?;
    Ok(Branch {
        baseline: row.baseline.as_ref().is_some_and(|mark| *mark.get_ref()),
        group: check_group("group", row.group.as_ref())?,
        hypothesis: row.hypothesis.clone(),
        claims: row
            .claims
            .iter()
            .map(|claim| check_claim(name, claim.get_ref(), names))
            .collect::<Result<_, _>>()?,
        ..Branch::new(name.clone(), check_source(row, start)?)
    })
}

/// The name of a group, given as `key`.
fn check_group(key: &str, group: Option<&Spanned<String>>) -> Result<Option<String>, Fault> {
    let Some(written) = group else {
        return Ok(None);
    };
    let group = written.get_ref();
    check_name(group).map_err(|why| wrong(written, format!("`{key} = \"{group}\"`: {why}")))?;
    Ok(Some(group.clone()))
}

/// Returns the name of the branch `name` without one of its features.
fn without(name: &str, feature: &str) -> String {
    format!("{name}-without-{feature}")
}

/// The names of all branches that a row makes.
fn names(row: &wire::Branch) -> Vec<String> {
    let name = row.name.get_ref();
    let features = row
        .fork
        .iter()
        .flatten()
        .filter(|_| row.without_each.is_some());
    let without = features.map(|feature| without(name, feature.get_ref()));
    std::iter::once(name.clone()).chain(without).collect()
}

/// The additional branches of a row: its own branch without each of its features.
fn without_each(row: &wire::Branch, whole: &Branch) -> Result<Vec<Branch>, Fault> {
    let name = &whole.name;
    let group = check_group("without-each", row.without_each.as_ref())?;
    let (Some(written), Some(_)) = (&row.without_each, &group) else {
        return Ok(Vec::new());
    };
    let wrong = |why: String| wrong(written, format!("`without-each`{why}"));
    let Source::Fork { features } = &whole.source else {
        return Err(wrong(" goes with `fork` only; remove it".to_owned()));
    };
    let one = |feature: &String| {
        let features: BTreeSet<String> = features
            .iter()
            .filter(|it| *it != feature)
            .cloned()
            .collect();
        let name_without = without(name, feature);
        check_name(&name_without).map_err(|why| wrong(format!(": `{name_without}`: {why}")))?;
        Ok(Branch {
            group: group.clone(),
            hypothesis: format!("no faster than {name}"),
            claims: vec![Claim {
                expect: Expectation::NoFaster,
                against: Some(name.clone()),
                workloads: Vec::new(),
                threads: None,
                quantity: Quantity::default(),
            }],
            ..Branch::new(name_without, Source::Fork { features })
        })
    };
    features.iter().map(one).collect()
}

pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_-".contains(c);
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.chars().all(is_plain) {
        return Err(
            "a name starts with a letter and contains only a-z, 0-9, `_` and `-`, \
                    because it becomes a folder, a package and a column"
                .to_owned(),
        );
    }
    if name.len() > LONGEST_NAME {
        return Err(format!(
            "the name has {} characters, at most {LONGEST_NAME} are allowed, because it becomes a folder and a column; \
             choose a shorter one",
            name.len()
        ));
    }
    if RESERVED.contains(&name) {
        return Err(format!(
            "the name is reserved ({}); choose another",
            RESERVED.join(", ")
        ));
    }
    for (suffix, owner) in [
        (TWIN_SUFFIX, "the A/A control of the baseline"),
        (INSTRUMENTED_SUFFIX, "instrumented builds"),
    ] {
        if name.ends_with(suffix) {
            return Err(format!(
                "names that end in `{suffix}` are reserved for {owner}; choose another"
            ));
        }
    }
    Ok(())
}

fn check_source(row: &wire::Branch, start: usize) -> Result<Source, Fault> {
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
        let why = if given.is_empty() {
            "no source; give one of `published`, `fork`, `path`, `git`".to_owned()
        } else {
            format!(
                "{} sources (`{}`); keep one",
                given.len(),
                given.join("`, `")
            )
        };
        return Err(Fault { at: start, why });
    };
    for (key, span) in [
        ("edits", row.edits.as_ref().map(Spanned::span)),
        ("rev", row.rev.as_ref().map(Spanned::span)),
        ("subdirectory", row.subdirectory.as_ref().map(Spanned::span)),
        ("features", row.features.as_ref().map(Spanned::span)),
    ] {
        let belongs = match key {
            "edits" => kind == "published",
            "features" => matches!(kind, "git" | "path"),
            _ => kind == "git",
        };
        if let (Some(span), false) = (span, belongs) {
            let remedy = match (kind, key) {
                ("fork", "features") => "write the features into `fork = […]`",
                (_, "edits") => "edits apply to a `published` release only; remove it",
                ("published", "features") => "a published release is measured as it is; remove it",
                _ => "it goes with `git` only; remove it",
            };
            let written = Spanned::new(span, ());
            return Err(wrong(
                &written,
                format!("`{key}` does not go with `{kind}`; {remedy}"),
            ));
        }
    }
    let free_features = || {
        let listed = row
            .features
            .as_ref()
            .map(|list| list.get_ref().as_slice())
            .unwrap_or_default();
        listed
            .iter()
            .map(|feature| feature.get_ref().clone())
            .collect::<BTreeSet<_>>()
    };
    if let Some(version) = &row.published {
        let told = |why| format!("published = \"{}\": {why}", version.get_ref());
        check_version(version.get_ref()).map_err(|why| wrong(version, told(why)))?;
        let version = version.get_ref().clone();
        return Ok(match &row.edits {
            Some(edits) => Source::Edited {
                version,
                edits: edits.get_ref().into(),
            },
            None => Source::Published { version },
        });
    }
    if let Some(features) = &row.fork {
        return check_fork(features)
            .map(|features| Source::Fork { features })
            .map_err(|(feature, why)| wrong(feature.unwrap_or(&row.name), why));
    }
    if let Some(path) = &row.path {
        return Ok(Source::Path {
            path: path.get_ref().into(),
            features: free_features(),
        });
    }
    let Some(url) = &row.git else {
        unreachable!("one of four sources is given")
    };
    let Some(rev) = &row.rev else {
        return Err(wrong(
            url,
            "`git` without `rev`; name the commit, because a moving branch cannot be compared",
        ));
    };
    if !git::is_commit(rev.get_ref()) {
        return Err(wrong(
            rev,
            format!(
                "`rev = \"{}\"` is not a commit; write its hash of 7 to 40 hexadecimal digits, because a moving branch or \
                 tag cannot be compared",
                rev.get_ref()
            ),
        ));
    }
    Ok(Source::Git {
        url: url.get_ref().clone(),
        rev: rev.get_ref().clone(),
        subdirectory: row
            .subdirectory
            .as_ref()
            .map(|folder| folder.get_ref().clone()),
        features: free_features(),
    })
}

/// The versions of rayon-core that the programs' rayon accepts.
const TAKEN: &str = "^1.13.0";

fn check_version(version: &str) -> Result<(), String> {
    let parsed = Version::parse(version)
        .map_err(|error| format!("not an exact version ({error}); write it like 1.13.0"))?;
    if VersionReq::parse(TAKEN).is_ok_and(|taken| taken.matches(&parsed)) {
        return Ok(());
    }
    Err(
        "the programs use rayon, which accepts only rayon-core 1.13.0 or a later 1.x; name one of those"
            .to_owned(),
    )
}

/// Returns an error with the position of the feature at fault; no position if the fault is in their
/// combination.
fn check_fork(
    features: &[Spanned<String>],
) -> Result<BTreeSet<String>, (Option<&Spanned<String>>, String)> {
    let fork = Features::of_the_fork();
    let known = &fork.names;
    let mut checked = BTreeSet::new();
    for feature in features {
        let (at, name) = (Some(feature), feature.get_ref());
        if !known.contains(name) {
            let list = known
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ");
            let hint = hint(name, known.iter().map(String::as_str));
            return Err((at, format!("unknown feature `{name}`; known: {list}{hint}")));
        }
        if !checked.insert(name.clone()) {
            return Err((at, format!("feature `{name}` is listed twice; remove one")));
        }
    }
    fork.refusal(&checked)
        .map_or(Ok(checked), |why| Err((None, why)))
}

/// Checks a hypothesis of the row `name`; `branches` are all names of the file.
fn check_claim(name: &str, claim: &wire::Claim, branches: &[String]) -> Result<Claim, Fault> {
    if let Some(against) = &claim.against {
        let other = against.get_ref();
        if other == name || !branches.contains(other) {
            let known: Vec<&str> = branches
                .iter()
                .map(String::as_str)
                .filter(|other| *other != name)
                .collect();
            let known = known.join(", ");
            return Err(wrong(
                against,
                format!("`against = \"{other}\"` is not another branch; known: {known}"),
            ));
        }
    }
    let workloads = match &claim.workloads {
        None => Vec::new(),
        Some(list) => pick(
            "`workloads`",
            "workload",
            list.get_ref(),
            &catalogue::names(),
        )
        .map_err(|error| wrong(list, error))?,
    };
    if let Some(threads) = &claim.threads {
        check_threads(threads.get_ref()).map_err(|why| wrong(threads, why))?;
    }
    Ok(Claim {
        expect: claim.expect,
        against: claim.against.as_ref().map(|name| name.get_ref().clone()),
        workloads: workloads.into_iter().map(str::to_owned).collect(),
        threads: claim.threads.as_ref().map(|range| range.get_ref().clone()),
        quantity: claim.quantity,
    })
}

/// One thread count or a range with optional ends, each end a number, `cores` or `cpus`.
fn check_threads(range: &str) -> Result<(), String> {
    let wrong = || {
        format!(
            "`threads = \"{range}\"` is not a range of thread counts; write for example \"8\", \"8..\", \
             \"..=cpus\" or \"16..=cores\""
        )
    };
    let number = |text: &str| match text {
        "cores" | "cpus" => Ok(None),
        _ => text
            .parse()
            .ok()
            .filter(|&count: &u32| count > 0)
            .map(Some)
            .ok_or_else(wrong),
    };
    let (first, last) = match range.split_once("..") {
        None => return number(range).map(drop),
        Some((first, "")) => return number(first).map(drop),
        Some((first, last)) => (first, last.strip_prefix('=').ok_or_else(wrong)?),
    };
    let first = if first.is_empty() {
        None
    } else {
        number(first)?
    };
    let last = number(last)?;
    match (first, last) {
        (Some(first), Some(last)) if first > last => Err(wrong()),
        _ => Ok(()),
    }
}

/// The file as written: every value with its position. Only the shape is checked.
mod wire {
    use serde::Deserialize;
    use serde_spanned::Spanned;

    use crate::config::{Expectation, Quantity};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct File {
        #[serde(default)]
        pub(super) branch: Vec<Spanned<Branch>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename_all = "kebab-case")]
    pub(in crate::config) struct Branch {
        pub(super) name: Spanned<String>,
        pub(super) group: Option<Spanned<String>>,
        pub(super) published: Option<Spanned<String>>,
        pub(super) edits: Option<Spanned<String>>,
        pub(super) fork: Option<Vec<Spanned<String>>>,
        pub(super) without_each: Option<Spanned<String>>,
        pub(super) path: Option<Spanned<String>>,
        pub(super) git: Option<Spanned<String>>,
        pub(super) rev: Option<Spanned<String>>,
        pub(super) subdirectory: Option<Spanned<String>>,
        pub(super) features: Option<Spanned<Vec<Spanned<String>>>>,
        #[serde(default)]
        pub(super) baseline: Option<Spanned<bool>>,
        #[serde(default)]
        pub(super) hypothesis: String,
        #[serde(default)]
        pub(super) claims: Vec<Spanned<Claim>>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub(super) struct Claim {
        pub(super) expect: Expectation,
        pub(super) against: Option<Spanned<String>>,
        pub(super) workloads: Option<Spanned<String>>,
        pub(super) threads: Option<Spanned<String>>,
        #[serde(default, alias = "figure")]
        pub(super) quantity: Quantity,
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
