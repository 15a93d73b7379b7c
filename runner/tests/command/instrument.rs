use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

use crate::common::{self, records, text};

/// (1 thread count × (master, its A/A control, packed) + 1 sequential) × 2 trials.
const TIMED: usize = 8;
/// 1 thread count × 2 trials of the instrumented build.
const COUNTED: usize = 2;

static SWEPT: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let mut sweep = common::smoke(folder.path(), "packed");
    sweep.args(["--threads", "2", "--instrument", "--format", "csv"]);
    let swept = sweep.assert().success();
    let swept = swept.stderr(contains("2 trials of instrumented builds counted events"));
    let table = String::from_utf8(swept.get_output().stdout.clone()).unwrap();
    assert!(!table.contains("instrumented"), "{table}");
    folder
});

fn copy() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let from = common::only(&SWEPT.path().join("sweeps"));
    let to = folder.path().join("sweeps").join(from.file_name().unwrap());
    common::copy(&from, &to);
    (folder, to)
}

fn resume(folder: &TempDir) -> Assert {
    let mut command = common::runner(folder.path());
    command.args(["sweep", "--resume", "latest", "--output"]);
    command.arg(folder.path().join("sweeps")).assert()
}

#[test]
fn counted_trials_have_counts_that_agree_and_no_times() {
    let (_folder, sweep) = copy();
    let records = records(&sweep);
    assert_eq!(records.len(), TIMED + COUNTED);
    let (timed, counted) = records.split_at(TIMED);
    assert!(timed.iter().all(|record| record.get("events").is_none()));
    for record in counted {
        assert_eq!(record["branch"], "packed-instrumented");
        assert_eq!(record["outcome"], "ok");
        assert_eq!(record["iterations"], Value::Array(Vec::new()));
        let workers = record["events"]["workers"].as_array().unwrap();
        assert_eq!(workers.len(), 2);
        let sum = |count: &str| -> u64 {
            let own = workers.iter().map(|it| it[count].as_u64().unwrap_or(0));
            own.sum()
        };
        // Each stolen job needed an attempt to steal, and was executed
        // (rayon-fork/src/instrument/README.md).
        assert!(sum("steals_won") <= sum("steals_tried").min(sum("jobs_executed")));
        assert!(sum("jobs_executed") > 0, "{record}");
        assert!(
            sum("pushes") > 0 && sum("packed_word_loads") > 0,
            "{record}"
        );
    }
}

#[test]
fn a_sweep_stopped_while_counting_continues_with_the_missing_counts_of_the_same_builds() {
    let (folder, sweep) = copy();
    let whole = text(&sweep);
    let kept: Vec<&str> = whole.lines().take(TIMED + 1).collect();
    fs::write(sweep.join("trials.jsonl"), kept.join("\n") + "\n").unwrap();
    let path = sweep.join("manifest.json");
    let manifest = fs::read_to_string(&path).unwrap();
    let parsed: Value = serde_json::from_str(&manifest).unwrap();
    let receipt = &parsed["instrumented"][0]["receipt"];
    assert_eq!(receipt["features"], serde_json::json!(["instrument"]));
    assert_eq!(receipt["variant"], "packed");
    let digest = receipt["binary_sha256"].as_str().unwrap();
    fs::write(&path, manifest.replace(digest, &"0".repeat(64))).unwrap();
    resume(&folder)
        .code(2)
        .stderr(contains("branch `packed-instrumented` is another binary"))
        .stderr(contains("branch `packed` is").not());

    fs::write(&path, manifest).unwrap();
    resume(&folder).success().stdout(contains("\n1 trial in"));
    let names = |text: &str| -> Vec<Value> {
        let trial = |line| serde_json::from_str::<Value>(line).unwrap()["trial"].take();
        text.lines().map(trial).collect()
    };
    assert_eq!(names(&text(&sweep)), names(&whole));
}

#[test]
fn a_timed_binary_has_nothing_of_counts_in_it() {
    let manifest = common::only(&SWEPT.path().join("sweeps")).join("manifest.json");
    let manifest: Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| common::root().join("target"), PathBuf::from);
    let has = |build: &Value, word: &str| {
        let digest = &build["receipt"]["binary_sha256"].as_str().unwrap()[..32];
        let bytes = fs::read(target.join("branches/binaries").join(digest)).unwrap();
        let mut windows = bytes.windows(word.len());
        windows.any(|window| window == word.as_bytes())
    };
    let timed = manifest["branches"].as_array().unwrap();
    for word in ["steals_tried", "packed_word_cas_failures"] {
        let is_there = has(&manifest["instrumented"][0], word);
        assert!(is_there, "{word} is not what to look for");
        assert!(timed.iter().all(|build| !has(build, word)));
    }
}
