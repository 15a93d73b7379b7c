//! A runner that ends at every single step between the journal and the last restored byte, in every
//! way in which processes end: afterwards, or after `frequency restore`, the host is byte for byte
//! as it was.
//!
//! `cargo xtask faults` does this on every driver; plain `cargo test` on one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::cpus::{Cpus, Kernel, Quirks};
use crate::{common, namespace};
use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;
use runner::host::frequency::backend::Backend;
use runner::host::frequency::hold::{self, Held};
use runner::host::frequency::journal::Journal;
use runner::host::frequency::recipe::recipe;
use runner::host::frequency::tree::{Kind, Knob, Tree};
use runner::system::interrupt;
use rustix::process::{Signal, getpid, kill_process};

/// Which drivers: `all`, or by default the one with the most files.
const DRIVERS: &str = "FREQUENCY_FAULTS";
/// Variables for the process to be ended: folder, journal, number of the step, fault.
const TOLD: [&str; 4] = ["FAULT_SYSFS", "FAULT_JOURNAL", "FAULT_STEP", "FAULT_KIND"];

/// Kills its process just before a write, which its number tells.
struct Faulty {
    kernel: Kernel,
    steps_left: usize,
    fault: String,
    /// Written when the fault happens.
    fired: PathBuf,
}

impl Backend for Faulty {
    fn name(&self) -> &'static str {
        "faulty"
    }

    fn can_set(&self, kind: Kind) -> bool {
        self.kernel.can_set(kind)
    }

    fn set(&mut self, tree: &Tree, knob: Knob, value: &[u8]) -> anyhow::Result<()> {
        if self.steps_left == 0 {
            self.steps_left = usize::MAX;
            std::fs::write(&self.fired, "").unwrap();
            let signal = match self.fault.as_str() {
                "panic" => panic!("a fault at {knob}"),
                "SIGINT" => Signal::INT,
                "SIGTERM" => Signal::TERM,
                _ => Signal::KILL,
            };
            kill_process(getpid(), signal).unwrap();
        }
        self.steps_left -= 1;
        self.kernel.set(tree, knob, value)
    }
}

/// Acts as a runner does: catches signals; puts back what a journal says, or fixes and puts back.
#[test]
#[ignore = "is started by the other tests as a process of its own, which has to end"]
fn the_process_to_be_ended() {
    let [sysfs, journal, step, fault] = TOLD.map(|name| std::env::var(name).unwrap());
    interrupt::install().unwrap();
    let (tree, journal) = (Tree::at(Path::new(&sysfs)), Path::new(&journal));
    let kernel = Kernel::new(Quirks::default());
    let (steps_left, fired) = (step.parse().unwrap(), journal.with_extension("fired"));
    let mut backend = Faulty {
        kernel,
        steps_left,
        fault,
        fired,
    };
    if let Some(found) = Journal::open(journal, &tree).unwrap() {
        hold::put_back(&tree, &mut backend, found).unwrap();
        return;
    }
    let recipe = recipe(&tree, &[0, 1]).unwrap();
    drop(Held::begin(tree, Box::new(backend), recipe, journal).unwrap());
}

struct Host {
    cpus: Cpus,
    folder: tempfile::TempDir,
    before: BTreeMap<PathBuf, Vec<u8>>,
}

impl Host {
    fn new(cpus: Cpus) -> Self {
        let before = cpus.bytes();
        Self {
            cpus,
            folder: tempfile::tempdir().unwrap(),
            before,
        }
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal.json")
    }

    /// Runs the process and ends it before its write number `step`; `None` if it got through
    /// before.
    fn end_at(&self, step: usize, fault: &str) -> Option<Output> {
        let values: [OsString; 4] = [
            self.cpus.path().into(),
            self.journal().into(),
            step.to_string().into(),
            fault.into(),
        ];
        let output = Command::new(std::env::current_exe().unwrap())
            .args([
                "--ignored",
                "--exact",
                "frequency::faults::the_process_to_be_ended",
            ])
            .envs(TOLD.into_iter().zip(values))
            .output()
            .unwrap();
        let fired = self.journal().with_extension("fired");
        if fired.exists() {
            std::fs::remove_file(fired).unwrap();
            return Some(output);
        }
        assert!(output.status.success(), "{output:?}");
        None
    }

    fn is_as_before(&self) -> bool {
        self.cpus.bytes() == self.before
    }

    /// `cargo runner frequency restore`, which writes plain files here: what the kernel does by
    /// itself with a governor, to show no request under any but `userspace`, is done for it.
    fn restore(&self) {
        self.frequency("restore")
            .assert()
            .success()
            .stderr(contains("restored"));
        for policy in 0..2 {
            let file = |name: &str| format!("cpufreq/policy{policy}/{name}");
            let governor = std::fs::read(self.cpus.path().join(file("scaling_governor"))).unwrap();
            if governor != b"userspace\n" {
                self.cpus.write(&file("scaling_setspeed"), "<unsupported>");
            }
        }
    }

    /// `cargo runner frequency VERB` on this host.
    fn frequency(&self, verb: &str) -> Command {
        let mut command = common::runner(self.folder.path());
        command
            .args(["frequency", verb, "--sysfs"])
            .arg(self.cpus.path());
        command.arg("--frequency-journal").arg(self.journal());
        command
    }
}

/// Ends a process at every step, each time on a host as new, until one gets through.
fn end_at_every_step(driver: &str, fault: &str, check: impl Fn(&Host, &Output)) {
    for step in 0.. {
        let host = Host::new(Cpus::all().remove(driver).unwrap());
        let output = host.end_at(step, fault);
        if let Some(output) = &output {
            check(&host, output);
        }
        assert!(
            host.is_as_before(),
            "{driver}, {fault} at step {step}: {output:?}"
        );
        assert!(
            !host.journal().exists(),
            "{driver}, {fault} at step {step}: {output:?}"
        );
        if output.is_none() {
            // At the very least a limit and something else of two policies, there and back.
            assert!(step >= 8, "{driver}: only {step} steps");
            return;
        }
    }
}

fn drivers() -> Vec<&'static str> {
    let all = std::env::var(DRIVERS).is_ok_and(|drivers| drivers == "all");
    if all {
        Cpus::all().into_keys().collect()
    } else {
        vec!["intel_pstate"]
    }
}

#[test]
fn sigint_and_sigterm_at_any_step_leave_the_host_as_it_was() {
    for driver in drivers() {
        for fault in ["SIGINT", "SIGTERM"] {
            end_at_every_step(driver, fault, |_, output| {
                assert!(output.status.success(), "{output:?}");
            });
        }
    }
}

#[test]
fn a_panic_at_any_step_leaves_the_host_as_it_was_or_a_journal_to_restore_from() {
    for driver in drivers() {
        end_at_every_step(driver, "panic", |host, output| {
            assert_eq!(output.status.code(), Some(101), "{output:?}");
            if host.journal().exists() {
                host.restore();
            }
        });
    }
}

#[test]
fn after_sigkill_at_any_step_restore_gives_back_every_byte() {
    for driver in drivers() {
        end_at_every_step(driver, "SIGKILL", |host, output| {
            assert_eq!(output.status.signal(), Some(9), "{output:?}");
            host.restore();
        });
    }
}

#[test]
fn restores_that_are_killed_themselves_are_gone_on_with_by_the_next() {
    for driver in drivers() {
        let host = Host::new(Cpus::all().remove(driver).unwrap());
        host.end_at(6, "SIGKILL").expect("a fix has more steps");
        assert!(!host.is_as_before());
        // Each gets one step further, as far as there is anything left to put back.
        let killed = (0..1000)
            .take_while(|step| host.end_at(*step, "SIGKILL").is_some())
            .count();
        assert!(killed > 1, "{driver}");
        assert!(host.is_as_before(), "{driver}");
        assert!(!host.journal().exists(), "{driver}");
    }
}

#[test]
fn fix_and_restore_by_hand_are_exact_and_status_tells_between_them() {
    let host = Host::new(Cpus::amd_pstate_epp());
    host.frequency("status")
        .assert()
        .success()
        .stdout(contains("can be fixed at 2000000 kHz, by sysfs"));
    host.frequency("fix").assert().success().stderr(contains(
        "all CPUs that trials may use are set to 2000000 kHz",
    ));
    assert!(!host.is_as_before());
    host.frequency("status")
        .assert()
        .success()
        .stdout(contains("fix in force: 2000000 kHz since"));
    host.frequency("fix")
        .assert()
        .code(4)
        .stderr(contains("frequency restore` first"));
    host.frequency("restore")
        .assert()
        .success()
        .stderr(contains("everything is as it was before"));
    assert!(host.is_as_before());
    host.frequency("restore")
        .assert()
        .success()
        .stderr(contains("nothing to restore"));
}

#[test]
fn status_as_json_is_data() {
    let host = Host::new(Cpus::intel_pstate());
    let output = host
        .frequency("status")
        .args(["--format", "json"])
        .output()
        .unwrap();
    let status: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["fixable_khz"], 2_000_000);
    assert_eq!(status["policies"][1]["governor"], "powersave");
    assert_eq!(status["fix_in_force"], serde_json::Value::Null);
}

#[test]
fn a_fix_that_is_not_possible_is_a_host_not_fit() {
    let host = Host::new(Cpus::cppc());
    host.cpus.write("cpufreq/policy0/scaling_driver", "made-up");
    host.frequency("fix")
        .assert()
        .code(4)
        .stderr(contains("no recipe for the frequency driver"));
    host.frequency("status")
        .assert()
        .success()
        .stdout(contains("cannot be fixed"));
}

#[test]
fn a_full_disk_is_noticed_before_anything_is_changed() {
    let host = Host::new(Cpus::intel_pstate());
    let script = r#"
        mount -t tmpfs -o size=16k none /mnt
        dd if=/dev/zero of=/mnt/filler bs=1k count=64 2>/dev/null || true
        exec "$RUNNER" frequency fix --sysfs "$SYSFS" --frequency-journal /mnt/journal
    "#;
    let Some(output) = namespace::run(script, &[("SYSFS", host.cpus.path())]) else {
        return;
    };
    output
        .assert()
        .code(4)
        .stderr(contains("Nothing was changed"))
        .stderr(contains("space left"));
    assert!(host.is_as_before());
}

#[test]
fn files_on_a_read_only_system_are_refused_before_anything_is_changed() {
    let host = Host::new(Cpus::intel_pstate());
    let script = r#"
        mount --bind -o ro "$SYSFS" "$SYSFS"
        exec "$RUNNER" frequency fix --sysfs "$SYSFS" --frequency-journal "$JOURNAL"
    "#;
    let journal = host.journal();
    let variables = [("SYSFS", host.cpus.path()), ("JOURNAL", &*journal)];
    let Some(output) = namespace::run(script, &variables) else {
        return;
    };
    output
        .assert()
        .code(4)
        .stderr(contains("cannot be written: Read-only file system"));
    assert!(host.is_as_before());
    assert!(!journal.exists());
}

#[test]
fn a_journal_of_another_user_is_not_obeyed() {
    let host = Host::new(Cpus::intel_pstate());
    host.end_at(4, "SIGKILL").expect("a fix has more steps");
    let nobody = rustix::fs::Uid::from_raw(65_534);
    if rustix::fs::chown(host.journal(), Some(nobody), None).is_err() {
        namespace::skip("files cannot be given away here; run this test as root");
        return;
    }
    let changed = host.cpus.bytes();
    host.frequency("restore")
        .assert()
        .code(4)
        .stderr(contains("user 65534 has fixed the frequency"));
    assert_eq!(host.cpus.bytes(), changed);
}
