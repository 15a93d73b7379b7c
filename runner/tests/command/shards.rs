//! Tests a sweep in shards that are merged again, and the refusals of `merge`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use tempfile::TempDir;

use crate::common::{self, records, run};

/// 1 workload × (2 thread counts × (master, A/A control) + sequential) × 4 trials.
const PLANNED: usize = 20;

const ASKED: [&str; 7] = [
    "--preset",
    "smoke",
    "--branches",
    "master",
    "--workloads",
    "quicksort",
    "--trials=4",
];

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Measures a shard in a folder of its own.
fn shard(folder: &TempDir, shard: &str) -> PathBuf {
    let own = folder.path().join(shard.replace('/', "-of-"));
    let output = shown(&own);
    run(
        folder,
        &[
            &["sweep", "--shard", shard, "--output", &output],
            &ASKED[..],
        ]
        .concat(),
    )
    .success();
    own
}

#[test]
fn merged_shards_are_the_whole_plan_and_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (shard(&folder, "1/2"), shard(&folder, "2/2"));
    let output = shown(&folder.path().join("merged"));
    let merged = run(
        &folder,
        &["merge", &shown(&two), &shown(&one), "--output", &output],
    )
    .success();
    let stdout = String::from_utf8(merged.get_output().stdout.clone()).unwrap();
    let sweep = PathBuf::from(stdout.trim());

    let records = records(&sweep);
    let identities: BTreeSet<&str> = records
        .iter()
        .map(|record| record["trial"].as_str().unwrap())
        .collect();
    assert_eq!((records.len(), identities.len()), (PLANNED, PLANNED));
    let blocks: Vec<u64> = records
        .iter()
        .map(|record| record["block"].as_u64().unwrap())
        .collect();
    assert!(blocks.is_sorted(), "{blocks:?}");
    for number in [1, 2] {
        let own = sweep.join(format!("shards/{number}-of-2"));
        assert!(own.join("host.json").is_file() && own.join("manifest.json").is_file());
    }
    run(&folder, &["show", &shown(&sweep)])
        .success()
        .stdout(contains("master-again is the A/A control"))
        .stderr(contains("trials;").not());

    // The same shard twice, a whole sweep among shards, and a missing shard.
    run(
        &folder,
        &["merge", &shown(&one), &shown(&one), "--output", &output],
    )
    .code(2)
    .stderr(contains("shard 1/2 is there twice"));
    run(&folder, &["merge", &shown(&sweep), "--output", &output])
        .code(2)
        .stderr(contains("is a whole sweep; only shards"));
    run(
        &folder,
        &[
            "merge",
            &shown(&one),
            "--output",
            &shown(&folder.path().join("half")),
        ],
    )
    .success()
    .stderr(contains("of 2 shards these are missing: 2"));
    // A record of another configuration under the name of a planned trial, which `show` refuses.
    let foreign = folder.path().join("foreign");
    common::copy(&common::only(&two), &foreign);
    let text = common::text(&foreign).replace("\"elements\":\"4000\"", "\"elements\":\"4001\"");
    fs::write(foreign.join("trials.jsonl"), text).unwrap();
    let _ = fs::remove_file(foreign.join("trials.jsonl.zst"));
    let refused = folder.path().join("refused");
    run(
        &folder,
        &[
            "merge",
            &shown(&one),
            &shown(&foreign),
            "--output",
            &shown(&refused),
        ],
    )
    .code(2)
    .stderr(contains("foreign/trials.jsonl: trial "))
    .stderr(contains("is not part of the plan in manifest.json"));
    assert!(!refused.exists());
    // As if it had been begun with another seed.
    let other = folder.path().join("other");
    common::copy(&common::only(&two), &other);
    let manifest = other.join("manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replace("\"seed\": 1,", "\"seed\": 5,")).unwrap();
    run(
        &folder,
        &["merge", &shown(&one), &shown(&other), "--output", &output],
    )
    .code(2)
    .stderr(contains("are parts of different plans"));
}

#[test]
fn the_plan_of_a_shard_has_its_share_of_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    // 12 blocks in all: 4 each of one thread, two threads, and the sequential program.
    run(&folder, &[&["plan", "--shard", "1/3"], &ASKED[..]].concat())
        .success()
        .stdout(contains("4 blocks"));
}
