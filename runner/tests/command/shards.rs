//! A sweep in shards, merged again; and what `merge` and `slurm` refuse.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use runner::trials_file::{self, Text};
use serde_json::Value;
use tempfile::TempDir;

use crate::common;

/// 1 workload × (2 thread counts × (master, twin) + sequential) × 4 trials.
const PLANNED: usize = 20;

const ASKED: [&str; 7] =
    ["--preset", "smoke", "--branches", "master", "--workloads", "quicksort", "--trials=4"];

fn run(folder: &TempDir, arguments: &[&str]) -> Assert {
    common::runner(folder.path()).args(arguments).assert()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Measures a shard in a folder of its own.
fn shard(folder: &TempDir, shard: &str, more: &[&str]) -> PathBuf {
    let own = folder.path().join(shard.replace('/', "-of-") + &more.concat());
    let output = shown(&own);
    run(folder, &[&["sweep", "--shard", shard, "--output", &output], &ASKED[..], more].concat())
        .success();
    own
}

fn trials(sweep: &Path) -> Vec<Value> {
    let text = io::read_to_string(Text::open(&trials_file::of(sweep)).unwrap()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn merged_shards_are_the_whole_plan_and_can_be_shown() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (shard(&folder, "1/2", &[]), shard(&folder, "2/2", &[]));
    let output = shown(&folder.path().join("merged"));
    let merged =
        run(&folder, &["merge", &shown(&two), &shown(&one), "--output", &output]).success();
    let stdout = String::from_utf8(merged.get_output().stdout.clone()).unwrap();
    let sweep = PathBuf::from(stdout.trim());

    let records = trials(&sweep);
    let identities: BTreeSet<&str> =
        records.iter().map(|record| record["trial"].as_str().unwrap()).collect();
    assert_eq!((records.len(), identities.len()), (PLANNED, PLANNED));
    let blocks: Vec<u64> = records.iter().map(|record| record["block"].as_u64().unwrap()).collect();
    assert!(blocks.is_sorted(), "{blocks:?}");
    for number in [1, 2] {
        let own = sweep.join(format!("shards/{number}-of-2"));
        assert!(own.join("host.json").is_file() && own.join("manifest.json").is_file());
    }
    run(&folder, &["show", &shown(&sweep)])
        .success()
        .stdout(contains("master-again is master once more"))
        .stderr(contains("trials;").not());
    run(&folder, &["analysis", "compare", &shown(&sweep)]).success();

    // The same shard twice, a whole sweep among them, and one that is missing.
    run(&folder, &["merge", &shown(&one), &shown(&one), "--output", &output])
        .code(2)
        .stderr(contains("shard 1/2 is there twice"));
    run(&folder, &["merge", &shown(&sweep), "--output", &output])
        .code(2)
        .stderr(contains("is no shard but a whole sweep"));
    run(&folder, &["merge", &shown(&one), "--output", &shown(&folder.path().join("half"))])
        .success()
        .stderr(contains("of 2 shards these are missing: 2"));
    let other = shard(&folder, "2/2", &["--seed=5"]);
    run(&folder, &["merge", &shown(&one), &shown(&other), "--output", &output])
        .code(2)
        .stderr(contains("parts of different plans: `seed` is 1 and 5"));
}

#[test]
fn a_shard_that_is_none_is_bad_input() {
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["plan", "--shard", "3/2"]).code(2).stderr(contains("for example 1/4 to 4/4"));
}

#[test]
fn the_plan_of_a_shard_has_its_share_of_the_blocks() {
    let folder = tempfile::tempdir().unwrap();
    // 12 blocks in all: 4 each of one thread, two threads, and the sequential program.
    run(&folder, &[&["plan", "--shard", "1/3"], &ASKED[..]].concat())
        .success()
        .stdout(contains("4 blocks"));
}

/// Writes a job and returns its text; what lies in the checkout is removed when it is dropped.
struct Job(PathBuf);

impl Job {
    fn write(folder: &TempDir, name: &str, more: &[&str]) -> Self {
        let own = common::root().join("results/shards").join(name);
        let _ = fs::remove_dir_all(&own);
        run(folder, &[&["slurm", "--name", name, "--shards", "2"], more].concat())
            .success()
            .stdout(contains(format!("sbatch results/shards/{name}/job.sh")))
            .stdout(contains(format!("cargo runner merge results/shards/{name}")));
        Self(own)
    }

    fn script(&self) -> PathBuf {
        self.0.join("job.sh")
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_job_array_has_a_task_for_each_shard_and_is_valid_shell() {
    let folder = tempfile::tempdir().unwrap();
    let options = ["--cpus-per-task", "3", "--sbatch=--partition=long", "--"];
    let job = Job::write(&folder, "test-script", &[&options[..], &ASKED[..]].concat());
    let text = fs::read_to_string(job.script()).unwrap();
    for line in [
        "#SBATCH --array=1-2",
        "#SBATCH --exclusive",
        "#SBATCH --cpus-per-task=3",
        "#SBATCH --partition=long",
        "--trials=4 --shard \"$shard/2\"",
    ] {
        assert!(text.contains(line), "{line} is not in:\n{text}");
    }
    Command::new("bash").arg("-n").arg(job.script()).assert().success();
}

#[test]
fn sbatch_accepts_the_job_array() {
    let can_submit = Command::new("sinfo").arg("--noheader").output();
    if !can_submit.is_ok_and(|output| output.status.success() && !output.stdout.is_empty()) {
        eprintln!("SKIPPED: no Slurm answers here");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let job = Job::write(&folder, "test-sbatch", &["--cpus-per-task", "1", "--", "--trials=4"]);
    Command::new("sbatch").arg("--test-only").arg(job.script()).assert().success();
}

#[test]
fn what_a_task_would_refuse_is_told_when_the_job_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |more: &[&str], message: &str| {
        run(&folder, &[&["slurm", "--name", "test-refused"], more].concat())
            .code(2)
            .stderr(contains(message));
        assert!(!common::root().join("results/shards/test-refused").exists());
    };
    refused(&["--shards", "2", "--", "--workloads", "quicksrt"], "did you mean `quicksort`?");
    refused(&["--shards", "2", "--", "--size-of", "tiny"], "after `--`: ");
    refused(&["--shards", "2", "--", "--resume"], "after `--`: ");
    refused(&["--shards", "4000", "--", "--trials=4"], "ask for fewer shards");
    refused(&["--shards", "2", "--sbatch=partition"], "is no option of sbatch");
}
