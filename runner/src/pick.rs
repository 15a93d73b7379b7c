//! Names picked out of known ones, and the name that somebody likely meant.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use globset::Glob;

use crate::stop::Stop;

/// Picks names by a list of names, globs, `all` and `!exclusions`, in the order of `known`. The list was
/// given as `field`, an option or a key of a file, and names things of a `kind`, such as `branch`.
///
/// # Errors
/// [`Stop::BadInput`] for a word that matches nothing, with the field and the likely name.
pub fn pick<'a>(field: &str, kind: &str, list: &str, known: &[&'a str]) -> Result<Vec<&'a str>> {
    let words: Vec<&str> = list.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let Some(first) = words.first() else {
        bail!(Stop::BadInput(format!(
            "{field}: `{list}` names no {kind}; write `all`, names, globs or `!exclusions`; known: {}",
            known.join(", ")
        )));
    };
    let mut picked: BTreeSet<&str> = BTreeSet::new();
    // A list of exclusions alone means all but those.
    if first.starts_with('!') {
        picked.extend(known);
    }
    for word in words {
        let (is_excluded, pattern) = match word.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, word),
        };
        let glob = Glob::new(if pattern == "all" { "*" } else { pattern })
            .map_err(|error| Stop::BadInput(format!("{field}: `{pattern}`: {error}")))?
            .compile_matcher();
        let matched: Vec<&str> = known.iter().copied().filter(|name| glob.is_match(name)).collect();
        if matched.is_empty() {
            let hint = nearest(pattern, known.iter().copied())
                .map(|near| format!("did you mean `{near}`? "))
                .unwrap_or_default();
            // The hint first: the list is long.
            bail!(Stop::BadInput(format!(
                "{field}: no {kind} matches `{pattern}`; {hint}known: {}",
                known.join(", ")
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
            "{field}: `{list}` leaves no {kind}; known: {}",
            known.join(", ")
        )));
    }
    Ok(known.iter().copied().filter(|name| picked.contains(name)).collect())
}

/// What to say of a `name`, given by `option`, that no `kind` has.
pub fn no_such<'a>(
    option: &str,
    kind: &str,
    name: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Stop {
    let known: Vec<&str> = known.into_iter().collect();
    let hint = nearest(name, known.iter().copied())
        .map(|near| format!("; did you mean `{near}`?"))
        .unwrap_or_default();
    Stop::BadInput(format!("{option} {name}: no such {kind}; known: {}{hint}", known.join(", ")))
}

/// The candidate that a misspelt word probably meant, if one is close.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len().max(word.len()) / 4)
        .min()
        .map(|(_, candidate)| candidate)
}
