use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use assert_cmd::assert::Assert;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::common;

const SMALL: &str = "--branches master --workloads quicksort --trials 1";

#[test]
fn what_a_box_cannot_do_is_refused_in_the_words_that_were_typed() {
    let folder = tempfile::tempdir().unwrap();
    for (words, told) in [
        (
            "--box --threads cores",
            "--threads cores: a box takes no cores, because its machines may differ in them; write numbers",
        ),
        ("--machine box", "--machine box: no such machine"),
        (
            "--box --machine zen3-64",
            "--machine zen3-64: no such machine",
        ),
        (
            "--box --machine zen2-8 --threads 9",
            "(the largest, `zen2-8`, has 8); request fewer",
        ),
    ] {
        common::line(folder.path(), &format!("plan {words}"))
            .code(2)
            .stderr(contains(told));
    }
}

#[test]
fn a_box_on_a_machine_is_planned_with_the_experiment_of_that_machine() {
    let folder = tempfile::tempdir().unwrap();
    let words = "plan --box=4 --machine zen2-64 --experiment published-threadteam --branches master --trials 1";
    common::line(folder.path(), words).success().stdout(
        contains("box: 4 points of machines/box.toml, on zen2-64").and(contains(" 176 trials")),
    );
}

#[test]
fn a_plan_shows_each_workload_once_and_says_which_topologies_are_too_small() {
    let folder = tempfile::tempdir().unwrap();
    let words = format!("plan --box=4 --threads 16 {SMALL}");
    common::line(folder.path(), &words)
        .success()
        .stdout(
            contains("box: 4 points")
                .and(contains(" 8 trials"))
                .and(contains("box=").not()),
        )
        .stderr(contains(
            "topologies with fewer CPUs than 16 threads are left out: 1x8",
        ));
}

fn sweep(folder: &Path, name: &str, more: &str) -> (Assert, PathBuf) {
    let own = folder.join(name);
    let words = format!("sweep --box=4 {SMALL} {more} --output {}", own.display());
    (common::line(folder, &words), own)
}

#[test]
fn shards_of_a_box_are_merged_and_shown_as_signs() {
    let folder = tempfile::tempdir().unwrap();
    let own: Vec<PathBuf> = ["1/2", "2/2"]
        .iter()
        .map(|shard| {
            // This test uses few threads, because simulating each thread takes time.
            let words = format!("--threads 4 --shard {shard}");
            let (swept, own) = sweep(folder.path(), &shard.replace('/', "-"), &words);
            swept.success();
            own
        })
        .collect();
    let merged = folder.path().join("merged");
    let [one, two, merged] = [&own[0], &own[1], &merged].map(|it| it.display());
    let words = format!("merge {one} {two} --output {merged}");
    let merged = common::line(folder.path(), &words).success();
    let merged = String::from_utf8(merged.get_output().stdout.clone()).unwrap();
    let merged = PathBuf::from(merged.trim());
    let records = common::records(&merged);
    assert_eq!(records.len(), 8);
    let times: BTreeSet<String> = records
        .iter()
        .filter(|it| it["branch"] == "master")
        .map(|it| it["iterations"][0]["elapsed_ns"].to_string())
        .collect();
    assert_eq!(times.len(), 4, "each machine has its own time");
    let manifest = fs::read_to_string(merged.join("manifest.json")).unwrap();
    assert_eq!(manifest.matches("\"topology\"").count(), 4);

    // A stopped sweep continues while another simulated sweep runs.
    let stopped = common::only(&own[0]);
    let text = common::text(&stopped);
    let kept: Vec<&str> = text.lines().skip(1).collect();
    fs::remove_file(stopped.join("trials.jsonl.zst")).unwrap();
    fs::write(stopped.join("trials.jsonl"), kept.join("\n") + "\n").unwrap();
    let lock = fs::File::open(folder.path().join("host.lock")).unwrap();
    lock.lock_shared().unwrap();
    let words = format!("sweep --resume {}", stopped.display());
    common::line(folder.path(), &words).success();
    drop(lock);
    assert_eq!(common::records(&stopped).len(), 4);

    // A trial that does not end gets a record, and the last lines report the failure. The kernel
    // limits CPU time in whole seconds, so the work takes several seconds.
    let long = "--parameter quicksort.elements=40000000 --timeout 1";
    let (swept, own) = sweep(folder.path(), "long", &format!("--threads 16 {long}"));
    swept.code(1).stdout(contains("8 of 8 failed"));
    assert_eq!(common::records(&common::only(&own)).len(), 8);
}
