use std::fs;
use std::path::Path;

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

use crate::common::line;

#[test]
fn a_comparison_prints_a_page_that_says_how_to_repeat_it_also_later() {
    let folder = tempfile::tempdir().unwrap();
    let sweeps = folder.path().join("sweeps").display().to_string();
    // The two branches are the same release under two names, so the second branch needs only
    // another link.
    let words = format!(
        "compare master same=published:1.13.0 --preset smoke --workloads quicksort --threads 1 --trials 4 --output {sweeps}"
    );
    line(folder.path(), &words)
        .success()
        .stdout(contains("`same` compared with `master`"))
        .stdout(contains("`same`: rayon-core 1.13.0").and(contains("draw:    cargo runner report")))
        .stderr(contains("resolving the dependencies of 2 branches …\n"))
        .stderr(contains("building 1/2 ").and(contains("building 2/2 ")));
    // `--resume` prints the page again without a measurement, and does not read branches.toml.
    let again = format!("compare --resume --format md --output {sweeps}");
    line(folder.path(), &again)
        .success()
        .stdout(contains("### rayon-core: `same` compared with `master`"))
        .stdout(contains("| same "))
        .stdout(contains(
            "cargo runner compare master same=published:1.13.0 --preset smoke",
        ))
        .stderr(contains("building").not());
}

#[test]
fn a_branch_that_is_none_is_bad_input_before_anything_is_built() {
    for (word, message) in [
        (
            "pakced",
            "`pakced`: no branch has this name; did you mean `packed`? write ",
        ),
        (
            "path:/nowhere/at/all",
            "`path:/nowhere/at/all`: the folder is not there",
        ),
        (
            "mine=path:workloads",
            "`mine=path:workloads`: the folder holds the package `workloads`",
        ),
        (
            "git:.#no-such-branch",
            "the repository has no commit, branch or tag `no-such-branch`",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let sweeps = folder.path().display().to_string();
        line(
            folder.path(),
            &format!("compare master {word} --output {sweeps}"),
        )
        .code(2)
        .stderr(contains(message))
        .stderr(contains("building").not());
    }
}

fn package(folder: &Path, dependencies: &str, code: &str) -> String {
    let manifest = format!(
        "[package]\nname = \"mine\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[dependencies]\n{dependencies}\n"
    );
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(
        folder.join("src/main.rs"),
        format!("fn main() {{ {code} }}\n"),
    )
    .unwrap();
    folder.display().to_string()
}

#[test]
fn a_program_of_the_user_is_built_with_each_branch_and_runs_in_its_folder_which_stays_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let sweeps = folder.path().join("sweeps").display().to_string();
    let own = folder.path().canonicalize().unwrap().join("mine");
    let code = "rayon::join(|| (), || ()); println!(\"{:?}\", std::time::SystemTime::now()); \
                let told: Vec<String> = std::env::args().skip(1).collect(); \
                let here = std::env::current_dir().unwrap().display().to_string(); \
                assert_eq!(told, [\"--an\", \"argument\", &here]);";
    let own_shown = package(&own, "rayon = \"1.10\"", code);
    let locked = std::process::Command::new(env!("CARGO"))
        .args(["generate-lockfile", "--quiet", "--offline"])
        .current_dir(&own)
        .status();
    assert!(locked.unwrap().success());
    let lock = fs::read(own.join("Cargo.lock")).unwrap();
    let run_with = |argument: &str| {
        let words = format!(
            "compare master same=published:1.13.0 --program {own_shown} --layouts 1 --trials 4 --threads 2 --format json \
             --output {sweeps} -- --an {argument} {own_shown}"
        );
        line(folder.path(), &words)
    };
    let output = run_with("argument").success().get_output().stdout.clone();
    let rows: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(rows.as_array().unwrap().len(), 3, "{rows}");
    assert!(rows[2]["ratio"].is_number(), "{rows}");
    assert!(rows[2]["cpu_ratio"].is_number(), "{rows}");
    let mut left: Vec<_> = fs::read_dir(&own)
        .unwrap()
        .map(|it| it.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["Cargo.lock", "Cargo.toml", "src"], "no builds");
    assert_eq!(fs::read(own.join("Cargo.lock")).unwrap(), lock);
    let sweep = fs::read_dir(&sweeps).unwrap().next().unwrap().unwrap();
    let manifest = fs::read_to_string(sweep.path().join("manifest.json")).unwrap();
    assert!(manifest.contains("\"--an\""), "{manifest}");
    let place = folder.path().display().to_string();
    assert!(!manifest.contains(&place), "{manifest}");

    // The program runs with the arguments of the comparison, so its failure is bad input.
    run_with("other")
        .code(2)
        .stderr(contains("fails when built with `master`"))
        .stderr(contains("left == right"));
}

#[test]
fn a_program_that_cannot_be_compared_is_bad_input_before_anything_is_built() {
    let folder = tempfile::tempdir().unwrap();
    let sweeps = folder.path().join("sweeps").display().to_string();
    let idle = package(&folder.path().join("idle"), "", "");
    let several = package(&folder.path().join("several"), "rayon = \"1\"", "");
    fs::create_dir_all(folder.path().join("several/src/bin")).unwrap();
    fs::write(
        folder.path().join("several/src/bin/other.rs"),
        "fn main() {}",
    )
    .unwrap();
    let empty = folder.path().join("empty").display().to_string();
    fs::create_dir(&empty).unwrap();
    for (program, message) in [
        (&idle, "`mine` does not use rayon-core"),
        (
            &several,
            "several binaries; name one by --bin: `mine`, `other`",
        ),
        (&empty, "there is no Cargo.toml"),
    ] {
        let words = format!("compare master champion --program {program} --output {sweeps}");
        line(folder.path(), &words)
            .code(2)
            .stderr(contains(message))
            .stderr(contains("building").not());
    }
}
