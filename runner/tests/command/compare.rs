//! `compare` as its user meets it: branches in a word, and a page that others can believe.

use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;

use crate::common::run;

#[test]
fn a_comparison_prints_medians_ratios_what_the_analysis_says_and_how_to_repeat_it() {
    let folder = tempfile::tempdir().unwrap();
    let sweeps = folder.path().join("sweeps").display().to_string();
    // The same release under two names: one more link, and nothing to find.
    let output = run(
        &folder,
        &[
            &[
                "compare",
                "master",
                "same=published:1.13.0",
                "--preset",
                "smoke",
            ][..],
            &[
                "--workloads",
                "quicksort",
                "--threads",
                "1",
                "--trials",
                "4",
            ],
            &["--format", "json", "--output", &sweeps],
        ]
        .concat(),
    )
    .success()
    .stderr(contains("draw:    cargo runner report"))
    .stderr(contains("resolving the dependencies of 2 branches …\n"))
    .stderr(contains("building 1/2 ").and(contains("building 2/2 ")))
    .get_output()
    .stdout
    .clone();
    let page: Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(page["baseline"], "master");
    assert!(
        page["versions"][1]
            .as_str()
            .unwrap()
            .contains("`same`: rayon-core 1.13.0"),
        "{page}"
    );
    let rows = page["rows"].as_array().unwrap();
    assert_eq!(
        rows.len(),
        4,
        "the sequential program, master, its twin, same: {page}"
    );
    assert!(
        rows[3]["ratio"].is_number() && rows[3]["cpu_ratio"].is_number(),
        "{page}"
    );
    assert!(
        page["judgement"]
            .as_str()
            .is_some_and(|text| !text.is_empty()),
        "{page}"
    );

    // It is printed again without being measured, and branches.toml has no say in it.
    run(
        &folder,
        &[
            "compare", "--resume", "--format", "markdown", "--output", &sweeps,
        ],
    )
    .success()
    .stdout(contains("### rayon-core: `same` compared with `master`"))
    .stdout(contains(
        "cargo runner compare master same=published:1.13.0 --preset smoke",
    ))
    .stderr(contains("building").not());
}

#[test]
fn a_branch_that_is_none_is_bad_input_before_anything_is_built() {
    for (word, message) in [
        ("pakced", "did you mean `packed`?"),
        ("published:1.13", "`published:1.13`: no exact version"),
        (
            "published:0.0.1",
            "`published:0.0.1`: the programs use rayon, which takes rayon-core 1.13.0 or",
        ),
        ("fork:spilt", "did you mean `split`?"),
        (
            "path:/nowhere/at/all",
            "`path:/nowhere/at/all`: the folder is not there",
        ),
        (
            "mine=path:workloads",
            "`mine=path:workloads`: the folder holds the package `workloads`",
        ),
        ("git:/nowhere/at/all#main", "there is no git repository"),
        (
            "git:.#no-such-branch",
            "the repository has no commit, branch or tag `no-such-branch`",
        ),
        ("master", "there is a `master` already"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let sweeps = folder.path().display().to_string();
        run(&folder, &["compare", "master", word, "--output", &sweeps])
            .code(2)
            .stderr(contains(message))
            .stderr(contains("building").not());
    }
}

#[test]
fn one_branch_alone_is_no_comparison() {
    let folder = tempfile::tempdir().unwrap();
    run(&folder, &["compare", "master"])
        .code(2)
        .stderr(contains("2"));
}
