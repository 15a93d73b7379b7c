//! Which of the pool's code a set of features compiles: every path of a branch is in a build of
//! continuous integration.
//!
//! The rule. A feature outside the counters is code of its own: it is on in one build, and off in
//! another. Features of the counters choose among types, all of which every build compiles, tests
//! and models; what the pool asks of the chosen types are four answers. A part that asks for them
//! is another program for each answer: such a part, on and off, meets each answer in a build if it
//! does in a branch.

use std::collections::{BTreeMap, BTreeSet};

use runner::config::Features;
use runner::config::checkout::Checkout;

use super::{modifiers, of_ci};
use crate::branches;

/// Parts outside the counters that ask for their answers.
const ASK: [&str; 1] = ["demand"];

type Set = BTreeSet<String>;

/// The pool's questions to its counters, with answers: the constants of `sleep/counters/axes.rs`.
fn answers(features: &Set) -> [(&'static str, bool); 4] {
    let has = |name: &str| {
        assert!(
            modifiers().contains(&name),
            "`{name}` is no feature of the fork any more"
        );
        features.contains(name)
    };
    [
        (
            "searchers are counted",
            !(has("split") && has("sleepers-only")),
        ),
        ("events are counted", !has("no-jec")),
        ("a worker scans before it sleeps", has("no-jec")),
        (
            "a worker looks before it wakes others",
            has("wake-where-work-is"),
        ),
    ]
}

/// The paths of a build, in words.
fn paths(features: &Set) -> BTreeSet<String> {
    let state = |name: &str| if features.contains(name) { "on" } else { "off" };
    let alone = modifiers()
        .into_iter()
        .map(|name| format!("{name} {}", state(name)));
    let met = ASK.into_iter().flat_map(|part| {
        answers(features).map(|(what, answer)| format!("{part} {}, {what}: {answer}", state(part)))
    });
    alone.chain(met).collect()
}

/// Those paths of each set that no build has.
fn missing<'s>(sets: &BTreeMap<&'s str, Set>, builds: &[Set]) -> Vec<(&'s str, String)> {
    let built: BTreeSet<String> = builds.iter().flat_map(paths).collect();
    let of = |(name, set): (&&'s str, &Set)| {
        paths(set)
            .difference(&built)
            .map(|path| (*name, path.clone()))
            .collect::<Vec<_>>()
    };
    sets.iter().flat_map(of).collect()
}

fn builds() -> Vec<Set> {
    of_ci()
        .into_iter()
        .map(|build| build.features.into_iter().collect())
        .collect()
}

fn set(names: &[&str]) -> Set {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn every_path_of_a_branch_is_in_a_build_of_ci() {
    let branches = branches::of_the_fork(&Checkout::find(None).unwrap()).unwrap();
    let rows = branches
        .iter()
        .map(|row| (row.name.as_str(), row.source.features()))
        .collect();
    let missing = missing(&rows, &builds());
    assert!(
        missing.is_empty(),
        "in no build; see `rest` in variants.rs: {missing:?}"
    );
}

#[test]
fn every_modifier_is_on_in_one_build_and_off_in_another() {
    for name in modifiers() {
        let on = builds().iter().filter(|build| build.contains(name)).count();
        assert!((1..builds().len()).contains(&on), "{name}: {:?}", builds());
    }
}

#[test]
fn builds_in_which_the_champions_searchers_are_not_counted_are_found_out() {
    let champion = Features::of_the_fork().champion.clone();
    let uncounted = ["split", "sleepers-only", "no-jec"];
    let everything: Set = champion.iter().cloned().chain(set(&uncounted)).collect();
    let missing = missing(
        &[("champion", champion)].into(),
        &[set(&[]), set(&["push-fence"]), everything],
    );
    let told = (
        "champion",
        "demand on, searchers are counted: true".to_owned(),
    );
    assert!(missing.contains(&told), "{missing:?}");
}
