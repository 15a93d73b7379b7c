//! Real sweeps on mock hosts: trials have the right labels, and every end of a sweep puts the old
//! settings back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use runner::host::frequency::backend::Choice;
use runner::host::frequency::control::Controller;
use runner::host::frequency::{ControlFrequency, Setup};
use runner::plan::Mode;
use runner::record::FreqState;
use runner::record::trials_file::{self, Text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cpus::Cpus;
use crate::common;

struct Case {
    cpus: Cpus,
    folder: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        Self {
            cpus: Cpus::intel_pstate(),
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal.json")
    }

    fn setup(&self) -> Setup {
        Setup::new(Some(self.cpus.path()), Choice::Sysfs, Some(&self.journal()))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = common::runner(self.folder.path());
        command.args(words).arg("--sysfs").arg(self.cpus.path());
        command.arg("--frequency-journal").arg(self.journal());
        command
    }

    fn sweep(&self, words: &[&str]) -> Command {
        let mut command = self.command(&["sweep"]);
        command
            .args(words)
            .arg("--output")
            .arg(self.folder.path().join("sweeps"));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// A sweep of the baseline and its twin alone: one build, shared by all tests.
    fn new_sweep(&self, mode: &str, trials: &str) -> Command {
        let what = [
            "--preset",
            "smoke",
            "--branches",
            "master",
            "--workloads",
            "quicksort",
        ];
        let how = ["--threads", "1", "--mode", mode, "--trials", trials];
        self.sweep(&[&what[..], &how[..]].concat())
    }

    /// Reads the records so far; a line that is just being written is left out.
    fn records(&self) -> Vec<Value> {
        let sweeps = fs::read_dir(self.folder.path().join("sweeps"))
            .into_iter()
            .flatten();
        let text = sweeps
            .map(|entry| trials_file::of(&entry.unwrap().path()))
            .filter_map(|trials| Text::open(&trials).and_then(io::read_to_string).ok())
            .collect::<String>();
        text.lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    }

    fn wait_for_records(&self, child: &mut Child, count: usize) {
        // A cold build of the baseline is part of this.
        let deadline = Instant::now() + Duration::from_mins(10);
        while self.records().len() < count {
            assert!(Instant::now() < deadline, "no trials");
            assert!(child.try_wait().unwrap().is_none(), "the sweep ended early");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

fn states<'a>(records: &'a [Value], mode: &str) -> Vec<&'a str> {
    let of_mode = records.iter().filter(|record| record["mode"] == mode);
    of_mode
        .map(|record| record["freq_state"].as_str().unwrap())
        .collect()
}

#[test]
fn both_modes_are_labelled_measured_and_put_back() {
    let case = Case::new();
    let before = case.cpus.bytes();
    case.new_sweep("both", "3")
        .output()
        .unwrap()
        .assert()
        .success();
    let records = case.records();
    // 3 trials of master, its twin and the sequential program, in each mode.
    assert_eq!(states(&records, "fixed"), ["fixed-verified"; 9]);
    assert_eq!(states(&records, "dynamic"), ["dynamic"; 9]);
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        let has_clock = |field: &str| records.iter().any(|record| record[field].is_f64());
        assert!(
            has_clock("ghz_before") && has_clock("ghz_after"),
            "{records:?}"
        );
    }
    assert_eq!(case.cpus.bytes(), before);
    assert!(!case.journal().exists());
}

#[test]
fn a_signal_ends_a_fixed_sweep_with_everything_put_back() {
    for signal in [Signal::INT, Signal::TERM] {
        let case = Case::new();
        let before = case.cpus.bytes();
        let mut child = case.new_sweep("fixed", "500").spawn().unwrap();
        case.wait_for_records(&mut child, 3);
        assert_ne!(case.cpus.bytes(), before);
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait_with_output().unwrap().assert().code(130);
        assert_eq!(case.cpus.bytes(), before);
        assert!(!case.journal().exists());
    }
}

#[test]
fn a_killed_sweep_is_told_by_status_and_undone_by_the_next_sweep_before_anything_else() {
    let case = Case::new();
    let before = case.cpus.bytes();
    let mut child = case.new_sweep("fixed", "40").spawn().unwrap();
    case.wait_for_records(&mut child, 3);
    let status = case.command(&["frequency", "status"]).output().unwrap();
    // Its lines are broken where a path that differs from run to run leaves room.
    let said = String::from_utf8_lossy(&status.stdout).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("another runner holds the frequency now"),
        "{said}"
    );
    status.assert().success();
    let restore = case.command(&["frequency", "restore"]).output().unwrap();
    restore
        .assert()
        .code(4)
        .stderr(contains("another runner holds the frequency now"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(case.cpus.bytes(), before);
    let status = case.command(&["frequency", "status"]).output().unwrap();
    // Its lines are broken where a path that differs from run to run leaves room.
    let said = String::from_utf8_lossy(&status.stdout).into_owned();
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("which has ended"), "{said}");
    status.assert().success();
    let resumed = case.sweep(&["--resume", "latest"]).output().unwrap();
    resumed
        .assert()
        .success()
        .stderr(contains("restored: the frequency was fixed at 2000000 kHz"));
    assert_eq!(case.cpus.bytes(), before);
    let records = case.records();
    assert_eq!(states(&records, "fixed"), ["fixed-verified"; 120]);
}

#[test]
fn a_setting_that_somebody_changes_marks_the_trial_and_is_set_again() {
    let case = Case::new();
    let mut child = case.new_sweep("fixed", "60").spawn().unwrap();
    case.wait_for_records(&mut child, 3);
    case.cpus
        .write("cpufreq/policy1/scaling_governor", "powersave");
    let ended = child.wait_with_output().unwrap().assert().success();
    ended
        .stderr(contains("note: the frequency is fixed again"))
        .stderr(contains("reads `powersave`"));
    let records = case.records();
    let states = states(&records, "fixed");
    let failed = states
        .iter()
        .filter(|state| **state == "fixed-failed")
        .count();
    // Found after the trial it fell into, or before the next one.
    assert!(failed <= 1, "{states:?}");
    assert_eq!(states.last(), Some(&"fixed-verified"));
}

#[test]
fn a_trial_in_which_a_setting_changed_is_not_called_verified() {
    let case = Case::new();
    let mut controller = Controller::new(case.setup(), false);
    controller.before(Mode::Fixed, 1).unwrap();
    case.cpus
        .write("cpufreq/policy1/scaling_max_freq", "2100000");
    assert_eq!(controller.after().state, FreqState::FixedFailed);
    controller.before(Mode::Fixed, 1).unwrap();
    assert_eq!(controller.after().state, FreqState::FixedVerified);
}

#[test]
fn fixed_is_around_the_fixed_trials_only() {
    let case = Case::new();
    let before = case.cpus.bytes();
    let mut controller = Controller::new(case.setup(), false);
    for _ in 0..2 {
        controller.before(Mode::Fixed, 1).unwrap();
        assert_ne!(case.cpus.bytes(), before);
        assert_eq!(controller.after().state, FreqState::FixedVerified);
        controller.before(Mode::Dynamic, 1).unwrap();
        assert_eq!(case.cpus.bytes(), before);
        assert_eq!(controller.after().state, FreqState::Dynamic);
    }
}

#[test]
fn a_panic_between_trials_puts_everything_back() {
    let case = Case::new();
    let before = case.cpus.bytes();
    let mut controller = Controller::new(case.setup(), false);
    let fixed = catch_unwind(AssertUnwindSafe(move || {
        controller.before(Mode::Fixed, 1).unwrap();
        std::panic::resume_unwind(Box::new(controller.after().state));
    }));
    assert_eq!(
        fixed.unwrap_err().downcast_ref(),
        Some(&FreqState::FixedVerified)
    );
    assert_eq!(case.cpus.bytes(), before);
}

#[test]
fn a_host_that_cannot_be_fixed_stops_the_sweep_unless_that_is_allowed() {
    let case = Case::new();
    case.cpus.write("cpufreq/policy0/scaling_driver", "made-up");
    let mut strict = Controller::new(case.setup(), false);
    let error = strict.before(Mode::Fixed, 1).unwrap_err().to_string();
    assert!(error.contains("`made-up`"), "{error}");
    let mut lenient = Controller::new(case.setup(), true);
    lenient.before(Mode::Fixed, 1).unwrap();
    assert_eq!(lenient.after().state, FreqState::FixedFailed);
    fs::remove_dir_all(case.cpus.path().join("cpufreq")).unwrap();
    lenient.before(Mode::Fixed, 1).unwrap();
    assert_eq!(lenient.after().state, FreqState::Uncontrolled);
    case.new_sweep("fixed", "1")
        .output()
        .unwrap()
        .assert()
        .code(4)
        .stderr(contains("--allow-uncontrolled"));
}

#[test]
fn a_plan_says_what_fixed_would_mean() {
    let case = Case::new();
    let plan = |arguments: &[&str]| {
        case.command(&[&["plan"], arguments].concat())
            .assert()
            .success()
    };
    plan(&["--mode", "both"]).stdout(contains("dynamic fixed (at 2000000 kHz, by sysfs)"));
    case.cpus.write("cpufreq/policy0/scaling_driver", "made-up");
    plan(&["--mode", "fixed", "--allow-uncontrolled"]).stdout(contains("not possible here"));
}
