//! `on-this-host` and what `merge` makes of its file: announced, interrupted, gone on with, sent,
//! taken.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common;

/// The command with results, and prices of this host, in a folder of its own.
fn runner(folder: &Path) -> Command {
    let mut command = common::runner(folder);
    command.env(runner::plan::machines::HERE_FOLDER, folder);
    command
}

fn quick(folder: &Path) -> Command {
    let mut command = runner(folder);
    // The name of the user who runs the tests may be a word of the records.
    let words = ["USER", "LOGNAME", "SUDO_USER", "HOSTNAME", "EMAIL"];
    for word in words {
        command.env_remove(word);
    }
    command
        .args(["on-this-host", "--quick", "--output"])
        .arg(folder.join("results"));
    command
}

/// The only entry of a folder whose name ends so.
fn only(folder: &Path, ending: &str) -> PathBuf {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut found = entries.filter(|path| path.to_str().unwrap().ends_with(ending));
    let first = found.next().unwrap();
    assert_eq!(found.next(), None);
    first
}

fn record(results: &Path) -> Value {
    let file = only(&results.join("this-host"), "").join("record.json");
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

#[test]
fn the_plan_tells_every_step_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let planned = quick(folder.path()).arg("--plan").assert().success();
    let said = String::from_utf8(planned.get_output().stdout.clone()).unwrap();
    for step in [
        "doctor",
        "calibrate",
        "predict",
        "study",
        "classics",
        "validate",
        "report",
    ] {
        assert!(
            said.lines().any(|line| line.starts_with(step)),
            "{step} is not in:\n{said}"
        );
    }
    assert!(
        said.contains("in all some minutes, builds included"),
        "{said}"
    );
    assert!(!folder.path().join("results").exists());
}

#[test]
fn interrupted_it_goes_on_and_what_it_packs_is_taken_once_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    let mut first = quick(folder.path());
    first.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = first.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut told = String::new();
    for line in lines {
        told += &(line.unwrap() + "\n");
        if told.contains("\n[4 of 7]") && !told.contains("goes on with `") {
            // The interrupt ends the running work of that step, builds or trials.
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("goes on with `study`"), "{told}");

    quick(folder.path())
        .assert()
        .success()
        .stdout(contains("done already: doctor, calibrate, predict"))
        .stdout(contains("SHA256SUMS").and(contains("trials.jsonl.zst")))
        .stderr(contains("[3 of 7]").not().and(contains("[4 of 7] study")));
    let record = record(&results);
    let steps = record["steps"].as_array().unwrap();
    let names: Vec<&str> = steps
        .iter()
        .map(|done| done["step"].as_str().unwrap())
        .collect();
    let all = [
        "doctor",
        "calibrate",
        "predict",
        "study",
        "classics",
        "validate",
        "report",
    ];
    assert_eq!(names, all);
    let of = |step: usize| {
        results
            .join("sweeps")
            .join(steps[step]["made"].as_str().unwrap())
    };
    let manifest = |step| -> Value {
        serde_json::from_slice(&fs::read(of(step).join("manifest.json")).unwrap()).unwrap()
    };
    let (predicted, measured) = (manifest(2), manifest(5));
    assert_eq!(predicted["asked"]["machine"]["name"], "here");
    assert!(predicted["runs"][0]["ended_at"].as_str() < measured["created_at"].as_str());

    let archive = only(&results.join("hosts"), ".tar.zst");
    let merge = |output: &Path| {
        let mut command = runner(folder.path());
        command
            .arg("merge")
            .arg(&archive)
            .arg("--output")
            .arg(output);
        command.assert()
    };
    // The checkout that made the file has the sweeps already; the host is added to its hosts.
    merge(&results)
        .success()
        .stdout(contains("hosts/").and(contains("sweeps/").not()));
    merge(&results)
        .success()
        .stderr(contains("all of it was there already"));
    let elsewhere = folder.path().join("elsewhere");
    merge(&elsewhere)
        .success()
        .stderr(contains("4 sweeps: taken"));
    merge(&elsewhere)
        .success()
        .stderr(contains("all of it was there already"))
        .stdout("");
    for step in [2, 3, 4, 5] {
        let name = steps[step]["made"].as_str().unwrap();
        for file in ["manifest.json", "host.json", "trials.jsonl.zst"] {
            let taken = fs::read(elsewhere.join("sweeps").join(name).join(file)).unwrap();
            assert_eq!(taken, fs::read(of(step).join(file)).unwrap());
        }
    }
    let doctor = only(&elsewhere.join("hosts"), "").join("doctor.json");
    fs::write(&doctor, "{}").unwrap();
    merge(&elsewhere)
        .code(2)
        .stderr(contains("its doctor.json is another"));
    assert_eq!(fs::read_to_string(doctor).unwrap(), "{}");
    let refused = runner(folder.path()).arg("merge").arg(&archive).assert();
    refused.code(2).stderr(contains("--quick"));

    quick(folder.path())
        .assert()
        .success()
        .stderr(contains("of 7]").not());
    let other = runner(folder.path())
        .args(["on-this-host", "--output"])
        .arg(&results)
        .assert();
    other
        .code(2)
        .stderr(contains("--quick").and(contains("--new")));
}

#[test]
fn what_is_no_such_file_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("letter.tar.zst");
    fs::write(&file, "Dear laboratory").unwrap();
    let merge = |paths: &[&Path]| {
        runner(folder.path())
            .arg("merge")
            .args(paths)
            .assert()
            .code(2)
    };
    let refused = merge(&[&file]).stderr(contains("nothing was unpacked").and(contains("letter")));
    assert_eq!(
        String::from_utf8_lossy(&refused.get_output().stderr)
            .lines()
            .count(),
        1
    );
    merge(&[&file, folder.path()]).stderr(contains("commands of their own"));
}
