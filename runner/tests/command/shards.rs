use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::common::{self, line, records};

/// 1 workload × (2 thread counts × (master, A/A control) + sequential) × 4 trials.
const PLANNED: usize = 20;

const ASKED: &str = "--preset smoke --branches master --workloads quicksort --trials 4";

#[test]
fn merged_shards_are_the_whole_plan_and_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for part in ["1", "2"] {
        let output = at.join(part);
        let words = format!(
            "sweep --shard {part}/2 {ASKED} --output {}",
            output.display()
        );
        line(at, &words).success();
    }
    let merge = |parts: &str, output: &str| {
        let shown = |part: &str| at.join(part).display().to_string();
        let parts: Vec<String> = parts.split(' ').map(shown).collect();
        let words = format!("merge {} --output {}", parts.join(" "), shown(output));
        line(at, &words)
    };
    let merged = merge("2 1", "merged").success();
    let stdout = String::from_utf8(merged.get_output().stdout.clone()).unwrap();
    let sweep = PathBuf::from(stdout.trim());

    let records = records(&sweep);
    let identities: BTreeSet<&str> = records
        .iter()
        .map(|record| record["trial"].as_str().unwrap())
        .collect();
    assert_eq!((records.len(), identities.len()), (PLANNED, PLANNED));
    assert!(records.is_sorted_by_key(|record| record["block"].as_u64()));
    for number in [1, 2] {
        let own = sweep.join(format!("shards/{number}-of-2"));
        assert!(own.join("host.json").is_file() && own.join("manifest.json").is_file());
    }
    line(at, &format!("show {}", sweep.display()))
        .success()
        .stdout(contains("master-again "))
        .stderr(contains("trials;").not());

    let two = common::only(&at.join("2"));
    let foreign = at.join("foreign");
    common::copy(&two, &foreign);
    let text = common::text(&foreign).replace("\"elements\":\"4000\"", "\"elements\":\"4001\"");
    fs::write(foreign.join("trials.jsonl"), text).unwrap();
    let _ = fs::remove_file(foreign.join("trials.jsonl.zst"));
    let other = at.join("other");
    common::copy(&two, &other);
    let manifest = other.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"seed\": 1,", "\"seed\": 5,")).unwrap();
    for (parts, told) in [
        ("1 1", "shard 1/2 is there twice"),
        ("merged", "is a whole sweep; only shards"),
        ("1 foreign", "is not part of the plan in manifest.json"),
        ("1 other", "are parts of different plans"),
    ] {
        merge(parts, "merged").code(2).stderr(contains(told));
    }
    assert_eq!(common::only(&at.join("merged")), sweep);
    // A merged sweep is named after the second in which it was made.
    merge("1", "incomplete")
        .success()
        .stderr(contains("of 2 shards these are missing: 2"));
}

#[test]
fn the_plan_of_a_shard_has_its_share_of_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    // The plan has 12 blocks: 4 blocks each of one thread, of two threads, and of the sequential
    // program.
    line(folder.path(), &format!("plan --shard 1/3 {ASKED}"))
        .success()
        .stdout(contains("4 blocks"));
}
