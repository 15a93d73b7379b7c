use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use std::{fs, io};

use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use runner::host::frequency::Controller;
use runner::host::frequency::sysfs::BackendChoice;
use runner::host::frequency::{ControlFrequency, Setup};
use runner::plan::Mode;
use runner::record::FreqState;
use runner::record::trials_file::{self, Text};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::cpus::{Cpus, OF_BASE};
use crate::common;

struct Case {
    cpus: Cpus,
}

impl Case {
    fn new() -> Self {
        let cpus = Cpus::of(OF_BASE);
        Self { cpus }
    }

    fn controller(&self, allow_uncontrolled: bool) -> Controller {
        let journal = self.cpus.journal();
        let setup = Setup::new(self.cpus.host(), BackendChoice::Sysfs, Some(&journal));
        Controller::new(setup, allow_uncontrolled)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = common::runner(self.cpus.root());
        command.args(words).arg("--host").arg(self.cpus.root());
        command.arg("--frequency-journal").arg(self.cpus.journal());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn sweep(&self, words: &[&str]) -> Command {
        let mut command = self.command(&["sweep"]);
        let sweeps = self.cpus.root().join("sweeps");
        command.args(words).arg("--output").arg(sweeps);
        command
    }

    /// Returns the command of a sweep of `master`, its A/A control and the sequential program.
    /// `master` is the only branch, so all tests share its build.
    fn new_sweep(&self, mode: &str, trials: &str) -> Command {
        let what = "--preset smoke --branches master --workloads quicksort --threads 1 --mode";
        let mut words: Vec<&str> = what.split(' ').collect();
        words.extend([mode, "--trials", trials]);
        self.sweep(&words)
    }

    /// Reads the records that exist so far. Leaves out a line that the runner is just writing.
    fn records(&self) -> Vec<Value> {
        let sweeps = fs::read_dir(self.cpus.root().join("sweeps"));
        let sweeps = sweeps.into_iter().flatten();
        let text = sweeps
            .map(|entry| trials_file::of(&entry.unwrap().path()))
            .filter_map(|trials| Text::open(&trials).and_then(io::read_to_string).ok())
            .collect::<String>();
        let lines = text.lines().map(serde_json::from_str);
        lines.filter_map(Result::ok).collect()
    }

    fn wait_for_records(&self, child: &mut Child, count: usize) {
        // The time limit includes a build of the baseline from nothing.
        let deadline = Instant::now() + Duration::from_mins(10);
        while self.records().len() < count {
            assert!(Instant::now() < deadline, "no trials");
            assert!(child.try_wait().unwrap().is_none(), "the sweep ended early");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[track_caller]
    fn says(&self, words: &[&str], code: i32, text: &str) {
        let output = self.command(words).output().unwrap();
        // The position of line breaks depends on a path that differs from run to run.
        let said = [&*output.stdout, &output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        let said: Vec<&str> = said.split_whitespace().collect();
        assert!(said.join(" ").contains(text), "{said:?}");
        output.assert().code(code);
    }
}

fn states<'a>(records: &'a [Value], mode: &str) -> Vec<&'a str> {
    let of_mode = records.iter().filter(|record| record["mode"] == mode);
    let state = |record: &'a Value| record["freq_state"].as_str().unwrap();
    of_mode.map(state).collect()
}

#[test]
fn both_modes_are_labelled_measured_and_put_back() {
    let case = Case::new();
    let before = case.cpus.bytes();
    let ended = case.new_sweep("both", "3").output().unwrap();
    ended.assert().success();
    let records = case.records();
    // In each mode, 3 trials of each of master, its A/A control and the sequential program.
    assert_eq!(states(&records, "fixed"), ["fixed-verified"; 9]);
    assert_eq!(states(&records, "dynamic"), ["dynamic"; 9]);
    if cfg!(any(target_arch = "x86_64", target_arch = "aarch64")) {
        for field in ["ghz_before", "ghz_after"] {
            assert!(records.iter().any(|it| it[field].is_f64()), "{records:?}");
        }
    }
    assert_eq!(case.cpus.bytes(), before);
    assert!(!case.cpus.journal().exists());
}

#[test]
fn a_signal_ends_a_fixed_sweep_with_everything_put_back() {
    let case = Case::new();
    let before = case.cpus.bytes();
    let mut child = case.new_sweep("fixed", "500").spawn().unwrap();
    case.wait_for_records(&mut child, 3);
    assert_ne!(case.cpus.bytes(), before);
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait_with_output().unwrap().assert().code(130);
    assert_eq!(case.cpus.bytes(), before);
    assert!(!case.cpus.journal().exists());
}

#[test]
fn a_killed_sweep_is_undone_by_the_next_sweep_before_anything_else() {
    let case = Case::new();
    let before = case.cpus.bytes();
    let mut child = case.new_sweep("fixed", "30").spawn().unwrap();
    case.wait_for_records(&mut child, 3);
    let held = "another runner holds the frequency;";
    case.says(&["frequency", "restore"], 4, held);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_ne!(case.cpus.bytes(), before);
    let resumed = case.sweep(&["--resume", "latest"]).output().unwrap();
    let resumed = resumed.assert().success();
    resumed.stderr(contains("restored: the frequency was fixed at 2000000 kHz"));
    case.says(&["frequency", "restore"], 0, "nothing to restore");
    assert_eq!(case.cpus.bytes(), before);
    assert_eq!(states(&case.records(), "fixed"), ["fixed-verified"; 90]);
}

#[test]
fn a_trial_in_which_a_setting_changed_is_not_called_verified_and_the_next_is_fixed_again() {
    let case = Case::new();
    let before = case.cpus.bytes();
    let mut controller = case.controller(false);
    controller.before(Mode::Fixed, 1).unwrap();
    for (file, value) in [
        ("cpufreq/policy1/scaling_max_freq", "2100000"),
        ("cpufreq/policy0/scaling_governor", "powersave"),
        ("intel_pstate/no_turbo", "0"),
    ] {
        case.cpus.write(file, value);
        assert_eq!(controller.after().state, FreqState::FixedFailed, "{file}");
        controller.before(Mode::Fixed, 1).unwrap();
        assert_eq!(controller.after().state, FreqState::FixedVerified);
    }
    assert_ne!(case.cpus.bytes(), before);
    controller.before(Mode::Dynamic, 1).unwrap();
    assert_eq!(controller.after().state, FreqState::Dynamic);
    assert_eq!(case.cpus.bytes(), before);
}

#[test]
fn a_host_that_cannot_be_fixed_stops_the_sweep_unless_that_is_allowed() {
    let case = Case::new();
    let plan = ["plan", "--mode", "both", "--allow-uncontrolled"];
    case.says(&plan, 0, "dynamic fixed (at 2000000 kHz, by sysfs)");
    case.cpus.change(&[("cpufreq/policy*/base_frequency", "0")]);
    case.says(&plan, 0, "not possible on this host");
    let mut strict = case.controller(false);
    let error = strict.before(Mode::Fixed, 1).unwrap_err().to_string();
    assert!(error.contains("base_frequency"), "{error}");
    let mut lenient = case.controller(true);
    lenient.before(Mode::Fixed, 1).unwrap();
    assert_eq!(lenient.after().state, FreqState::FixedFailed);
    fs::remove_dir_all(case.cpus.path().join("cpufreq")).unwrap();
    lenient.before(Mode::Fixed, 1).unwrap();
    assert_eq!(lenient.after().state, FreqState::Uncontrolled);
    let refused = case.new_sweep("fixed", "1").output().unwrap();
    let refused = refused.assert().code(4);
    refused.stderr(contains("--allow-uncontrolled"));
}
