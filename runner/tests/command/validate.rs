//! `validate`, and the machine `here`: what is refused, and the way from prices to a comparison.

use std::fs;
use std::path::Path;
use std::process::Command;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

use crate::common;

/// The command with prices of this host in a folder of its own.
fn runner(folder: &Path) -> Command {
    let mut command = common::runner(folder);
    command.env(runner::plan::machines::HERE_FOLDER, folder);
    command
}

/// Prices that another host seems to have written.
fn write_foreign_prices(folder: &Path) {
    let copy = |from: &str, to: &str| fs::copy(common::root().join(from), folder.join(to)).unwrap();
    copy("machines/zen4-64.toml", "here.toml");
    copy("workloads/charges.toml", "charges-here.toml");
}

#[test]
fn a_host_that_was_not_measured_is_told_to_calibrate() {
    let folder = tempfile::tempdir().unwrap();
    runner(folder.path())
        .args([
            "plan",
            "--machine",
            "here",
            "--branches",
            "packed",
            "--workloads",
            "quicksort",
        ])
        .assert()
        .code(2)
        .stderr(contains("--machine here").and(contains("`cargo runner calibrate`")));
    runner(folder.path())
        .args(["validate", "--keep-prices"])
        .assert()
        .code(2)
        .stderr(contains("`cargo runner calibrate`"));
}

#[test]
fn what_validate_decides_by_itself_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for option in [
        ["--machine", "zen4-64"],
        ["--experiment", "study"],
        ["--shard", "1/2"],
    ] {
        let refused = runner(folder.path()).arg("validate").args(option).assert();
        refused
            .code(2)
            .stderr(contains(option[0]).and(contains("leave it out")));
    }
}

#[test]
fn arguments_are_looked_at_before_the_host_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    for (option, told) in [
        (["--trials", "1000000000"], "more than the limit of"),
        (["--threads", "-1"], "no thread count"),
    ] {
        let refused = runner(folder.path()).arg("validate").args(option).assert();
        refused
            .code(2)
            .stderr(contains(told).and(contains("building").not()));
    }
}

/// Manifests of the sweeps in a folder, oldest first.
fn manifests(sweeps: &Path) -> Vec<Value> {
    let mut names: Vec<_> = fs::read_dir(sweeps)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    names.sort();
    let read = |name: &std::path::PathBuf| fs::read(name.join("manifest.json")).unwrap();
    names
        .iter()
        .map(|name| serde_json::from_slice(&read(name)).unwrap())
        .collect()
}

#[test]
fn a_prediction_is_made_first_and_the_same_command_goes_on_to_measure_and_compare() {
    let folder = tempfile::tempdir().unwrap();
    write_foreign_prices(folder.path());
    let sweeps = folder.path().join("sweeps");
    fs::create_dir(&sweeps).unwrap();
    let validate = |more: &[&str]| {
        runner(folder.path())
            .args([
                "validate",
                "--branches",
                "packed",
                "--workloads",
                "quicksort",
                "--size",
                "tiny",
            ])
            .args([
                "--parameter",
                "elements=5000",
                "--threads",
                "1",
                "--trials",
                "1",
                "--iterations",
                "1",
            ])
            .args(["--keep-prices", "--output"])
            .arg(&sweeps)
            .args(more)
            .assert()
    };
    let refused = validate(&[]).code(2).stderr(contains("--keep-prices"));
    let told = String::from_utf8(refused.get_output().stderr.clone()).unwrap();
    let title = told
        .split("this is `")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap();
    let file = folder.path().join("here.toml");
    let text = fs::read_to_string(&file).unwrap();
    let foreign = text.lines().next().unwrap();
    fs::write(
        &file,
        text.replacen(foreign, &format!("title = {title:?}"), 1),
    )
    .unwrap();

    validate(&["--predict-only"]).success();
    let predicted = manifests(&sweeps);
    assert_eq!(predicted.len(), 1);
    assert_eq!(predicted[0]["asked"]["machine"]["name"], "here");

    let compared = validate(&[])
        .success()
        .stderr(contains("going on with the prediction"));
    compared.stdout(contains("of 1 cell within 20%").and(contains("before it was measured")));
    let both = manifests(&sweeps);
    assert_eq!(both.len(), 2);
    let report = folder
        .path()
        .join("reports")
        .join(both[1]["name"].as_str().unwrap());
    assert!(report.join("validation.svg").is_file());
    assert!(both[1]["asked"]["machine"].is_null());
    for field in ["workloads", "threads", "branches", "trials"] {
        assert_eq!(both[0]["asked"][field], both[1]["asked"][field], "{field}");
    }
}
