//! Checks whether other programs use the CPUs.

use super::Severity::{Note, Unfit, Warning};
use super::{Circumstances, Diagnosis};
use crate::host::Host;
use crate::text::words::count;

/// Load average per CPU from which the doctor reports it, and from which times show the neighbours.
/// Guesses.
const BUSY: [f64; 2] = [0.1, 0.5];
/// The same for the share of time that a hypervisor gave to others since boot.
const STOLEN: [f64; 2] = [0.001, 0.02];

pub(super) fn check_sweeps(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let is_running = around.is_another_sweep_running.clone();
    let Some(is_running) = diagnosis.known("whether another sweep runs", is_running) else {
        return;
    };
    if is_running {
        diagnosis.add(
            Unfit,
            "another-sweep",
            "the lock file of this host is held",
            "two sweeps at once would measure each other",
            "wait for it, or end it with Ctrl-C; `cargo runner sweep --resume` goes on with it",
        );
    } else {
        diagnosis.good("no other sweep runs");
    }
}

pub(super) fn check(host: &Host, diagnosis: &mut Diagnosis) {
    load(host, diagnosis);
    steal(host, diagnosis);
    interrupts(host, diagnosis);
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
        "end it (`top -o %CPU` shows it) and wait a minute, since the number is an average",
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
        "the hypervisor gives these CPUs to its other guests for part of the time, which makes \
         some trials longer",
        "a host of your own or a quieter hour; `steal_ns` in trials.jsonl tells the trials",
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
            "it moves interrupts between CPUs every ten seconds; that matters where CPUs are set apart for \
             trials",
            "sudo systemctl stop irqbalance",
        );
    }
}
