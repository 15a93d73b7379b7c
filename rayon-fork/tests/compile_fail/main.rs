//! Mistakes that the types refuse. Each file beside this one is a program. A line that the compiler
//! must refuse ends in `//~` and the code of the error, or its message if it has no code. There is
//! one mistake per function, because the compiler reports the same mistake once in each.
#![cfg(not(miri))] // Miri starts no processes.

#[path = "../common/scratch.rs"]
mod scratch;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use scratch::{Scratch, Source};
use serde_json::Value;

/// The errors of each program: line and code, or message where there is no code. How often an error
/// is reported depends on private fields and does not matter.
type Errors = BTreeMap<String, BTreeSet<(u64, String)>>;

/// The programs by name.
fn programs() -> BTreeMap<String, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compile_fail");
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let named = files.map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path));
    let programs = named.filter(|(name, _)| name != "main");
    programs
        .map(|(name, path)| (name, fs::read_to_string(path).unwrap()))
        .collect()
}

/// Returns the errors that the marks in the programs require.
fn expected(programs: &BTreeMap<String, String>) -> Errors {
    let marks = |text: &str| {
        let mut errors = BTreeSet::new();
        for (number, line) in (1..).zip(text.lines()) {
            let Some((_, mark)) = line.split_once("//~ ") else {
                continue;
            };
            errors.insert((number, mark.to_owned()));
        }
        errors
    };
    programs
        .iter()
        .map(|(name, text)| (name.clone(), marks(text)))
        .collect()
}

/// Returns the compiler's errors for the programs when they depend on `source`.
fn found(programs: &BTreeMap<String, String>, source: Source) -> Errors {
    let package = Scratch::new("compile-fail", source);
    package.write("src/lib.rs", "");
    // Programs of an earlier run that are no more would be checked too.
    let _ = fs::remove_dir_all(package.path("src/bin"));
    for (name, text) in programs {
        package.write(&format!("src/bin/{name}.rs"), text);
    }
    let output = package.cargo(
        "check",
        &["--bins", "--keep-going", "--message-format", "json"],
    );
    let mut errors: Errors = programs
        .keys()
        .map(|name| (name.clone(), BTreeSet::new()))
        .collect();
    let mut checked = BTreeSet::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let name = message["target"]["name"].as_str().unwrap_or_default();
        let Some(errors) = errors.get_mut(name) else {
            continue;
        };
        checked.insert(name.to_owned());
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let spans = message["spans"].as_array().unwrap();
        // The summary "aborting due to …" has no place.
        let Some(span) = spans.iter().find(|span| span["is_primary"] == true) else {
            continue;
        };
        let what = message["code"]["code"]
            .as_str()
            .or(message["message"].as_str());
        errors.insert((
            span["line_start"].as_u64().unwrap(),
            what.unwrap().to_owned(),
        ));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        checked.len(),
        programs.len(),
        "the compiler has not seen every program:\n{stderr}"
    );
    errors
}

fn check(source: Source) {
    let programs = programs();
    let (expected, found) = (expected(&programs), found(&programs, source));
    let differing: Vec<_> = expected
        .iter()
        .filter(|(name, expected)| found[*name] != **expected)
        .map(|(name, expected)| {
            format!("{name}.rs: marked {expected:?}, found {:?}\n", found[name])
        })
        .collect();
    assert!(
        differing.is_empty(),
        "against {source:?}:\n{}",
        differing.concat()
    );
}

#[test]
fn mistakes_are_refused_with_their_error_codes() {
    check(Source::Fork);
}

#[test]
fn the_published_crate_refuses_the_same_mistakes() {
    check(Source::Published);
}

#[test]
fn every_program_but_one_is_a_mistake() {
    let programs = programs();
    assert!(programs.len() > 10, "programs are missing");
    let allowed: Vec<String> = expected(&programs)
        .into_iter()
        .filter(|(_, marks)| marks.is_empty())
        .map(|(name, _)| name)
        .collect();
    assert_eq!(allowed, ["all_of_this_is_allowed"]);
}
