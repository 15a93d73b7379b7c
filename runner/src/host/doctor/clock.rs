//! Checks the programs and settings that decide the CPUs' clock.

use std::collections::BTreeSet;

use super::Severity::{Note, Unfit, Warning};
use super::{Circumstances, Diagnosis};
use crate::host::frequency::recipe;
use crate::host::frequency::sysfs::{GOVERNOR, Policy};
use crate::host::{CPUS, Fact, Host, show_cpus, start_of};

/// Services that write the files with which the runner fixes a frequency. The kernel shows only the
/// first fifteen characters of a process's name.
const FIGHTS: [&str; 8] = [
    "auto-cpufreq",
    "cpufreqd",
    "gamemoded",
    "intel_lpmd",
    "power-profiles-daemon",
    "thermald",
    "tlp",
    "tuned",
];

pub(super) fn check_setup(host: &Host, around: &Circumstances, diagnosis: &mut Diagnosis) {
    frequency(host, around, diagnosis);
    measured(around, diagnosis);
    match &around.fix_in_force {
        Some(fix) => diagnosis.add(
            Unfit,
            "fix-left",
            fix,
            "the host does not have its original settings",
            "cargo runner frequency restore",
        ),
        None => diagnosis.good("no fixed frequency was left behind"),
    }
}

pub(super) fn check(host: &Host, diagnosis: &mut Diagnosis) {
    let policies = host.used_policies();
    // No file shows or sets the frequency of a CPU without a policy.
    let is_without = |cpu: &usize| policies.iter().all(|policy| !policy.cpus.contains(cpu));
    let without = host.used_cpus().into_iter().filter(is_without);
    let without: Vec<usize> = without.collect();
    let is_of_all = policies.is_empty() || without.is_empty();
    if !is_of_all {
        let reason = format!(
            "no policy in /{CPUS}/cpufreq has CPU {}",
            start_of(&show_cpus(&without))
        );
        for what in ["frequency governor", "boost", "limits of the frequency"] {
            diagnosis.unknown(what, &reason);
        }
    }
    let in_order = diagnosis.in_order.len();
    governors(host, &policies, diagnosis);
    boost(host, &policies, diagnosis);
    cap(host, &policies, diagnosis);
    if !is_of_all {
        // If only some CPUs have a policy, the policies do not show that all CPUs are in order.
        diagnosis.in_order.truncate(in_order);
    }
    fights(host, &policies, diagnosis);
    heat(host, diagnosis);
    power(host, diagnosis);
}

fn frequency(host: &Host, around: &Circumstances, diagnosis: &mut Diagnosis) {
    let reason = match &around.fixable {
        Ok(how) => return diagnosis.good(format!("the frequency can be fixed at {how}")),
        Err(reason) => reason,
    };
    let remedy = if !host.policies().is_empty() {
        "if only the permission is missing, run as root or let sudo allow `cpufreq-set` (runner/README.md, CPU \
         frequency)"
    } else if host.is_virtual() == Ok(true) {
        "measure on bare metal; on this host, compare branches only at equal thread counts"
    } else {
        "load the processor's frequency driver, if Linux has one (`modprobe acpi-cpufreq`, or intel_pstate and \
         amd_pstate on the kernel's command line)"
    };
    let why = "mode `fixed` is not possible: the clock may change between trials and with the number of busy \
               CPUs. Trials are labelled `uncontrolled`, or `dynamic` if there is a driver";
    diagnosis.add(Unfit, "frequency-control", reason, why, remedy);
}

fn all<T>(
    files: impl IntoIterator<Item = String>,
    read: impl Fn(&str) -> Fact<T>,
) -> Fact<Vec<(T, String)>> {
    let contents = files.into_iter().map(|file| Ok((read(&file)?, file)));
    contents.collect()
}

fn governors(host: &Host, policies: &[Policy], diagnosis: &mut Diagnosis) {
    let files = policies.iter().map(|policy| policy.file(GOVERNOR));
    let governors = all(files, |file| host.read(file));
    let Some(mut others) = diagnosis.known("frequency governor", governors) else {
        return;
    };
    others.retain(|(governor, _)| governor != "performance");
    if let Some((governor, file)) = others.first() {
        diagnosis.add(
            Warning,
            "governor",
            format!("/{file} = {governor} ({} of {} policies)", others.len(), policies.len()),
            "in mode `dynamic` the clock rises some time after work begins, so designs that sleep more are \
             slower",
            "sudo cpupower frequency-set -g performance, or `--mode fixed`, which sets it and restores it",
        );
    } else if !policies.is_empty() {
        diagnosis.good("the governor is `performance`");
    }
}

fn boost(host: &Host, policies: &[Policy], diagnosis: &mut Diagnosis) {
    let of_host = ["cpufreq/boost", "intel_pstate/no_turbo"].map(|it| format!("{CPUS}/{it}"));
    let of_policies = policies.iter().map(|policy| policy.file("boost"));
    let mut files: Vec<String> = of_host.into_iter().chain(of_policies).collect();
    files.retain(|file| host.is_there(file) != Ok(false));
    if files.is_empty() {
        let reason = format!("no file below /{CPUS} says whether it is allowed");
        return diagnosis.unknown("boost", &reason);
    }
    let Some(switches) = diagnosis.known("boost", all(files, |file| host.flag(file))) else {
        return;
    };
    let mut switches = switches.into_iter();
    let allows = |(is_one, file): &(bool, String)| *is_one != file.ends_with("no_turbo");
    let Some((is_one, file)) = switches.find(allows) else {
        return diagnosis.good("boost is off");
    };
    let (on, off) = (u8::from(is_one), u8::from(!is_one));
    diagnosis.add(
        Warning,
        "boost",
        format!("/{file} = {on}"),
        "in mode `dynamic` the clock is higher when few CPUs are busy, which bends every speed-up curve",
        format!("echo {off} | sudo tee /{file}, or measure with `--mode fixed`"),
    );
}

fn cap(host: &Host, policies: &[Policy], diagnosis: &mut Diagnosis) {
    let Some(cap) = diagnosis.known("limits of the frequency", recipe::cap(host, policies)) else {
        return;
    };
    match cap {
        Some(seen) => diagnosis.add(
            Warning,
            "frequency-cap",
            seen,
            "in mode `dynamic` the CPUs run slower than they could, but memory does not",
            "end the program that set the limit (a power profile, TLP, the firmware), or measure with `--mode \
             fixed`",
        ),
        None if !policies.is_empty() => {
            diagnosis.good("no limit keeps the CPUs below the frequency that they can hold without boost");
        }
        None => {}
    }
}

fn measured(around: &Circumstances, diagnosis: &mut Diagnosis) {
    match around.clock {
        Some(Some(clock)) => diagnosis.good(format!("the measured clock is {clock}")),
        Some(None) => diagnosis.add(
            Warning,
            "clock",
            "a chain of additions and one of multiplications, run on all CPUs at once, do not agree within 2 %, or cannot run",
            "CPUs change their clock, or other programs use these CPUs; trials will have no measured clock",
            "end other programs (`top`), then run the doctor again",
        ),
        None => diagnosis.unknown("the clock", "it is measured on the running system only"),
    }
}

fn fights(host: &Host, policies: &[Policy], diagnosis: &mut Diagnosis) {
    let (mut seen, mut services) = (Vec::new(), BTreeSet::new());
    let processes = diagnosis.known("which services run", host.processes());
    for (process, name) in processes.iter().flatten() {
        if let Some(service) = FIGHTS.iter().find(|it| it.get(..15).unwrap_or(it) == name) {
            seen.push(format!("process {process} is `{name}`"));
            services.insert(*service);
        }
    }
    // TLP has no process: it writes its settings once, and again when the power supply changes.
    if host.path("run/tlp").is_dir() {
        seen.push("/run/tlp is there".to_owned());
        services.insert("tlp");
    }
    if services.is_empty() {
        if processes.is_some() {
            diagnosis.good("no service is known to change the clock");
        }
        return;
    }
    let services: Vec<&str> = services.into_iter().collect();
    diagnosis.add(
        if policies.is_empty() { Note } else { Warning },
        "clock-service",
        seen.join("; "),
        "the service changes governor, limits or boost by itself; trials of mode `fixed` then become `fixed-failed`",
        format!("sudo systemctl stop {}", services.join(" ")),
    );
}

fn heat(host: &Host, diagnosis: &mut Diagnosis) {
    let counts = host.throttle_counts();
    let counts = counts.and_then(|files| all(files, |file| host.number(file)));
    let Some(counts) = diagnosis.known("whether heat slows the CPUs down", counts) else {
        return;
    };
    let Some((count, file)) = counts.iter().find(|(count, _)| *count > 0) else {
        return diagnosis.good("heat has not slowed the CPUs down since the system started");
    };
    diagnosis.add(
        Warning,
        "heat",
        format!("/{file} = {count}"),
        "heat has slowed CPUs down since the system started, so late trials may run at another clock than \
         early ones",
        "better cooling, or a lower frequency; `throttles` in trials.jsonl shows the affected trials",
    );
}

fn power(host: &Host, diagnosis: &mut Diagnosis) {
    match diagnosis.known("the power supply", host.is_on_battery()) {
        Some(true) => diagnosis.add(
            Unfit,
            "battery",
            "/sys/class/power_supply says that the machine runs from its battery",
            "firmware lowers clocks to save power",
            "plug the power supply in",
        ),
        Some(false) => diagnosis.good("the machine does not run from a battery"),
        None => {}
    }
}
