//! Tests sweeps on simulated machines: refusals, and that one plan gives the same records each
//! time.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

use crate::common;

fn plan(more: &[&str]) -> Assert {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &'static str, default: &'static str| {
        if more.contains(&name) {
            vec![]
        } else {
            vec![name, default]
        }
    };
    let defaults = [
        of("--machine", "zen4-64"),
        of("--branches", "packed"),
        of("--workloads", "quicksort"),
        of("--threads", "8"),
    ];
    common::runner(folder.path())
        .arg("plan")
        .args(defaults.concat())
        .args(more)
        .assert()
}

#[test]
fn what_a_machine_cannot_do_is_refused_in_the_words_that_were_typed() {
    for (option, value, told) in [
        ("--machine", "zen4-46", "no such machine; known: "),
        (
            "--workloads",
            "pcap-verify",
            "pcap-verify cannot run on simulated machines",
        ),
        ("--placement", "pinned", "pinned"),
        ("--prices", "fences-ns", "did you mean `fence-ns`?"),
        ("--frequency-backend", "sysfs", "leave it out"),
        ("--frequency-journal", "it", "leave it out"),
    ] {
        plan(&[option, value])
            .code(2)
            .stderr(contains(option).and(contains(told)));
    }
    let uncontrolled = plan(&["--allow-uncontrolled"]).code(2);
    uncontrolled.stderr(contains("--allow-uncontrolled: ").and(contains("leave it out")));
    let folder = tempfile::tempdir().unwrap();
    for (words, told) in [
        (&["plan", "--experiment", "sensitivity"][..], "--prices all"),
        (
            &["sweep", "--branches", "packed", "--jobs", "2"],
            "--jobs 2",
        ),
    ] {
        let mut command = common::runner(folder.path());
        let refused = command.args(words).assert().code(2);
        refused.stderr(contains(told).and(contains("--machine")));
    }
}

#[test]
fn a_plan_takes_frequency_cpus_and_costs_from_the_machine() {
    let smt = "ice-lake-2x32-smt";
    for (words, told) in [
        // The mode does not depend on what this host can hold.
        (&["--mode", "fixed"][..], &["frequency   fixed\n"][..]),
        (
            &["--machine", smt, "--threads", "cores,cpus"],
            &["threads     64 128"],
        ),
        // The cost parameters are those of the machine on which it is based.
        (
            &["--machine", smt, "--prices", "wake-ns"],
            &["price=wake-ns*0.5"],
        ),
        // The threads share its cores.
        (&["--threads", "65"], &["threads     65"]),
        (
            &["--prices", "transfer-*,work"],
            &[
                "price=as-written",
                "price=transfer-far-ns*0.5",
                "price=work*2",
            ],
        ),
    ] {
        for text in told {
            plan(words).success().stdout(contains(*text));
        }
    }
    plan(&["--workloads", "all"])
        .success()
        .stderr(contains("simulated machines: pcap-verify"));
}

fn checkout_with(machine: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
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
    folder
}

#[test]
fn a_machine_with_a_cost_missing_or_a_device_in_its_place_is_refused_and_named() {
    let folder = checkout_with("machines/zen4-64.toml");
    let path = folder.path().join("machines/zen4-64.toml");
    let root = folder.path().display().to_string();
    let refusal = |what| {
        let refused = plan(&["--root", &root]).code(2);
        refused.stderr(contains("error: machines/zen4-64.toml").and(contains(what)));
    };
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("fence-ns", "fences-ns")).unwrap();
    refusal("fences-ns");
    // Opening a pipe would wait for its other end, also in a failing test.
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/null", &path).unwrap();
    refusal("not a regular file");
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
    // Cargo requires a build script if there is `links`.
    fs::write(tree.join("build.rs"), "fn main() {}").unwrap();
    fs::write(tree.join("src/lib.rs"), source).unwrap();
    folder
}

#[test]
fn a_tree_that_cannot_run_there_is_refused_with_its_crate_or_its_line_and_the_remedy() {
    let reads = "\npub fn f() {\n    drop(std::fs::read(\"file\"));\n}\n";
    for (dependencies, source, code, parts) in [
        (
            "libc = \"0.2\"",
            "",
            2,
            ["depends on libc", "cfg(not(manycore))"],
        ),
        (
            "",
            "\nuse std as library;\n",
            2,
            ["src/lib.rs:2: ", "begin with `std::`"],
        ),
        (
            "",
            reads,
            3,
            ["my-rayon-core/src/lib.rs:3:", "no files, sockets"],
        ),
    ] {
        let tree = tree(dependencies, source);
        let tree = tree.path().join("my-rayon-core");
        let branches = format!("mine=path:{},same=published:1.13.0", tree.display());
        let folder = tempfile::tempdir().unwrap();
        let words =
            "sweep --machine zen4-64 --workloads quicksort --size tiny --threads 1 --trials 1";
        let mut command = common::runner(folder.path());
        command
            .args(words.split(' '))
            .args(["--branches", &branches]);
        let refused = command
            .arg("--output")
            .arg(folder.path())
            .assert()
            .code(code);
        refused.stderr(contains(parts[0]).and(contains(parts[1])));
    }
}

#[test]
fn machines_are_listed_with_their_cores() {
    let folder = tempfile::tempdir().unwrap();
    let list = |format: &str| {
        common::runner(folder.path())
            .args(["list", "machines", "--format", format])
            .assert()
            .success()
    };
    let smt = "64 cores with two hardware threads each, 2 sockets\n";
    let plain = contains("zen4-64\n").and(contains("64 cores, 1 socket\n"));
    list("table").stdout(plain.and(contains(smt)));
    list("json").stdout(contains("\"cores\": 1024").and(contains("\"cpus\": 128")));
}

/// The records of a sweep of the published crate and of the fork in the order of their blocks.
/// Fields that depend on the time of the run are left out.
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
    // Master, its A/A control, packed and the sequential program, twice each.
    assert_eq!(one.len(), 8);
    // Branches share the seeds of their replicates; the A/A control has its own.
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
            assert!(
                at.iter().any(|at| at.starts_with(line)),
                "{branch}, {line}: {at:?}"
            );
        }
    }
    assert_eq!(one, records(folder.path(), "2"));
}
