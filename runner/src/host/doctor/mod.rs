//! Checks whether this host is fit for a sweep, and names remedies. Every check reads files below a
//! [`Host`], which tests mock, or the [`Circumstances`]; no check changes anything.

mod circumstances;
mod clock;
mod cpus;
mod diagnosis;

use std::time::Duration;

pub use crate::host::stacking::Stacking;
pub use circumstances::Circumstances;
pub use diagnosis::{Diagnosis, Finding, Severity};

use self::Severity::{Note, Unfit, Warning};
use crate::host::Host;
use crate::text::words::count;

/// Examines a host.
#[must_use]
pub fn examine(host: &Host, around: &Circumstances) -> Diagnosis {
    let mut diagnosis = Diagnosis::default();
    clock::check_setup(host, around, &mut diagnosis);
    cpus::check_number(around, &mut diagnosis);
    cpus::check_stacking(around, &mut diagnosis);
    cpus::check_fences(around, &mut diagnosis);
    another_sweep(around, &mut diagnosis);
    check_files(host, &mut diagnosis);
    diagnosis.findings.sort_by_key(|finding| finding.severity);
    diagnosis
}

/// Returns the findings of severity UNFIT that the host's files show, for a user who begins a sweep
/// without running the doctor.
#[must_use]
pub fn first_look(host: &Host) -> Vec<Finding> {
    let mut diagnosis = Diagnosis::default();
    check_files(host, &mut diagnosis);
    // The load average covers a minute, so it may be that of programs that have ended, such as the
    // build of this runner.
    let has_ended = || host.busy_share(LOOK).is_ok_and(|share| share < BUSY[0]);
    diagnosis
        .findings
        .retain(|finding| finding.severity == Unfit && !(finding.id == "load" && has_ended()));
    diagnosis.findings
}

fn check_files(host: &Host, diagnosis: &mut Diagnosis) {
    clock::check(host, diagnosis);
    cpus::check(host, diagnosis);
    load(host, diagnosis);
    steal(host, diagnosis);
    interrupts(host, diagnosis);
}

/// How long [`first_look`] watches the CPUs if the load average is high. A guess.
const LOOK: Duration = Duration::from_millis(500);

/// Load averages per CPU: from the first on, the doctor warns; from the second on, it finds the
/// host unfit. Guesses.
const BUSY: [f64; 2] = [0.1, 0.5];
/// Shares of CPU time since boot that a hypervisor gave to its other guests: from the first on, the
/// doctor warns; from the second on, it finds the host unfit.
const STOLEN: [f64; 2] = [0.001, 0.02];

fn another_sweep(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let is_running = around.is_another_sweep_running.clone();
    match diagnosis.known("whether another sweep runs", is_running) {
        None => {}
        Some(false) => diagnosis.good("no other sweep runs"),
        Some(true) => diagnosis.add(
            Unfit,
            "another-sweep",
            "the lock file of this host is held",
            "two sweeps at once would disturb each other",
            "wait for the other sweep, or end it with Ctrl-C; `cargo runner sweep --resume` continues it",
        ),
    }
}

fn load(host: &Host, diagnosis: &mut Diagnosis) {
    let load = diagnosis.known("the load", host.load());
    let cpus = diagnosis.known("the CPUs that are online", host.cpus());
    let Some((load, cpus)) = load.zip(cpus) else {
        return;
    };
    let cpus = cpus.len().max(1);
    let [told, too_much] = BUSY.map(|share| share * cpus as f64);
    if load < told {
        return diagnosis.good(format!("the load is {load:.2}"));
    }
    diagnosis.add(
        if load < too_much { Warning } else { Unfit },
        "load",
        format!(
            "/proc/loadavg = {load:.2} over the last minute, on {}",
            count(cpus, "CPU", "CPUs")
        ),
        "other programs take CPUs away from trials, and from some branches more than from others",
        "end these programs (`top -o %CPU` shows them) and wait a minute",
    );
}

fn steal(host: &Host, diagnosis: &mut Diagnosis) {
    let Some(share) = diagnosis.known("stolen time", host.steal_share()) else {
        return;
    };
    let percent = 100.0 * share;
    if share < STOLEN[0] {
        return diagnosis.good(format!(
            "{percent:.2} % of CPU time was stolen since the system started"
        ));
    }
    diagnosis.add(
        if share < STOLEN[1] { Warning } else { Unfit },
        "steal",
        format!("/proc/stat: {percent:.1} % of CPU time was stolen since the system started"),
        "the hypervisor gives these CPUs to its other guests for part of the time",
        "use a dedicated host or a quieter hour; `steal_ns` in trials.jsonl shows the affected trials",
    );
}

fn interrupts(host: &Host, diagnosis: &mut Diagnosis) {
    let processes = diagnosis.known("which services run", host.processes());
    let mut processes = processes.unwrap_or_default().into_iter();
    if let Some((process, _)) = processes.find(|(_, name)| name == "irqbalance") {
        diagnosis.add(
            Note,
            "interrupts",
            format!("process {process} is `irqbalance`"),
            "irqbalance moves interrupts between CPUs every ten seconds; this matters if CPUs are isolated for trials",
            "sudo systemctl stop irqbalance",
        );
    }
}
