//! Ends the runner at each step between the journal and the last restored byte, by SIGINT and
//! SIGTERM, by SIGKILL, and by a panic. After the runner's end, or after `frequency restore`, every
//! file of the host has its old content.
//!
//! `cargo xtask faults` runs these tests on every kind of host, plain `cargo test` on one kind.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::str::contains;
use runner::host::Host;
use runner::host::frequency::hold::{self, Hold};
use runner::host::frequency::journal::Journal;
use runner::host::frequency::recipe::recipe;
use runner::host::frequency::sysfs::{Backend, Knob};
use runner::system::interrupt;
use rustix::process::{Signal, getpid, kill_process};

use super::cpus::{Cpus, Files, HOSTS, Kernel, OF_BASE};
use crate::{common, namespace};

/// Environment variable that selects the mock hosts: `all`, or by default only the first of
/// [`HOSTS`].
const ALL: &str = "FREQUENCY_FAULTS";
/// Environment variables for the process that a test ends: the folder, the journal, the number of
/// the step.
const TOLD: [&str; 3] = ["FAULT_HOST", "FAULT_JOURNAL", "FAULT_STEP"];

/// In place of a step's number: the process sends itself the two signals before each write.
const ASKED_TO_END: &str = "SIGINT and SIGTERM";

struct Faulty<F> {
    steps: usize,
    before_step: F,
}

impl<F: FnMut(usize)> Backend for Faulty<F> {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn set(&mut self, host: &Host, knob: Knob, value: &str) -> anyhow::Result<()> {
        self.steps += 1;
        (self.before_step)(self.steps - 1);
        Kernel::default().set(host, knob, value)
    }
}

fn run(host: Host, journal: &Path, before_step: impl FnMut(usize) + 'static) {
    let mut backend = Faulty {
        steps: 0,
        before_step,
    };
    if let Some(found) = Journal::open(journal, &host).unwrap() {
        hold::put_back(&host, &mut backend, found).unwrap();
        return;
    }
    let recipe = recipe(&host).unwrap();
    drop(Hold::begin(host, Box::new(backend), recipe, journal).unwrap());
}

#[test]
#[ignore = "the other tests start this test as a process, and end that process"]
fn the_process_to_be_ended() {
    let [root, journal, fault] = TOLD.map(|name| std::env::var(name).unwrap());
    interrupt::install().unwrap();
    let end = move |signal| kill_process(getpid(), signal).unwrap();
    run(
        Host::at(Path::new(&root)),
        Path::new(&journal),
        move |step| {
            if fault == ASKED_TO_END {
                end(Signal::INT);
                end(Signal::TERM);
            } else if fault == step.to_string() {
                end(Signal::KILL);
            }
        },
    );
}

struct Case {
    cpus: Cpus,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Case {
    fn of(files: &Files) -> Self {
        let cpus = Cpus::of(files);
        Self {
            before: cpus.bytes(),
            cpus,
        }
    }

    fn end_at(&self, step: &str) -> ExitStatus {
        let own = "frequency::faults::the_process_to_be_ended";
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--ignored", "--exact", own]);
        command.env(TOLD[0], self.cpus.root());
        command.env(TOLD[1], self.cpus.journal()).env(TOLD[2], step);
        command.output().unwrap().status
    }

    fn kill_at(&self, step: usize) -> bool {
        let status = self.end_at(&step.to_string());
        assert!(status.success() || status.signal() == Some(9), "{status}");
        !status.success()
    }

    #[track_caller]
    fn assert_is_as_before(&self, fault: &str) {
        assert!(self.cpus.bytes() == self.before, "{fault}");
        assert!(!self.cpus.journal().exists(), "{fault}");
    }

    fn restore(&self) -> Assert {
        let mut command = common::runner(self.cpus.root());
        command.args(["frequency", "restore", "--host"]);
        command.arg(self.cpus.root());
        command.arg("--frequency-journal").arg(self.cpus.journal());
        command.assert()
    }
}

fn hosts() -> Vec<(&'static str, &'static Files)> {
    let all = std::env::var(ALL).is_ok_and(|hosts| hosts == "all");
    HOSTS[..if all { HOSTS.len() } else { 1 }].to_vec()
}

/// Lower bound of the writes of a fix and its restore: for each of two policies, the governor and
/// the lower limit, both written twice.
const FEWEST: usize = 8;

#[test]
fn sigint_and_sigterm_at_any_step_leave_the_host_as_it_was() {
    for (name, files) in hosts() {
        let host = Case::of(files);
        assert!(host.end_at(ASKED_TO_END).success(), "{name}");
        host.assert_is_as_before(name);
    }
}

/// Ends a runner before each of its writes, on every host, and restores the content that the
/// journal has. `is_ended` runs a runner that ends before the given write, and returns whether
/// there was such a write.
fn at_any_step(is_ended: impl Fn(&Case, usize) -> bool) {
    for (name, files) in hosts() {
        for step in 0.. {
            let host = Case::of(files);
            let is_ended = is_ended(&host, step);
            if host.cpus.journal().exists() {
                host.restore().success().stderr(contains("restored"));
            }
            host.assert_is_as_before(&format!("{name} at {step}"));
            if !is_ended {
                assert!(step >= FEWEST, "{name}: only {step} steps");
                break;
            }
        }
    }
}

#[test]
fn a_panic_at_any_step_leaves_the_host_as_it_was_or_a_journal_to_restore_from() {
    at_any_step(|host, step| {
        let (tree, journal) = (host.cpus.host(), host.cpus.journal());
        let ended = catch_unwind(AssertUnwindSafe(|| {
            run(tree, &journal, move |at| {
                if at == step {
                    resume_unwind(Box::new("a panic that prints nothing"));
                }
            });
        }));
        ended.is_err()
    });
}

#[test]
fn after_sigkill_at_any_step_restore_gives_back_every_byte() {
    at_any_step(Case::kill_at);
}

#[test]
fn restores_that_are_killed_themselves_are_gone_on_with_by_the_next() {
    for (name, files) in hosts() {
        let host = Case::of(files);
        assert!(host.kill_at(6), "a fix has more steps");
        assert!(host.cpus.bytes() != host.before);
        // Each restore is killed one write later than the restore before.
        let killed = (0..1000).take_while(|step| host.kill_at(*step)).count();
        assert!(killed > 1, "{name}");
        host.assert_is_as_before(name);
    }
}

#[test]
fn without_a_journal_nothing_is_changed() {
    let case = Case::of(OF_BASE);
    let (host, journal) = (case.cpus.host(), case.cpus.root().join("missing/journal"));
    let recipe = recipe(&host).unwrap();
    let held = Hold::begin(host, Box::new(Kernel::default()), recipe, &journal);
    let error = held.err().unwrap().to_string();
    assert!(error.contains("Nothing was changed"), "{error}");
    case.assert_is_as_before(&error);
}

#[test]
fn read_only_files_are_noticed_before_anything_is_changed() {
    let case = Case::of(OF_BASE);
    let script = r#"mount --bind -o ro "$HOST" "$HOST"
        exec "$RUNNER" plan --mode fixed --host "$HOST""#;
    if let Some(output) = namespace::run(script, &[("HOST", case.cpus.root())]) {
        let reason = "cannot be written: Read-only file system";
        output.assert().code(4).stderr(contains(reason));
    }
}

#[test]
fn a_journal_of_another_user_is_not_obeyed() {
    let host = Case::of(OF_BASE);
    assert!(host.kill_at(4), "a fix has more steps");
    let nobody = rustix::fs::Uid::from_raw(65_534);
    if rustix::fs::chown(host.cpus.journal(), Some(nobody), None).is_err() {
        namespace::skip("files cannot be given away here; run this test as root");
        return;
    }
    let changed = host.cpus.bytes();
    let refused = host.restore().code(4);
    refused.stderr(contains("user 65534 has fixed the frequency"));
    assert_eq!(host.cpus.bytes(), changed);
}
