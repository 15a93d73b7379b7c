//! Picks names from a list of known names, and finds the name that a user probably meant.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use glob::Pattern;

use crate::stop::Stop;

/// Prefix of a group's name.
pub const GROUP: &str = "group:";

/// Picks names by a list of names, globs, `all` and `!exclusions`, in the order of `known`. `field` is
/// the option or key with the list; `kind` says what the names are, such as `branch`.
///
/// # Errors
/// [`Stop::BadInput`] for a word that matches nothing, with the field and the likely name.
pub fn pick<'a>(field: &str, kind: &str, list: &str, known: &[&'a str]) -> Result<Vec<&'a str>> {
    let known: Vec<Known<'a>> = known
        .iter()
        .map(|name| Known { name, group: None })
        .collect();
    pick_grouped(field, kind, list, &known)
}

/// A name that can be picked: by itself, by a glob, by its group, or, without a group, by `all`.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The name itself.
    pub name: &'a str,
    /// The name's group, as users write it after `group:`.
    pub group: Option<&'a str>,
}

/// Picks names as [`pick`] does. `all` means the names without a group, and `group:NAME` means the
/// names of that group.
pub(crate) fn pick_grouped<'a>(
    field: &str,
    kind: &str,
    list: &str,
    known: &[Known<'a>],
) -> Result<Vec<&'a str>> {
    let names = || known.iter().map(|it| it.name);
    let all_names = || listed(kind, names());
    let words: Vec<&str> = list
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .collect();
    let Some(first) = words.first() else {
        bail!(Stop::BadInput(format!(
            "{field}: `{list}` names no {kind}; write `all`, names, globs or `!exclusions`; {}",
            all_names()
        )));
    };
    let mut picked: BTreeSet<&str> = BTreeSet::new();
    // A list that begins with an exclusion starts from the names that `all` means.
    if first.starts_with('!') {
        picked.extend(
            known
                .iter()
                .filter(|it| it.group.is_none())
                .map(|it| it.name),
        );
    }
    for word in words {
        let (is_excluded, pattern) = match word.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        let group = pattern.strip_prefix(GROUP);
        let matched: Vec<&str> = if let Some(group) = group {
            picked_by(known, |it| it.group == Some(group))
        } else if pattern == "all" {
            picked_by(known, |it| it.group.is_none())
        } else if known.iter().any(|it| it.name == pattern) {
            // Names are compared without globs, because compiling thousands of globs would take
            // long.
            picked_by(known, |it| it.name == pattern)
        } else {
            let glob = Pattern::new(pattern)
                .map_err(|error| Stop::BadInput(format!("{field}: `{pattern}`: {error}")))?;
            picked_by(known, |it| glob.matches(it.name))
        };
        if let (Some(group), true) = (group, matched.is_empty()) {
            let groups: BTreeSet<&str> = known.iter().filter_map(|it| it.group).collect();
            bail!(no_such(&format!("{field}:"), "group", group, groups));
        }
        if matched.is_empty() {
            bail!(Stop::BadInput(format!(
                "{field}: no {kind} matches `{pattern}`; {}{}",
                hint(pattern, names()),
                all_names()
            )));
        }
        for name in matched {
            if is_excluded {
                picked.remove(name)
            } else {
                picked.insert(name)
            };
        }
    }
    if picked.is_empty() {
        bail!(Stop::BadInput(format!(
            "{field}: `{list}` excludes every {kind}; {}",
            all_names()
        )));
    }
    Ok(names().filter(|name| picked.contains(name)).collect())
}

fn picked_by<'a>(known: &[Known<'a>], is_meant: impl Fn(&Known<'a>) -> bool) -> Vec<&'a str> {
    let meant = known.iter().filter(|it| is_meant(it));
    meant.map(|it| it.name).collect()
}

pub(crate) fn no_such<'a>(
    option: &str,
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Stop {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = hint(name, known.iter().copied());
    Stop::BadInput(format!(
        "{option} {name}: no such {kind}; {hint}{}",
        listed(kind, known)
    ))
}

pub(crate) fn listed<'a>(kind: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() {
        format!("there is no {kind} at all")
    } else {
        format!("known: {}", names.join(", "))
    }
}

pub(crate) fn plain(said: &str) -> String {
    const WORDS: [(&str, &str); 16] = [
        ("\n", "; "),
        ("unknown field", "unknown key"),
        ("missing field", "missing key"),
        ("duplicate field", "duplicate key"),
        ("unknown variant", "unknown word"),
        ("invalid type: ", ""),
        ("invalid value: ", ""),
        ("floating point `", "number `"),
        ("integer `", "number `"),
        ("map, ", "table, "),
        ("sequence, ", "list, "),
        (", expected one of ", "; known: "),
        (
            ", expected a tuple of size ",
            "; write a list with a length of ",
        ),
        (", expected a ", "; write a "),
        (", expected struct ", "; write struct "),
        (", expected ", "; write "),
    ];
    const TYPES: [(&str, &str); 7] = [
        ("usize", "a whole number"),
        ("u64", "a whole number"),
        ("u32", "a whole number"),
        ("f64", "a number"),
        ("sequence", "a list"),
        ("string", "text in quotation marks"),
        ("boolean", "true or false"),
    ];
    let said = WORDS
        .iter()
        .fold(said.trim().to_owned(), |said, (one, other)| {
            said.replace(one, other)
        });
    let (before, last) = said.rsplit_once("; write ").unwrap_or((&said, ""));
    let wanted = last.strip_prefix("a ").unwrap_or(last);
    if wanted.starts_with("struct ") {
        return format!("{before}; write a table");
    }
    match TYPES.iter().find(|(name, _)| *name == wanted) {
        Some((_, words)) => format!("{before}; write {words}"),
        None => said,
    }
}

/// Asks whether a misspelt word means the candidate that is closest to it; empty if no candidate is
/// close. A message has the question before the list of candidates, because the list may be long.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().max(word.len()) / 4)
        .min()
        .map(|(_, near)| format!("did you mean `{near}`? "))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "the test looks at faults only")]
    struct File {
        number: f64,
        whole: Option<u32>,
        text: Option<String>,
        list: Option<Vec<u32>>,
        flag: Option<bool>,
        table: Option<Table>,
        pair: Option<(u32, u32)>,
        word: Option<Word>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "the test looks at faults only")]
    struct Table {
        key: u32,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Word {
        One,
        Two,
    }

    #[test]
    fn a_name_that_is_known_is_itself_and_no_pattern() {
        let known = ["a[b", "ab", "a*"];
        assert_eq!(pick("--x", "thing", "a[b", &known).unwrap(), ["a[b"]);
        assert_eq!(pick("--x", "thing", "a*,!ab", &known).unwrap(), ["a*"]);
        assert_eq!(pick("--x", "thing", "?b", &known).unwrap(), ["ab"]);
        assert!(pick("--x", "thing", "b[", &known).is_err());
    }

    #[test]
    fn a_fault_in_a_file_is_reported_without_words_of_rust() {
        for (text, told) in [
            ("", "missing key `number`"),
            (
                "number = 1.0\nnumbr = 2",
                "unknown key `numbr`; known: `number`, `whole`, ",
            ),
            ("number = \"a\"", "string \"a\"; write a number"),
            (
                "number = 1.0\nwhole = 1.5",
                "number `1.5`; write a whole number",
            ),
            (
                "number = 1.0\ntext = 3",
                "number `3`; write text in quotation marks",
            ),
            ("number = 1.0\nlist = 3", "number `3`; write a list"),
            ("number = 1.0\nflag = 3", "number `3`; write true or false"),
            ("number = 1.0\ntable = 3", "number `3`; write a table"),
            (
                "number = 1.0\npair = [3]",
                "invalid length 1; write a list with a length of 2",
            ),
            (
                "number = 1.0\nword = \"three\"",
                "unknown word `three`; write `one` or `two`",
            ),
        ] {
            let said = plain(toml::from_str::<File>(text).unwrap_err().message());
            assert!(said.starts_with(told) && !said.contains("Table"), "{said}");
        }
    }
}
