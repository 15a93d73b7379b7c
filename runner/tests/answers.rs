//! Every workload on branches as they are measured: built by the runner, in release, answers checked.

mod common;

use assert_cmd::assert::OutputAssertExt as _;
use workloads::workload::catalogue;

/// The two that are built for other tests anyhow; the experiment itself is for all.
const BRANCHES: &str = "master,packed";

#[test]
fn every_workload_gives_its_known_answer_on_the_published_crate_and_on_the_fork() {
    let folder = tempfile::tempdir().unwrap();
    let output = common::runner(folder.path())
        .args(["sweep", "--experiment", "answers", "--branches", BRANCHES, "--format", "csv"])
        .arg("--output")
        .arg(folder.path().join("sweeps"))
        .assert()
        .success()
        .get_output()
        .stdout
        .clone();
    let mut rows = csv::Reader::from_reader(&output[..]);
    let heads = rows.headers().unwrap().clone();
    let mut seen = Vec::new();
    for row in rows.records().map(Result::unwrap) {
        let of = |name: &str| &row[heads.iter().position(|head| head == name).unwrap()];
        assert_eq!(of("agreeing"), of("trials"), "{row:?}");
        seen.push((of("workload").to_owned(), of("branch").to_owned()));
    }
    for workload in catalogue() {
        for branch in BRANCHES.split(',') {
            let name = workload.description().name;
            let is_seen =
                |(it, on): &(String, String)| (it.as_str(), on.as_str()) == (name, branch);
            assert!(seen.iter().any(is_seen), "{name} on {branch}: {seen:?}");
        }
    }
}
