//! Sweeps on simulated machines: what is refused, and that one plan gives the same records.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::{contains, is_match};
use serde_json::Value;

use crate::common;

/// A plan of one branch and one workload, but for what `more` says.
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
        of("--workloads", "fib-join"),
        of("--threads", "8"),
    ];
    common::runner(folder.path())
        .arg("plan")
        .args(defaults.concat())
        .args(more)
        .assert()
}

#[test]
fn a_misspelt_machine_is_refused_with_the_likely_name() {
    plan(&["--machine", "zen4-46"])
        .code(2)
        .stderr(contains("--machine zen4-46: no such machine").and(contains("`zen4-64`?")));
}

#[test]
fn the_fixed_frequency_of_a_machine_is_its_own_and_not_what_this_host_can_hold() {
    plan(&["--mode", "fixed"])
        .success()
        .stdout(is_match("frequency +fixed\n").unwrap());
}

/// A copy of the files of the checkout that a plan on the simulated machine of this file reads.
fn checkout_with(machine: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in [
        "branches.toml",
        "experiments.toml",
        "workloads/charges.toml",
        machine,
    ] {
        let to = folder.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(common::root().join(file), to).unwrap();
    }
    folder
}

#[test]
fn a_machine_with_a_price_missing_is_refused_with_file_and_key() {
    let folder = checkout_with("machines/zen4-64.toml");
    let path = folder.path().join("machines/zen4-64.toml");
    let text = fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("fence-ns"))
        .collect();
    fs::write(&path, kept.join("\n")).unwrap();
    let root = folder.path().display().to_string();
    plan(&["--root", &root])
        .code(2)
        .stderr(contains("machines/zen4-64.toml").and(contains("fence-ns")));
}

#[test]
fn a_machine_of_two_hardware_threads_a_core_has_twice_as_many_cpus_and_the_prices_of_the_one_it_is_like()
 {
    plan(&["--machine", "ice-lake-2x32-smt", "--threads", "cores,cpus"])
        .success()
        .stdout(contains("threads     64 128"));
    plan(&["--machine", "ice-lake-2x32-smt", "--prices", "wake-ns"])
        .success()
        .stdout(contains("price=wake-ns*0.5"));
}

#[test]
fn hardware_threads_that_no_machine_has_are_refused_with_file_line_key_and_remedy() {
    let other = "machines/ice-lake-2x32.toml";
    let folder = checkout_with(other);
    let written =
        fs::read_to_string(common::root().join("machines/ice-lake-2x32-smt.toml")).unwrap();
    let path = folder.path().join("machines/m.toml");
    fs::write(&path, written.replace("per-core = 2", "per-core = 3")).unwrap();
    let root = folder.path().display().to_string();
    let told = |text: &'static str| {
        plan(&["--root", &root, "--machine", "m"])
            .code(2)
            .stderr(contains(text));
    };
    told("error: machines/m.toml:5: per-core = 3: write 2, ");
    fs::write(&path, written).unwrap();
    let prices = fs::read_to_string(folder.path().join(other)).unwrap();
    fs::write(
        folder.path().join(other),
        prices.replace("hit-ns", "hits-ns"),
    )
    .unwrap();
    told("error: machines/ice-lake-2x32.toml:16: unknown key `hits-ns`; known: ");
}

#[test]
fn more_threads_than_the_machine_has_cores_share_them() {
    plan(&["--threads", "65"])
        .success()
        .stdout(contains("threads     65"));
}

#[test]
fn a_workload_that_charges_nothing_is_refused_by_name_and_left_out_of_a_group() {
    plan(&["--workloads", "pcap-verify"])
        .code(2)
        .stderr(contains("not for simulated machines: pcap-verify"));
    plan(&["--workloads", "all"])
        .success()
        .stderr(contains("without pcap-verify"));
}

/// A folder with a working tree of a rayon-core that has these dependencies and this source.
fn tree(dependencies: &str, source: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("my-rayon-core");
    fs::create_dir_all(tree.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"rayon-core\"\nversion = \"1.13.0\"\nedition = \"2021\"\nlinks = \"rayon-core\"\n\
         [dependencies]\n{dependencies}\n"
    );
    fs::write(tree.join("Cargo.toml"), manifest).unwrap();
    // Cargo wants one where `links` is.
    fs::write(tree.join("build.rs"), "fn main() {}").unwrap();
    fs::write(tree.join("src/lib.rs"), source).unwrap();
    folder
}

/// Runs a sweep of this working tree on a simulated machine.
fn sweep_of(tree: &Path) -> Assert {
    let folder = tempfile::tempdir().unwrap();
    let tree = tree.join("my-rayon-core");
    let branches = format!("mine=path:{},same=published:1.13.0", tree.display());
    common::runner(folder.path())
        .args([
            "sweep",
            "--machine",
            "zen4-64",
            "--workloads",
            "fib-join",
            "--size",
            "tiny",
        ])
        .args([
            "--threads",
            "1",
            "--trials",
            "1",
            "--branches",
            &branches,
            "--output",
        ])
        .arg(folder.path())
        .assert()
}

#[test]
fn a_tree_that_asks_the_system_is_refused_with_the_crate_and_the_remedy() {
    let tree = tree("libc = \"0.2\"", "");
    sweep_of(tree.path())
        .code(2)
        .stderr(contains("depends on libc").and(contains("cfg(not(manycore))")));
}

#[test]
fn a_tree_that_cannot_be_rewritten_is_refused_with_file_and_line() {
    let renamed = tree("", "\nuse std as library;\n");
    sweep_of(renamed.path())
        .code(2)
        .stderr(contains("src/lib.rs:2: ").and(contains("begin with `std::`")));
}

#[test]
fn a_tree_that_does_not_compile_there_is_told_with_its_own_file_and_line() {
    let files = tree(
        "",
        "\npub fn f() {\n    drop(std::fs::read(\"file\"));\n}\n",
    );
    sweep_of(files.path())
        .code(3)
        .stderr(contains("my-rayon-core/src/lib.rs:3:").and(contains("without files, sockets")));
}

#[test]
fn pinned_workers_are_refused() {
    plan(&["--placement", "pinned"])
        .code(2)
        .stderr(contains("pinned"));
}

#[test]
fn trials_side_by_side_are_refused_on_a_host() {
    let folder = tempfile::tempdir().unwrap();
    common::runner(folder.path())
        .args(["sweep", "--branches", "packed", "--jobs", "2"])
        .assert()
        .code(2)
        .stderr(contains("--jobs 2").and(contains("--machine")));
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
    list("table").stdout(contains("zen4-64\n").and(contains("64 cores, 1 socket\n")));
    list("table").stdout(contains(
        "64 cores with two hardware threads each, 2 sockets\n",
    ));
    list("json").stdout(contains("\"cores\": 1024").and(contains("\"cpus\": 128")));
}

#[test]
fn each_price_is_halved_and_doubled_and_a_misspelt_one_is_refused() {
    plan(&["--prices", "transfer-*,work"])
        .success()
        .stdout(contains("price=as-written").and(contains("price=transfer-far-ns*0.5")))
        .stdout(contains("price=work*2").and(contains("fence").not()));
    plan(&["--prices", "fences-ns"])
        .code(2)
        .stderr(contains("did you mean `fence-ns`?"));
    let folder = tempfile::tempdir().unwrap();
    common::runner(folder.path())
        .args(["plan", "--experiment", "sensitivity"])
        .assert()
        .code(2)
        .stderr(contains("--prices all").and(contains("--machine")));
}

/// The records of a sweep of the published crate and of two of the fork in the order of their
/// blocks, without what tells when they were made.
fn records(parent: &Path, jobs: &str) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let output = parent.join(jobs);
    common::runner(folder.path())
        .args([
            "sweep",
            "--machine",
            "zen4-64",
            "--branches",
            "packed,champion",
            "--workloads",
            "ticks,fib-join",
        ])
        .args([
            "--size",
            "tiny",
            "--threads",
            "1,8",
            "--trials",
            "2",
            "--jobs",
            jobs,
            "--output",
        ])
        .arg(&output)
        .assert()
        .success()
        .stdout(contains("waits:   cargo runner analysis table "));
    let sweep = fs::read_dir(&output)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
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
fn threads_beside_a_pool_as_wide_as_the_machine_share_its_cores() {
    let folder = tempfile::tempdir().unwrap();
    common::runner(folder.path())
        .args([
            "sweep",
            "--machine",
            "zen4-64",
            "--branches",
            "packed",
            "--workloads",
            "inject",
        ])
        .args([
            "--size",
            "tiny",
            "--threads",
            "64",
            "--trials",
            "1",
            "--output",
        ])
        .arg(folder.path())
        .assert()
        .success();
}

#[test]
fn one_plan_gives_the_same_records_however_many_trials_run_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let one = records(folder.path(), "1");
    assert!(one.len() > 8, "{} records", one.len());
    // Branches share the seeds of their replicates; the twin has its own.
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
        (
            "champion",
            [
                "rayon-fork/src/deque/on_demand.rs:",
                "rayon-fork/src/sleep/",
            ],
        ),
    ] {
        let waits = one.iter().filter(|it| it["branch"] == branch);
        let waits = waits.flat_map(|it| it["simulated"]["waits"].as_array().unwrap());
        let at: Vec<&str> = waits.map(|wait| wait["at"].as_str().unwrap()).collect();
        for line in lines {
            let is_told = |at: &&str| at.starts_with(line) && at.ends_with(')');
            assert!(at.iter().any(is_told), "{branch}, {line}: {at:?}");
        }
    }
    assert_eq!(one, records(folder.path(), "2"));
}
