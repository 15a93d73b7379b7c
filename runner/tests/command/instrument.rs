//! Real instrumented builds, end to end: counted, and gone on with.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{self, records, text};

/// 1 thread count × (master, its twin, packed) + 1 sequential, 2 trials each.
const TIMED: usize = 8;
/// 1 thread count, 2 trials.
const COUNTED: usize = 2;

/// One sweep of `packed` with counts, which all tests start from.
static SWEPT: LazyLock<(TempDir, String)> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let output = common::runner(folder.path())
        .args([
            "sweep",
            "--preset",
            "smoke",
            "--branches",
            "packed",
            "--workloads",
            "fib-join",
        ])
        .args([
            "--threads",
            "2",
            "--instrument",
            "--format",
            "csv",
            "--output",
        ])
        .arg(folder.path().join("sweeps"))
        .assert()
        .success()
        .get_output()
        .clone();
    (folder, String::from_utf8(output.stdout).unwrap())
});

/// A copy of that sweep, to be damaged.
fn copy() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let from = fs::read_dir(SWEPT.0.path().join("sweeps"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let to = folder.path().join("sweeps").join(from.file_name());
    fs::create_dir_all(&to).unwrap();
    for file in fs::read_dir(from.path()).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
    (folder, to)
}

fn resume(folder: &TempDir) -> Assert {
    let sweeps = folder.path().join("sweeps");
    let mut command = common::runner(folder.path());
    command
        .args(["sweep", "--resume", "latest", "--output"])
        .arg(sweeps)
        .assert()
}

#[test]
fn counted_trials_hold_what_the_program_is_known_to_do() {
    let (_folder, sweep) = copy();
    let records = records(&sweep);
    assert_eq!(records.len(), TIMED + COUNTED);
    let (timed, counted) = records.split_at(TIMED);
    assert!(timed.iter().all(|record| record.get("events").is_none()));
    for record in counted {
        assert_eq!(
            (&record["branch"], &record["outcome"]),
            (&"packed-instrumented".into(), &"ok".into())
        );
        assert_eq!(record["iterations"], Value::Array(Vec::new()));
        let events = &record["events"];
        let workers = events["workers"].as_array().unwrap();
        assert_eq!(workers.len(), 2);
        let pushes: u64 = workers
            .iter()
            .map(|worker| worker["pushes"].as_u64().unwrap())
            .sum();
        // A tree of n calls has (n - 1) / 2 inner ones; each is a join, and a join pushes one job.
        let (calls, iterations) = (
            events["work_units"].as_u64().unwrap(),
            events["iterations"].as_u64().unwrap(),
        );
        assert_eq!(pushes, (calls - iterations) / 2);
        assert!(
            workers
                .iter()
                .any(|worker| worker["packed_word_loads"].as_u64() > Some(0))
        );
    }
}

#[test]
fn the_table_of_a_sweep_with_counts_is_that_of_its_timed_trials() {
    assert!(!SWEPT.1.contains("instrumented"), "{}", SWEPT.1);
    let (folder, sweep) = copy();
    let show = || {
        let mut command = common::runner(folder.path());
        command
            .args(["show", "--format", "csv"])
            .arg(&sweep)
            .assert()
            .success()
    };
    let with_counts = show().stderr(contains("2 trials of instrumented builds were counted"));
    assert_eq!(with_counts.get_output().stdout, SWEPT.1.as_bytes());
    let trials = sweep.join("trials.jsonl");
    let text = text(&sweep);
    let timed: Vec<&str> = text.lines().take(TIMED).collect();
    fs::write(&trials, timed.join("\n") + "\n").unwrap();
    assert_eq!(show().get_output().stdout, SWEPT.1.as_bytes());
}

#[test]
fn a_sweep_stopped_while_counting_goes_on_with_the_counts_that_are_missing() {
    let (folder, sweep) = copy();
    let trials = sweep.join("trials.jsonl");
    let whole = text(&sweep);
    let kept: Vec<&str> = whole.lines().take(TIMED + 1).collect();
    fs::write(&trials, kept.join("\n") + "\n").unwrap();
    resume(&folder).success().stdout(contains("\n1 trial in"));
    let names = |text: &str| -> Vec<Value> {
        let trial = |line| serde_json::from_str::<Value>(line).unwrap()["trial"].take();
        text.lines().map(trial).collect()
    };
    assert_eq!(names(&text(&sweep)), names(&whole));
}

#[test]
fn a_changed_instrumented_build_is_not_gone_on_with() {
    let (folder, sweep) = copy();
    fs::write(sweep.join("trials.jsonl"), "").unwrap();
    let path = sweep.join("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let receipt = &manifest["instrumented"][0]["receipt"];
    assert_eq!(receipt["features"], serde_json::json!(["instrument"]));
    assert_eq!(receipt["variant"], "packed");
    let digest = receipt["binary_sha256"].as_str().unwrap();
    fs::write(&path, text.replace(digest, &"0".repeat(64))).unwrap();
    resume(&folder)
        .code(2)
        .stderr(contains("branch `packed-instrumented` is another binary"))
        .stderr(contains("branch `packed` is").not());
}

#[test]
fn a_timed_binary_has_nothing_of_counts_in_it() {
    let (_folder, sweep) = copy();
    let manifest: Value =
        serde_json::from_str(&fs::read_to_string(sweep.join("manifest.json")).unwrap()).unwrap();
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| common::root().join("target"), PathBuf::from);
    let has = |build: &Value, word: &str| {
        let digest = &build["receipt"]["binary_sha256"].as_str().unwrap()[..32];
        let bytes = fs::read(target.join("branches/binaries").join(digest)).unwrap();
        bytes
            .windows(word.len())
            .any(|window| window == word.as_bytes())
    };
    for word in ["steals_tried", "packed_word_cas_failures"] {
        assert!(
            has(&manifest["instrumented"][0], word),
            "{word} is not what to look for"
        );
        assert!(
            manifest["branches"]
                .as_array()
                .unwrap()
                .iter()
                .all(|build| !has(build, word))
        );
    }
}
