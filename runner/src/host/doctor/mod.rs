//! Checks whether this host is currently fit for a sweep, and names remedies.
//!
//! Every check reads files below a [`Host`], which tests mock, or the [`Circumstances`]; no check
//! changes anything.

mod circumstances;
mod clock;
mod cpus;
mod diagnosis;

pub use crate::host::stacking::Stacking;
pub use circumstances::{Circumstances, Disk, Tool};
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
    tools(around, &mut diagnosis);
    diagnosis.findings.sort_by_key(|finding| finding.severity);
    diagnosis
}

/// Returns the findings that make current times doubtful, as far as files show them at once. They
/// are for a user who begins a sweep without running the doctor.
#[must_use]
pub fn first_look(host: &Host) -> Vec<Finding> {
    let mut diagnosis = Diagnosis::default();
    check_files(host, &mut diagnosis);
    diagnosis
        .findings
        .retain(|finding| finding.severity == Unfit);
    diagnosis.findings
}

fn check_files(host: &Host, diagnosis: &mut Diagnosis) {
    clock::check(host, diagnosis);
    cpus::check(host, diagnosis);
    load(host, diagnosis);
    steal(host, diagnosis);
    interrupts(host, diagnosis);
}

/// Load average per CPU from which the doctor reports it, and from which other programs affect
/// times. Guesses.
const BUSY: [f64; 2] = [0.1, 0.5];
/// The same two limits for the share of time that a hypervisor gave to others since boot.
const STOLEN: [f64; 2] = [0.001, 0.02];

fn another_sweep(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let is_running = around.is_another_sweep_running.clone();
    let Some(is_running) = diagnosis.known("whether another sweep runs", is_running) else {
        return;
    };
    if is_running {
        diagnosis.add(
            Unfit,
            "another-sweep",
            "the lock file of this host is held",
            "two sweeps at once would disturb each other",
            "wait for it, or end it with Ctrl-C; `cargo runner sweep --resume` continues it",
        );
    } else {
        diagnosis.good("no other sweep runs");
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
        "end them (`top -o %CPU` shows them) and wait a minute, since the number is an average",
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
            "it moves interrupts between CPUs every ten seconds; that matters if CPUs are isolated for \
             trials",
            "sudo systemctl stop irqbalance",
        );
    }
}

/// Bytes that a folder should have left, and below which a sweep will probably not end. Both are
/// guesses: ten branches in eleven link orders take about half of the first, a sweep's records some
/// megabytes.
const ROOM: [u64; 2] = [2 << 30, 100 << 20];

/// The programs and the disk space that a sweep needs.
fn tools(around: &Circumstances, diagnosis: &mut Diagnosis) {
    let mut tool = |seen: Result<String, String>, severity, id, why, remedy| match seen {
        Ok(version) => diagnosis.good(version),
        Err(reason) => diagnosis.add(severity, id, reason, why, remedy),
    };
    for Tool { name, seen } in &around.compilers {
        tool(
            seen.clone()
                .map_err(|reason| format!("`{name} --version`: {reason}")),
            Unfit,
            "compiler",
            "branches cannot be built",
            "install Rust by rustup, which reads rust-toolchain.toml, and put ~/.cargo/bin into PATH",
        );
    }
    tool(
        around.linker.clone(),
        Warning,
        "linker",
        "branches cannot be linked in several link orders, so the effect of code layout cannot be separated \
         from that of a design",
        "install LLVM's linker (Debian: `apt install lld`) and link with it, or use `--layouts 1`",
    );
    tool(
        around.python.clone(),
        Warning,
        "python",
        "sweeps run, but `cargo runner report` cannot draw them",
        "install Python and its module venv (Debian: `apt install python3-venv`)",
    );
    disks(around, diagnosis);
}

fn disks(around: &Circumstances, diagnosis: &mut Diagnosis) {
    for disk in &around.disks {
        let folder = &disk.folder;
        if !disk.is_writable {
            diagnosis.add(
                Unfit,
                "folder",
                format!("{folder}/ cannot be written"),
                "neither binaries nor results can be kept",
                "make it writable; for results alone, `--output DIR` names another folder",
            );
            continue;
        }
        let free = disk.free_bytes.ok_or("statvfs is refused".to_owned());
        let Some(free) = diagnosis.known(&format!("room for {folder}/"), free) else {
            continue;
        };
        let shown = format!("{:.1} GiB", free as f64 / f64::from(1 << 30));
        if free >= ROOM[0] {
            diagnosis.good(format!("{shown} are free for {folder}/"));
            continue;
        }
        diagnosis.add(
            if free < ROOM[1] { Unfit } else { Warning },
            "disk",
            format!("{shown} are free for {folder}/"),
            "a sweep stops when the disk is full; its records are safe, and it can be resumed",
            "make room: `cargo clean` empties target/, or `--output DIR` names another folder for results",
        );
    }
}
