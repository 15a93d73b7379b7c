use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

use crate::common;

fn plan(more: &str) -> Assert {
    let folder = tempfile::tempdir().unwrap();
    let defaults = [
        "--machine zen4-64",
        "--branches packed",
        "--workloads quicksort",
        "--threads 8",
    ];
    let is_own = |it: &&str| !more.contains(it.split(' ').next().unwrap_or_default());
    let defaults: Vec<&str> = defaults.into_iter().filter(is_own).collect();
    let words = format!("plan {} {more}", defaults.join(" "));
    common::line(folder.path(), &words)
}

#[test]
fn what_a_machine_cannot_do_is_refused_in_the_words_that_were_typed() {
    for (words, told) in [
        (
            "--machine zen4-46",
            "--machine zen4-46: no such machine; did you mean `zen4-64`? known: ",
        ),
        (
            "--workloads pcap-verify",
            "pcap-verify cannot run on simulated machines",
        ),
        ("--placement pinned", "--placement pinned"),
        ("--frequency-backend sysfs", "cannot be used with"),
    ] {
        plan(words).code(2).stderr(contains(told));
    }
}

#[test]
fn a_plan_takes_frequency_cpus_and_costs_from_the_machine() {
    for (words, told) in [
        // The mode of a simulated machine does not depend on the frequencies that this host can
        // hold.
        ("--mode fixed", "frequency   fixed\n"),
        (
            "--machine ice-lake-2x32-smt --threads cores,cpus",
            "threads     64 128",
        ),
        // More threads than cores share the machine's cores.
        ("--threads 65", "threads     65"),
    ] {
        plan(words).success().stdout(contains(told));
    }
    plan("--workloads all")
        .success()
        .stderr(contains("simulated machines: pcap-verify"));
}

#[test]
fn a_fault_in_the_files_of_a_checkout_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let machine = "machines/zen4-64.toml";
    for file in [
        "branches.toml",
        "experiments.toml",
        "workloads/charges.toml",
        "workloads/own-instructions.toml",
        machine,
    ] {
        let to = folder.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(common::root().join(file), to).unwrap();
    }
    let words = format!("--root {}", folder.path().display());
    let path = folder.path().join(machine);
    let text = fs::read_to_string(&path).unwrap();
    let is_kept = |line: &&str| !line.starts_with("fence-ns");
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    fs::write(&path, kept.join("\n")).unwrap();
    plan(&words)
        .code(2)
        .stderr(contains("error: machines/zen4-64.toml").and(contains("fence-ns")));
    // The test uses a device, because opening a pipe would wait for its other end, also in a
    // failing test.
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    plan(&words)
        .code(2)
        .stderr(contains(machine).and(contains("not a regular file")));
}

fn tree(dependencies: &str, source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("my-rayon-core");
    fs::create_dir_all(tree.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"rayon-core\"\nversion = \"1.13.0\"\nedition = \"2021\"\nlinks = \"rayon-core\"\n\
         [dependencies]\n{dependencies}\n"
    );
    fs::write(tree.join("Cargo.toml"), manifest).unwrap();
    // Cargo requires a build script if the manifest has `links`.
    fs::write(tree.join("build.rs"), "fn main() {}").unwrap();
    fs::write(tree.join("src/lib.rs"), source).unwrap();
    folder
}

fn compare(tree: &Path) -> Assert {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree.join("my-rayon-core");
    let [tree, output] = [&tree, folder.path()].map(Path::display);
    let words = format!(
        "compare published:1.13.0 path:{tree} --machine zen4-64 --workloads quicksort --size tiny --threads 1 --trials 1 \
         --output {output}"
    );
    common::line(folder.path(), &words)
}

#[test]
fn a_tree_that_asks_the_system_is_refused_with_the_crate_and_the_remedy() {
    let tree = tree("libc = \"0.2\"", "");
    compare(tree.path())
        .code(2)
        .stderr(contains("depends on libc").and(contains("cfg(not(manycore))")));
}

#[test]
fn a_tree_that_cannot_be_rewritten_is_refused_with_file_and_line() {
    let renamed = tree("", "\nuse std as library;\n");
    compare(renamed.path())
        .code(2)
        .stderr(contains("src/lib.rs:2: ").and(contains("begin with `std::`")));
}

#[test]
fn a_tree_that_does_not_compile_there_is_reported_with_its_own_file_and_line() {
    let files = tree(
        "",
        "\npub fn f() {\n    drop(std::fs::read(\"file\"));\n}\n",
    );
    compare(files.path())
        .code(3)
        .stderr(contains("my-rayon-core/src/lib.rs:3:").and(contains("no files, sockets")));
}

#[test]
fn machines_are_listed_with_their_cores() {
    let folder = tempfile::tempdir().unwrap();
    common::line(folder.path(), "list machines")
        .success()
        .stdout(contains("zen4-64\n").and(contains("64 cores, 1 socket\n")))
        .stdout(contains(
            "64 cores with two hardware threads each, 2 sockets\n",
        ));
}

/// Returns the records of a sweep of the published crate and of the fork, in the order of their
/// blocks. The records lack the fields that depend on the time of the run.
fn records(parent: &Path, jobs: &str) -> Vec<Value> {
    let mut sweep = common::smoke(&parent.join(jobs), "packed");
    sweep.args(["--machine", "zen4-64", "--threads", "8", "--jobs", jobs]);
    let swept = sweep.assert().success();
    swept.stdout(contains("waits:   cargo runner analysis table "));
    let sweep = common::only(&parent.join(jobs).join("sweeps"));
    let mut records = common::records(&sweep);
    for record in &mut records {
        for field in ["started_at", "process_ns"] {
            record.as_object_mut().unwrap().remove(field).unwrap();
        }
    }
    records.sort_by_key(|record| (record["block"].as_u64(), record["position"].as_u64()));
    records
}

#[test]
fn one_plan_gives_the_same_records_however_many_trials_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    for jobs in ["1", "2"] {
        fs::create_dir(folder.path().join(jobs)).unwrap();
    }
    let one = records(folder.path(), "1");
    assert_eq!(one.len(), 8);
    // Branches share the seeds of their replicates; the A/A control has its own seeds.
    let seeds: BTreeSet<_> = one
        .iter()
        .map(|it| it["simulated_seed"].as_u64().expect("a seed"))
        .collect();
    assert_eq!(seeds.len(), 4, "{seeds:?}");
    for (branch, lines) in [
        (
            "master",
            ["rayon-core-1.13.0/src/sleep/mod.rs:", "crossbeam-deque-"],
        ),
        (
            "packed",
            ["rayon-fork/src/sleep/counters/", "crossbeam-deque-"],
        ),
    ] {
        let waits = one.iter().filter(|it| it["branch"] == branch);
        let waits = waits.flat_map(|it| it["simulated"]["waits"].as_array().unwrap());
        let at: Vec<&str> = waits.map(|wait| wait["at"].as_str().unwrap()).collect();
        for line in lines {
            let is_told = |at: &&str| at.starts_with(line);
            assert!(at.iter().any(is_told), "{branch}, {line}: {at:?}");
        }
    }
    assert_eq!(one, records(folder.path(), "2"));
}
