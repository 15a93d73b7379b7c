//! Tests the refusals of `validate` and of the machine `here`. `on_this_host.rs` tests a whole
//! validation.

use std::fs;
use std::path::Path;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::common;

fn line(folder: &Path, words: &str) -> Assert {
    let mut command = common::runner(folder);
    command.env(runner::plan::machines::HERE_FOLDER, folder);
    command.args(words.split(' ')).assert()
}

#[test]
fn what_validate_cannot_do_is_refused_before_the_host_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    for (words, told) in [
        (
            "plan --machine here --branches packed --workloads quicksort",
            "`cargo runner calibrate`",
        ),
        ("validate --keep-prices", "`cargo runner calibrate`"),
        ("validate --machine zen4-64", "leave it out"),
        ("validate --experiment study", "leave it out"),
        ("validate --shard 1/2", "leave it out"),
        (
            "validate --keep-prices --box",
            "--box: `validate` runs the experiment",
        ),
        ("validate --trials 1000000000", "more than the limit of"),
        ("validate --threads -1", "not a thread count"),
    ] {
        line(folder.path(), words)
            .code(2)
            .stderr(contains(told).and(contains("building").not()));
    }
}

#[test]
fn costs_of_another_host_are_refused_with_the_title_of_both() {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [
        ("machines/zen4-64.toml", "here.toml"),
        ("workloads/charges.toml", "charges-here.toml"),
    ] {
        fs::copy(common::root().join(from), folder.path().join(to)).unwrap();
    }
    let output = folder.path().display();
    line(
        folder.path(),
        &format!("validate --keep-prices --output {output}"),
    )
    .code(2)
    .stderr(contains("--keep-prices").and(contains("this host is `")));
}
