//! Every modifier names a file, folder, type or constant, and has a README row and a branch.
#![cfg(not(miri))] // Miri reads no files.

#[expect(dead_code, reason = "here nothing is built")]
#[path = "../../build.rs"]
mod build_script;
#[path = "../common/files.rs"]
mod files;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use files::files_below;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")
}

/// The features of which variants are made.
fn modifiers() -> Vec<String> {
    let manifest = fs::read_to_string(folder().join("../Cargo.toml")).unwrap();
    let (_, features) = manifest.split_once("\n[features]\n").unwrap();
    let (features, _) = features.split_once("\n[").unwrap();
    let other = build_script::strings(&manifest, "other");
    let names = features
        .lines()
        .filter_map(|line| Some(line.split_once(" = [")?.0));
    names
        .filter(|name| !other.contains(name))
        .map(str::to_owned)
        .collect()
}

/// The sources that choose something by the feature `name`.
fn files_that_choose_by(name: &str) -> Vec<PathBuf> {
    let forms = [format!("feature = \"{name}\""), format!("\"{name}\" =>")];
    let chooses = |path: &PathBuf| {
        let text = fs::read_to_string(path).unwrap();
        forms.iter().any(|form| text.contains(form))
    };
    files_below(&folder().join("../src"))
        .into_iter()
        .filter(chooses)
        .collect()
}

/// The names of the sources, their folders, and the types and constants in them.
fn rooms() -> BTreeSet<String> {
    let source = folder().join("../src");
    let mut found = BTreeSet::new();
    for path in files_below(&source) {
        let below = path.strip_prefix(&source).unwrap().with_extension("");
        found.extend(below.iter().map(|name| name.to_str().unwrap().to_owned()));
        let text = fs::read_to_string(&path).unwrap();
        found.extend(text.lines().filter_map(|line| {
            let words = line
                .trim()
                .trim_start_matches("pub(crate) ")
                .split_once(' ');
            let (_, rest) = words.filter(|(kind, _)| ["const", "enum", "struct"].contains(kind))?;
            rest.split(|sign: char| !(sign.is_alphanumeric() || sign == '_'))
                .next()
                .map(str::to_owned)
        }));
    }
    found
}

#[test]
fn every_modifier_has_a_room_of_its_name() {
    let rooms = rooms();
    // `no-jec` may be called `no_jec`, `NoJec` or `NO_JEC`.
    let has_room = |name: &str| {
        let capitalized = |word: &str| word[..1].to_uppercase() + &word[1..];
        let small = name.replace('-', "_");
        let spellings = [
            name.split('-').map(capitalized).collect(),
            small.to_uppercase(),
            small,
        ];
        spellings.iter().any(|spelling| rooms.contains(spelling))
    };
    for name in modifiers() {
        assert!(
            has_room(&name),
            "no file, folder, type or constant in src is called as `{name}`"
        );
    }
    assert!(!has_room("spread"));
}

#[test]
fn the_feature_champion_is_the_branch_champion() {
    let read = |path| fs::read_to_string(folder().join(path)).unwrap();
    let (manifest, branches) = (read("../Cargo.toml"), read("../../branches.toml"));
    let (_, features) = manifest.split_once("\nchampion = ").unwrap();
    let (_, row) = branches
        .split_once("\nname = \"champion\"\nfork = ")
        .unwrap();
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
            row.starts_with('|')
                && row
                    .split('|')
                    .nth(1)
                    .unwrap()
                    .contains(&format!("`{name}`"))
        };
        assert!(
            readme.lines().any(is_told),
            "README.md has no row for `{name}`"
        );
        if name == "packed" {
            continue; // What is there without any feature.
        }
        let files = files_that_choose_by(&name);
        assert_eq!(files.len(), 1, "`{name}` is named in {files:#?}");
        let is_built =
            |row: &str| row.starts_with("fork = ") && row.contains(&format!("\"{name}\""));
        assert!(
            branches.lines().any(is_built),
            "no branch is built with `{name}`"
        );
    }
}

/// Every file that reports an event imports the hooks, so the hooks' own files must import no such
/// file.
#[test]
fn hooks_import_nothing_of_the_scheduler_but_its_door_to_the_machine() {
    let source = folder().join("../src");
    let mut files = files_below(&source.join("hooks"));
    files.push(source.join("hooks.rs"));
    assert!(files.len() > 5, "{files:?}");
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let lines = text.lines().map(str::trim_start);
        for line in lines.filter(|line| !line.starts_with("//")) {
            let imported = line.split("crate::").skip(1);
            for name in imported {
                assert!(name.starts_with("sync::"), "{}: {line}", path.display());
            }
        }
    }
}
