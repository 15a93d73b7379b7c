//! Runs every workload on one branch, as in a sweep: the runner builds the branch in release mode,
//! and checks every answer.

use std::fs;

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use runner::config::catalogue;

use crate::common;

/// The test uses the published crate, because the workloads' own tests run on the fork. The
/// experiment itself runs on all branches.
const BRANCH: &str = "master";

#[test]
fn every_workload_gives_its_known_answer_on_the_published_crate() {
    let folder = tempfile::tempdir().unwrap();
    let sweeps = folder.path().join("sweeps");
    // The row `answers` of experiments.toml has more threads and iterations; this test saves time.
    let words = format!(
        "sweep --experiment answers --branches {BRANCH} --format csv --threads 2 --iterations 1 --output {}",
        sweeps.display()
    );
    let swept = common::line(folder.path(), &words).success();
    let output = swept.get_output().stdout.clone();
    let mut rows = csv::Reader::from_reader(&output[..]);
    let heads = rows.headers().unwrap().clone();
    let mut seen = Vec::new();
    for row in rows.records().map(Result::unwrap) {
        let of = |name: &str| &row[heads.iter().position(|head| head == name).unwrap()];
        assert_eq!(of("agreeing"), of("trials"), "{row:?}");
        seen.push((of("workload").to_owned(), of("branch").to_owned()));
    }
    // Whole programs are left out, because they take minutes to build, and have tests of their own
    // (`cargo test -p programs`).
    for name in catalogue::names()
        .into_iter()
        .filter(|name| catalogue::whole(name).is_none())
    {
        assert!(
            seen.contains(&(name.to_owned(), BRANCH.to_owned())),
            "{name}: {seen:?}"
        );
    }
}

#[test]
fn a_broken_instance_file_is_bad_input_with_its_line_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.tsp");
    let head = "NAME : broken\nTYPE : TSP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : EUC_2D\n";
    fs::write(
        &path,
        format!("{head}NODE_COORD_SECTION\n1 0 0\n2 ten 0\n3 0 5\nEOF\n"),
    )
    .unwrap();
    let sweeps = folder.path().join("sweeps");
    let words = format!(
        "sweep --preset smoke --branches master --workloads tsp --input {} --output {}",
        path.display(),
        sweeps.display()
    );
    common::line(folder.path(), &words)
        .code(2)
        .stderr(contains("line 7").and(contains("`ten`")));
    assert_eq!(
        fs::read_dir(&sweeps).unwrap().count(),
        0,
        "no sweep was begun"
    );
}
