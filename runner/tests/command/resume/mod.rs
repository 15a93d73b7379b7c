//! Tests real binaries, end to end: a sweep runs, is killed in the middle, and is resumed.

mod damage;
mod kills;
mod receipts;

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use runner::record::trials_file::{self, Text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;

use crate::common;

/// 1 workload × (2 thread counts × (master, A/A control) + sequential).
const CELLS: usize = 5;
const TRIALS: usize = 15;
const PLANNED: usize = CELLS * TRIALS;

/// Starts a sweep of the baseline and its A/A control, so that all tests share one build.
fn start(folder: &TempDir, trials: usize) -> Child {
    common::smoke(folder.path(), "master")
        .args(["--layouts=2", &format!("--trials={trials}")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

fn wait_for_trials(folder: &TempDir, child: &mut Child, trials: usize) -> PathBuf {
    // The time limit includes a build of the baseline from nothing.
    let deadline = Instant::now() + Duration::from_mins(10);
    loop {
        assert!(Instant::now() < deadline, "no trials");
        if let Some(sweep) = sweep_in(folder)
            && lines(&sweep).len() >= trials
        {
            return sweep;
        }
        assert!(child.try_wait().unwrap().is_none(), "the sweep ended early");
        thread::sleep(Duration::from_millis(5));
    }
}

fn sweep_in(folder: &TempDir) -> Option<PathBuf> {
    let entries = fs::read_dir(folder.path().join("sweeps")).ok()?;
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .into_iter()
        .find(|path| path.extension().is_none() && path.join("manifest.json").exists())
}

fn lines(sweep: &Path) -> Vec<String> {
    let text = Text::open(&trials_file::of(sweep)).and_then(io::read_to_string);
    let text = text.unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn resume(folder: &TempDir) -> std::process::Command {
    let mut command = common::runner(folder.path());
    command
        .args(["sweep", "--resume", "latest", "--output"])
        .arg(folder.path().join("sweeps"));
    command
}

const KILLED_TRIALS: usize = 6;

/// Returns a sweep that was killed after some trials. All tests share this sweep, and damage copies
/// of it.
fn killed_sweep() -> &'static TempDir {
    static SWEEP: OnceLock<TempDir> = OnceLock::new();
    SWEEP.get_or_init(|| {
        // A static is never dropped, so each run of the tests removes the folder of the run before.
        let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("killed-sweep");
        let _ = fs::remove_dir_all(&place);
        fs::create_dir_all(&place).unwrap();
        let folder = tempfile::tempdir_in(place).unwrap();
        let mut child = start(&folder, KILLED_TRIALS);
        wait_for_trials(&folder, &mut child, 6);
        child.kill().unwrap();
        child.wait().unwrap();
        folder
    })
}

fn assert_complete(sweep: &Path, planned: usize) {
    let records: Vec<Value> = lines(sweep)
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(records.len(), planned);
    let identities: BTreeSet<&str> = records
        .iter()
        .map(|record| record["trial"].as_str().unwrap())
        .collect();
    assert_eq!(identities.len(), planned);
    assert!(records.iter().all(|record| record["outcome"] == "ok"));
    assert!(records.iter().all(|record| record["variant"] == "upstream"));
    let layouts: BTreeSet<u64> = records
        .iter()
        .map(|record| record["layout"].as_u64().unwrap())
        .collect();
    assert_eq!(layouts, BTreeSet::from([1, 2]));
}

#[test]
fn a_sweep_interrupted_and_then_killed_ends_with_exactly_the_planned_trials() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = start(&folder, TRIALS);
    let sweep = wait_for_trials(&folder, &mut child, 6);
    for _ in 0..2 {
        // The test sends two signals, like an impatient user who presses Ctrl-C twice.
        kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    }
    child
        .wait_with_output()
        .unwrap()
        .assert()
        .code(130)
        .stderr(contains("interrupted with"))
        .stderr(contains("cargo runner sweep --resume"))
        // Without a terminal, no bar is drawn.
        .stderr(contains("\r").or(contains("\u{1b}")).not());
    let interrupted = lines(&sweep).len();
    let run = |number: usize| -> Value {
        let manifest = fs::read(sweep.join("manifest.json")).unwrap();
        serde_json::from_slice::<Value>(&manifest).unwrap()["runs"][number].take()
    };
    assert_eq!(run(0)["end"], "interrupted");
    assert_eq!(run(0)["trials"], interrupted);

    let mut resumed = resume(&folder);
    resumed.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = resumed.spawn().unwrap();
    wait_for_trials(&folder, &mut child, interrupted + 3);
    child.kill().unwrap(); // SIGKILL
    child.wait().unwrap();
    let before = lines(&sweep);
    assert!(before.len() < PLANNED, "killed too late to prove anything");
    // The test appends a part of a line, as a power cut may leave it.
    let half = r#"{"schema":1,"trial":"half"#;
    let mut options = OpenOptions::new();
    let trials = options.append(true).open(sweep.join("trials.jsonl"));
    trials.unwrap().write_all(half.as_bytes()).unwrap();
    resume(&folder)
        .assert()
        .success()
        .stderr(contains("trials.torn-1"))
        .stderr(contains(format!("resuming {}", sweep.display())))
        .stdout(contains("master-again "))
        .stdout(contains("cargo runner report"));
    assert_eq!(lines(&sweep)[..before.len()], before);
    assert_complete(&sweep, PLANNED);
    assert_eq!(
        fs::read_to_string(sweep.join("trials.torn-1")).unwrap(),
        half
    );
    assert_eq!(
        (&run(1)["end"], &run(2)["end"]),
        (&"killed".into(), &"finished".into())
    );

    // The files now look as if the runner was killed after the last trial and before the records
    // were compressed. A resumed sweep then builds and runs nothing.
    let manifest = fs::read(sweep.join("manifest.json")).unwrap();
    let (plain, packed) = (sweep.join("trials.jsonl"), sweep.join("trials.jsonl.zst"));
    assert!(!plain.exists());
    let bytes = fs::read(&packed).unwrap();
    fs::write(&plain, lines(&sweep).join("\n") + "\n").unwrap();
    fs::remove_file(&packed).unwrap();
    resume(&folder)
        .assert()
        .success()
        .stdout(contains("master-again "))
        .stdout(contains(format!("all {PLANNED} trials were already there")))
        .stderr(contains("building").not());
    assert_eq!(fs::read(sweep.join("manifest.json")).unwrap(), manifest);
    assert!(!plain.exists());
    assert_eq!(fs::read(&packed).unwrap(), bytes);
}
