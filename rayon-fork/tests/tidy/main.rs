//! The README of this folder tells which test covers what: all of these tests exist, and none is left out.
//! And every modifier has its room, its row and its branch.
#![cfg(not(miri))] // Miri reads no files.

#[expect(dead_code, reason = "here nothing is built")]
#[path = "../../build.rs"]
mod build_script;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Tests whose subject is this folder and not the crate, or is told outside the table.
const OUTSIDE_THE_TABLE: [&str; 3] = ["api_parity", "random", "watchdog"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The files of the folder's test programs by the names that the README uses for them: a module's name, or
/// for the main file the program's.
fn files() -> BTreeMap<String, PathBuf> {
    let interface = folder().join("api_parity/main.rs");
    let mut files = BTreeMap::from([("api_parity".to_owned(), interface)]);
    for program in ["behaviour", "process", "stress"] {
        for file in fs::read_dir(folder().join(program)).unwrap() {
            let path = file.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap();
            let name = if stem == "main" { program } else { stem };
            let before = files.insert(name.to_owned(), path.clone());
            assert!(before.is_none(), "two files would be called {name} in the README");
        }
    }
    files
}

/// The tests in a file, but for those that others start as child processes.
fn tests_in(path: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(path).unwrap();
    let mut tests = BTreeSet::new();
    for part in text.split("#[test]\n").skip(1) {
        let function = part.lines().find_map(|line| line.strip_prefix("fn ")).unwrap();
        let name = function.split_once('(').unwrap().0;
        if !name.ends_with("_child") {
            tests.insert(name.to_owned());
        }
    }
    tests
}

/// What is between backticks in the table.
fn named_in_readme() -> Vec<String> {
    let text = fs::read_to_string(folder().join("README.md")).unwrap();
    let (_, table) = text.split_once("## What is tested where").unwrap();
    let (table, _) = table.split_once("## Changing").unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| "));
    rows.flat_map(|row| row.split('`').skip(1).step_by(2)).map(str::to_owned).collect()
}

#[test]
fn every_test_in_the_readme_exists() {
    let files = files();
    let mut seen = 0;
    for name in named_in_readme() {
        let Some((file, test)) = name.split_once("::") else { continue };
        let path = files.get(file).unwrap_or_else(|| panic!("README.md: `{name}`: no such file"));
        let tests = tests_in(path);
        assert!(!tests.is_empty(), "{file} has no tests");
        assert!(test == "*" || tests.contains(test), "README.md: `{name}` is no test");
        seen += 1;
    }
    assert!(seen > 100, "the table names {seen} tests; it was not found");
}

#[test]
fn every_test_is_in_the_readme() {
    let named: BTreeSet<String> = named_in_readme().into_iter().collect();
    let mut missing = Vec::new();
    for (file, path) in files() {
        if OUTSIDE_THE_TABLE.contains(&file.as_str()) || named.contains(&format!("{file}::*")) {
            continue;
        }
        let tests = tests_in(&path).into_iter().map(|test| format!("{file}::{test}"));
        missing.extend(tests.filter(|test| !named.contains(test)));
    }
    assert!(missing.is_empty(), "not in README.md: {missing:#?}");
}

#[test]
fn every_program_that_must_not_compile_is_in_the_readme() {
    let named: BTreeSet<String> = named_in_readme().into_iter().collect();
    for file in fs::read_dir(folder().join("compile_fail")).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        if !["main", "all_of_this_is_allowed"].contains(&name) {
            assert!(named.contains(name), "not in README.md: `{name}`");
        }
    }
}

/// The features of which variants are made.
fn modifiers() -> Vec<String> {
    let manifest = fs::read_to_string(folder().join("../Cargo.toml")).unwrap();
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let other = build_script::strings(&manifest, "other");
    let names = features.lines().filter_map(|line| Some(line.split_once(" = [")?.0));
    names.filter(|name| !other.contains(name)).map(str::to_owned).collect()
}

/// The files below `folder` that choose something by the feature `name`.
fn files_that_choose_by(name: &str, folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_that_choose_by(name, &path));
        } else {
            let text = fs::read_to_string(&path).unwrap();
            let forms = [format!("feature = \"{name}\""), format!("\"{name}\" =>")];
            if forms.iter().any(|form| text.contains(form)) {
                files.push(path);
            }
        }
    }
    files
}

#[test]
fn the_feature_champion_is_the_branch_champion() {
    let read = |path| fs::read_to_string(folder().join(path)).unwrap();
    let (manifest, branches) = (read("../Cargo.toml"), read("../../branches.toml"));
    let (_, features) = manifest.split_once("\nchampion = ").unwrap();
    let (_, row) = branches.split_once("\nname = \"champion\"\nfork = ").unwrap();
    assert_eq!(features.lines().next(), row.lines().next());
}

#[test]
fn every_modifier_has_one_file_that_chooses_by_it_and_a_row_and_a_branch() {
    let read = |path| fs::read_to_string(folder().join(path)).unwrap();
    let readme = read("../README.md");
    let branches = read("../../branches.toml");
    let modifiers = modifiers();
    assert!(modifiers.len() > 5, "{modifiers:?}");
    for name in modifiers {
        let is_told = |row: &str| {
            row.starts_with('|') && row.split('|').nth(1).unwrap().contains(&format!("`{name}`"))
        };
        assert!(readme.lines().any(is_told), "README.md has no row for `{name}`");
        if name == "packed" {
            continue; // What is there without any feature.
        }
        let files = files_that_choose_by(&name, &folder().join("../src"));
        assert_eq!(files.len(), 1, "`{name}` is named in {files:#?}");
        let is_built =
            |row: &str| row.starts_with("fork = ") && row.contains(&format!("\"{name}\""));
        assert!(branches.lines().any(is_built), "no branch is built with `{name}`");
    }
}
