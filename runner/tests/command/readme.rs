//! The README names, for each rule of the method, tests that show it: all of them exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Tests by the name that the README has for their file: its stem, or for `mod.rs`, `main.rs` and
/// `tests.rs` the folder's.
fn tests() -> BTreeMap<String, BTreeSet<String>> {
    let mut tests = BTreeMap::new();
    for folder in ["src", "tests"] {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut tests);
    }
    tests
}

fn collect(folder: &Path, tests: &mut BTreeMap<String, BTreeSet<String>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, tests);
            continue;
        }
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let name = match stem {
            "mod" | "main" | "tests" => folder.file_name().unwrap().to_str().unwrap(),
            stem => stem.strip_suffix("_tests").unwrap_or(stem),
        };
        let code = fs::read_to_string(&path).unwrap();
        for part in code.split("#[test]\n").skip(1) {
            let function = part.lines().find_map(|line| line.trim().strip_prefix("fn ")).unwrap();
            let test = function.split_once('(').unwrap().0;
            tests.entry(name.to_owned()).or_default().insert(test.to_owned());
        }
    }
}

/// Rows of the table of rules: the rule's number, and what is between backticks in its last column.
fn rows() -> Vec<(usize, Vec<String>)> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    let (_, table) = text.split_once("## Rules, and the tests that show them").unwrap();
    let rules = table.lines().filter_map(|line| line.strip_prefix("| M"));
    rules
        .map(|row| {
            let number = row.split_once(' ').unwrap().0.parse().unwrap();
            let shown_by = row.trim_end_matches([' ', '|']).rsplit_once('|').unwrap().1;
            (number, shown_by.split('`').skip(1).step_by(2).map(str::to_owned).collect())
        })
        .collect()
}

#[test]
fn every_rule_has_a_row_and_every_row_a_test() {
    let rows = rows();
    let numbers: Vec<usize> = rows.iter().map(|(number, _)| *number).collect();
    assert_eq!(numbers, (1..=17).collect::<Vec<_>>());
    assert!(rows.iter().all(|(_, tests)| !tests.is_empty()), "{rows:?}");
}

#[test]
fn every_test_that_a_rule_names_exists() {
    let tests = tests();
    for (rule, named) in rows() {
        for name in named {
            let (file, test) = name.split_once("::").unwrap();
            let is_there = tests.get(file).is_some_and(|tests| tests.contains(test));
            assert!(is_there, "M{rule} names `{name}`, which does not exist");
        }
    }
}
