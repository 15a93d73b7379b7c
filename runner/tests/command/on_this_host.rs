use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common;

const STEPS: [&str; 6] = [
    "doctor",
    "calibrate",
    "predict",
    "study",
    "classics",
    "validate",
];

fn quick(folder: &Path) -> Command {
    let mut command = common::runner(folder);
    command
        .env(runner::plan::machines::HERE_FOLDER, folder)
        .args(["on-this-host", "--quick", "--output"])
        .arg(folder.join("results"));
    command
}

fn merge(bundle: &Path, output: &Path) -> Assert {
    let mut command = common::runner(output);
    command.arg("merge").arg(bundle);
    command.arg("--output").arg(output).assert()
}

fn only(folder: &Path, ending: &str) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let found: Vec<_> = paths
        .filter(|path| path.to_str().unwrap().ends_with(ending))
        .collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

#[test]
fn the_plan_tells_every_step_and_does_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let planned = quick(folder.path()).arg("--plan").assert().success();
    let said = String::from_utf8(planned.get_output().stdout.clone()).unwrap();
    for step in STEPS {
        let is_told = said.lines().any(|line| line.starts_with(step));
        assert!(is_told, "{step} is not in:\n{said}");
    }
    // On a host of few cores this line says why the step is left out.
    assert!(said.contains("\npredictions "), "{said}");
    assert!(!folder.path().join("results").exists());
}

#[test]
fn interrupted_it_continues_and_what_it_packs_is_taken_once_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("results");
    let mut first = quick(folder.path());
    first.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = first.spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut told = String::new();
    for line in lines {
        told += &(line.unwrap() + "\n");
        if told.contains("\n[4 of 6]") && !told.contains("continues with `") {
            let _ = kill_process(Pid::from_child(&child), Signal::INT);
        }
    }
    assert_eq!(child.wait().unwrap().code(), Some(130), "{told}");
    assert!(told.contains("continues with `study`"), "{told}");
    let other = common::runner(folder.path())
        .args(["on-this-host", "--output"])
        .arg(&results)
        .assert();
    other
        .code(2)
        .stderr(contains("with `--quick`, ").and(contains("remove this folder")));

    quick(folder.path())
        .assert()
        .success()
        .stdout(contains("done already: doctor, calibrate, predict\n"))
        .stdout(contains("/record.json\n").and(contains("/trials.jsonl.zst\n")))
        .stdout(contains("within 20%").and(contains("before it was measured")))
        .stderr(contains("[3 of 6]").not().and(contains("[4 of 6] study")));
    let bundle = only(&results.join("hosts"), ".tar.zst");
    let own = bundle.with_extension("").with_extension("");
    let record: Value =
        serde_json::from_slice(&fs::read(own.join("record.json")).unwrap()).unwrap();
    let steps = record["steps"].as_array().unwrap();
    let names: Vec<_> = steps
        .iter()
        .map(|it| it["step"].as_str().unwrap())
        .collect();
    assert_eq!(names, STEPS);
    let manifest = |step: usize| -> Value {
        let sweep = results
            .join("sweeps")
            .join(steps[step]["made"].as_str().unwrap());
        serde_json::from_slice(&fs::read(sweep.join("manifest.json")).unwrap()).unwrap()
    };
    let (predicted, measured) = (manifest(2), manifest(5));
    assert_eq!(predicted["asked"]["machine"]["name"], "here");
    assert!(predicted["runs"][0]["ended_at"].as_str() < measured["created_at"].as_str());
    assert!(measured["asked"]["machine"].is_null());
    assert_eq!(
        predicted["asked"]["workloads"],
        measured["asked"]["workloads"]
    );
    let report = results
        .join("reports")
        .join(measured["name"].as_str().unwrap());
    assert!(report.join("validation.svg").is_file());

    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    merge(&bundle, &elsewhere)
        .success()
        .stderr(contains("4 sweeps: taken"))
        .stdout(contains("/here.toml\n").and(contains("/host.json\n")));
    for again in [&elsewhere, &results] {
        let there = contains("all of it was already there");
        merge(&bundle, again).success().stdout("").stderr(there);
    }
    let refused = common::runner(folder.path())
        .arg("merge")
        .arg(&bundle)
        .assert();
    refused.code(2).stderr(contains("--quick"));
    quick(folder.path())
        .assert()
        .success()
        .stderr(contains("of 6]").not());
}

/// Makes a bundle of the committed host with the sweeps of these steps. `change` gets each file's
/// path and content.
fn committed_bundle(folder: &Path, steps: &[&str], change: impl Fn(&str, &mut Vec<u8>)) -> PathBuf {
    let results = common::root().join("results");
    let host = only(&results.join("hosts"), "");
    let record = fs::read(host.join("record.json")).unwrap();
    let mut record: Value = serde_json::from_slice(&record).unwrap();
    let done = record["steps"].as_array_mut().unwrap();
    done.retain(|it| steps.contains(&it["step"].as_str().unwrap()));
    let of_host = [
        "charges-here.toml",
        "doctor.json",
        "here.toml",
        "record.json",
    ];
    let mut files = of_host.map(|file| host.join(file)).to_vec();
    for step in done {
        let sweep = results.join("sweeps").join(step["made"].as_str().unwrap());
        if sweep.is_dir() {
            files.extend(
                ["host.json", "manifest.json", "trials.jsonl.zst"].map(|it| sweep.join(it)),
            );
        }
    }
    let path = folder.join("host.tar.zst");
    let packer = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
    let mut tar = tar::Builder::new(packer.auto_finish());
    for file in files {
        let place = file.strip_prefix(&results).unwrap().to_str().unwrap();
        let mut content = fs::read(&file).unwrap();
        if place.ends_with("record.json") {
            content = serde_json::to_vec(&record).unwrap();
        }
        change(place, &mut content);
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, place, &*content).unwrap();
    }
    tar.into_inner().unwrap().flush().unwrap();
    path
}

#[test]
fn a_bundle_of_the_committed_host_is_taken_but_not_over_other_content() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = committed_bundle(folder.path(), &STEPS, |_, _| {});
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    merge(&bundle, &elsewhere)
        .success()
        .stderr(contains("4 sweeps: taken"))
        .stdout(contains("/trials.jsonl.zst\n"));
    let doctor = only(&elsewhere.join("hosts"), "").join("doctor.json");
    fs::write(&doctor, "{}").unwrap();
    merge(&bundle, &elsewhere)
        .code(2)
        .stderr(contains("doctor.json already exists with other content"));
    assert_eq!(fs::read_to_string(doctor).unwrap(), "{}");
}

type Change<'a> = &'a dyn Fn(&mut Vec<u8>);

#[test]
fn a_sweep_that_is_not_what_its_manifest_says_is_refused_and_nothing_is_taken() {
    let lines = |content: &mut Vec<u8>, change: &dyn Fn(&mut Vec<&str>)| {
        let text = String::from_utf8(zstd::decode_all(&**content).unwrap()).unwrap();
        let mut all = text.split_inclusive('\n').collect();
        change(&mut all);
        *content = zstd::encode_all(all.concat().as_bytes(), 1).unwrap();
    };
    let replace = |content: &mut Vec<u8>, from: &str, to: &str| {
        let text = str::from_utf8(content).unwrap();
        assert!(text.contains(from), "{from}: {text}");
        *content = text.replacen(from, to, 1).into_bytes();
    };
    let cases: [(&str, Change<'_>, &str); 9] = [
        (
            "trials.jsonl.zst",
            &|it| lines(it, &|all| _ = all.pop()),
            "only finished sweeps",
        ),
        (
            "trials.jsonl.zst",
            &|it| lines(it, &|all| all.push(all[0])),
            "is already in line 1",
        ),
        (
            "manifest.json",
            &|it| replace(it, "\"seed\": ", "\"seed\": 9"),
            "orders trials differently",
        ),
        (
            "manifest.json",
            &|it| replace(it, "\"trials\": ", "\"trials\": 42949672"),
            "more than the limit of 10000000 trials",
        ),
        (
            "manifest.json",
            &|it| replace(it, "\"name\": \"2026", "\"name\": \"2025"),
            "calls itself 2025",
        ),
        (
            "manifest.json",
            &|it| replace(it, "\"runner\": \"", "\"runner\": \"\\u001b["),
            "control characters",
        ),
        ("/host.json", &|it| *it = b"[1]".to_vec(), "host.json"),
        (
            "doctor.json",
            &|it| *it = b"{}".to_vec(),
            "doctor.json: missing field",
        ),
        (
            "/here.toml",
            &|it| *it = b"\xff".to_vec(),
            "here.toml: it cannot be read",
        ),
    ];
    for (file, change, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        let is_done = std::cell::Cell::new(false);
        let bundle = committed_bundle(folder.path(), &["study"], |place, content| {
            if place.ends_with(file) && !is_done.replace(true) {
                change(content);
            }
        });
        let output = folder.path().join("output");
        fs::create_dir(&output).unwrap();
        let refused = merge(&bundle, &output).code(2);
        let named = contains("host.tar.zst: ").and(contains(expected));
        let temporary = contains(".bundle-").not();
        refused.stderr(
            named
                .and(temporary)
                .and(contains("nothing was taken from it")),
        );
        let left = fs::read_dir(&output).unwrap().count();
        assert_eq!(left, 0, "{expected}");
    }
}

#[test]
fn what_is_no_bundle_is_refused_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("letter.tar.zst");
    fs::write(&file, "Dear laboratory").unwrap();
    let refused = merge(&file, folder.path()).code(2);
    let refused = refused.stderr(contains("nothing was taken").and(contains("letter")));
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert_eq!(said.lines().count(), 1, "{said}");
    let mut both = common::runner(folder.path());
    let both = both.arg("merge").arg(&file).arg(folder.path()).assert();
    both.code(2).stderr(contains("a command cannot take both"));
}
