//! Tests the refusals of `validate` and of the machine `here`. `on_this_host.rs` tests a whole
//! validation.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common;
use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

/// The command with this host's cost parameters in a folder of its own.
fn runner(folder: &Path) -> Command {
    let mut command = common::runner(folder);
    command.env(runner::plan::machines::HERE_FOLDER, folder);
    command
}

#[test]
fn a_host_that_was_not_measured_is_told_to_calibrate() {
    let folder = tempfile::tempdir().unwrap();
    let plan = "plan --machine here --branches packed --workloads quicksort";
    for words in [plan, "validate --keep-prices"] {
        let refused = runner(folder.path())
            .args(words.split(' '))
            .assert()
            .code(2);
        refused.stderr(contains("--machine here").and(contains("`cargo runner calibrate`")));
    }
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
        (["--threads", "-1"], "not a thread count"),
    ] {
        let refused = runner(folder.path()).arg("validate").args(option).assert();
        refused
            .code(2)
            .stderr(contains(told).and(contains("building").not()));
    }
}

#[test]
fn costs_of_another_host_are_refused_with_the_title_of_both() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |from: &str, to: &str| {
        fs::copy(common::root().join(from), folder.path().join(to)).unwrap();
    };
    copy("machines/zen4-64.toml", "here.toml");
    copy("workloads/charges.toml", "charges-here.toml");
    runner(folder.path())
        .args(["validate", "--keep-prices", "--output"])
        .arg(folder.path())
        .assert()
        .code(2)
        .stderr(contains("--keep-prices").and(contains("this host is `")));
}
