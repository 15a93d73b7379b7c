//! Checks the programs and settings that decide the CPUs' clock.

use super::Severity::{Note, Unfit, Warning};
use super::{Circumstances, Diagnosis};
use crate::host::frequency::recipe;
use crate::host::frequency::sysfs::{Policy, Tree};
use crate::host::{CPUS, Host, show_cpus, start_of};

/// Services that write the files by which a frequency is fixed, and the name of each one's process.
/// The kernel shows fifteen characters of a name.
const FIGHTS: [(&str, &str); 8] = [
    ("power-profiles-", "power-profiles-daemon"),
    ("tuned", "tuned"),
    ("thermald", "thermald"),
    ("auto-cpufreq", "auto-cpufreq"),
    ("tlp", "tlp"),
    ("cpufreqd", "cpufreqd"),
    ("gamemoded", "gamemoded"),
    ("intel_lpmd", "intel_lpmd"),
];

pub(super) fn check_setup(host: &Host, around: &Circumstances, diagnosis: &mut Diagnosis) {
    frequency(host, around, diagnosis);
    measured(around, diagnosis);
    leftover(around, diagnosis);
}

pub(super) fn check(host: &Host, diagnosis: &mut Diagnosis) {
    let tree = Tree::at(&host.path(CPUS));
    let used = tree.used_cpus();
    let (policies, without) = (tree.policies_of(&used), tree.without_policy(&used));
    let is_of_all = policies.is_empty() || without.is_empty();
    if !is_of_all {
        let reason = format!(
            "no policy in /{CPUS}/cpufreq has CPU {}",
            start_of(&show_cpus(&without))
        );
        for what in ["frequency governor", "boost", "limits of the frequency"] {
            diagnosis.known::<()>(what, Err(reason.clone()));
        }
    }
    // Policies of some CPUs do not show that all CPUs are in order.
    let mut of_policies = Diagnosis::default();
    governors(host, &policies, &mut of_policies);
    boost(host, &policies, &mut of_policies);
    cap(&tree, &policies, &mut of_policies);
    if !is_of_all {
        of_policies.in_order.clear();
    }
    diagnosis.extend(of_policies);
    fights(host, &policies, diagnosis);
    heat(host, diagnosis);
    power(host, diagnosis);
}

fn frequency(host: &Host, around: &Circumstances, diagnosis: &mut Diagnosis) {
    let reason = match &around.fixable {
        Ok(how) => return diagnosis.good(format!("the frequency can be fixed at {how}")),
        Err(reason) => reason.clone(),
    };
    let has_driver = !Tree::at(&host.path(CPUS)).policies().is_empty();
    let remedy = if has_driver {
        "see `cargo runner frequency status`; if only the permission is missing, run as root or let sudo allow \
         `cpufreq-set` (runner/README.md, CPU frequency)"
    } else if host.is_virtual() == Ok(true) {
        "measure on bare metal, not in a virtual machine: `cargo runner sweep --mode fixed`. On this host, \
         compare branches only at equal thread counts (`--mode dynamic`)"
    } else if host.read("proc/cpuinfo").is_ok() && host.cpu_field("flags").is_err() {
        "load the frequency driver of this processor, if Linux has one"
    } else {
        "load the CPU's frequency driver (`modprobe acpi-cpufreq`; intel_pstate and amd_pstate are chosen on \
         the kernel's command line and in the firmware's setup)"
    };
    let why = "mode `fixed` is not possible: the clock may change between trials and with the number of busy \
               CPUs, and the runner cannot prevent that. Trials are labelled `uncontrolled`, or `dynamic` if there is a \
               driver";
    diagnosis.add(Unfit, "frequency-control", reason, why, remedy);
}

fn governors(host: &Host, policies: &[Policy], diagnosis: &mut Diagnosis) {
    let mut others = Vec::new();
    let mut is_known = !policies.is_empty();
    for policy in policies {
        let file = format!("{CPUS}/{}", policy.file("scaling_governor"));
        match diagnosis.known("frequency governor", host.read(&file)) {
            Some(governor) if governor != "performance" => others.push((file, governor)),
            governor => is_known &= governor.is_some(),
        }
    }
    if let Some((file, governor)) = others.first() {
        diagnosis.add(
            Warning,
            "governor",
            format!("/{file} = {governor} ({} of {} policies)", others.len(), policies.len()),
            "in mode `dynamic` the clock rises some time after work begins, and trials measure \
             that time, too. A design that sleeps more is slowed down twice",
            "sudo cpupower frequency-set -g performance, or measure with `--mode fixed`, which sets it and \
             restores it afterwards",
        );
    } else if is_known {
        diagnosis.good("the governor is `performance`");
    }
}

fn boost(host: &Host, policies: &[Policy], diagnosis: &mut Diagnosis) {
    let of_policies = policies.iter().map(|policy| policy.file("boost"));
    let of_host = ["cpufreq/boost", "intel_pstate/no_turbo"].map(str::to_owned);
    let (mut is_known, mut is_unclear) = (false, false);
    for file in of_host.into_iter().chain(of_policies) {
        let off = if file.ends_with("no_turbo") { "1" } else { "0" };
        let file = format!("{CPUS}/{file}");
        if host.is_there(&file) == Ok(false) {
            continue; // no host has all of them
        }
        let Some(is_one) = diagnosis.known("boost", host.flag(&file)) else {
            is_unclear = true;
            continue;
        };
        if is_one == (off == "0") {
            return diagnosis.add(
                Warning,
                "boost",
                format!("/{file} = {}", u8::from(is_one)),
                "the clock is higher when few CPUs are busy, so in mode `dynamic` every speed-up curve bends for a \
                 reason that is not the scheduler",
                format!("echo {off} | sudo tee /{file}, or measure with `--mode fixed`"),
            );
        }
        is_known = true;
    }
    if is_known && !is_unclear {
        diagnosis.good("boost is off");
    } else if !is_unclear {
        let reason = format!("no file below /{CPUS} says whether it is allowed");
        diagnosis.known::<()>("boost", Err(reason));
    }
}

fn cap(tree: &Tree, policies: &[Policy], diagnosis: &mut Diagnosis) {
    let Some(cap) = diagnosis.known("limits of the frequency", recipe::cap(tree, policies)) else {
        return;
    };
    match cap {
        Some(seen) => diagnosis.add(
            Warning,
            "frequency-cap",
            seen,
            "in mode `dynamic` the CPUs run slower than they could, but memory does not: times are those of \
             a different machine",
            "end the program that set the limit (a power profile, TLP, `cpupower frequency-set -u`, the firmware), or \
             measure with `--mode fixed`, which sets another limit if that is permitted",
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
            "a chain of additions and one of multiplications, run on all CPUs at once, do not agree within 2 %",
            "trials will have no measured clock: CPUs change their clock, or other programs take them, within a \
             millisecond",
            "end other programs (`top`), then `cargo runner frequency status`",
        ),
        None => {
            let reason = "it is measured on the running system only".to_owned();
            diagnosis.known::<()>("the clock", Err(reason));
        }
    }
}

fn leftover(around: &Circumstances, diagnosis: &mut Diagnosis) {
    match &around.fix_in_force {
        Some(fix) => diagnosis.add(
            Unfit,
            "fix-left",
            fix.clone(),
            "the host does not have its original settings: a fixed frequency was never restored",
            "cargo runner frequency restore",
        ),
        None => diagnosis.good("no fixed frequency was left behind"),
    }
}

fn fights(host: &Host, policies: &[Policy], diagnosis: &mut Diagnosis) {
    let mut found = Vec::new();
    let processes = diagnosis.known("which services run", host.processes());
    let is_known = processes.is_some();
    for (process, name) in processes.unwrap_or_default() {
        if let Some((_, service)) = FIGHTS.iter().find(|(shown, _)| *shown == name) {
            found.push((format!("process {process} is `{name}`"), *service));
        }
    }
    // TLP has no process: it sets everything once, and again when the power supply changes.
    if host.path("run/tlp").is_dir() {
        found.push(("/run/tlp is there".to_owned(), "tlp"));
    }
    let (seen, mut services): (Vec<String>, Vec<&str>) = found.into_iter().unzip();
    services.sort_unstable();
    services.dedup();
    if services.is_empty() {
        if is_known {
            diagnosis.good("no service is known to change the clock");
        }
        return;
    }
    diagnosis.add(
        if policies.is_empty() { Note } else { Warning },
        "clock-service",
        seen.join("; "),
        "it changes governor, limits or boost by itself; trials of mode `fixed` with such a change become \
         `fixed-failed`, and in mode `dynamic` the clock drifts",
        format!("sudo systemctl stop {}", services.join(" ")),
    );
}

fn heat(host: &Host, diagnosis: &mut Diagnosis) {
    let files = host.throttle_counts();
    let what = "whether heat slows the CPUs down";
    if files.is_empty() {
        let reason = format!("/{CPUS}/cpu*/thermal_throttle is not there");
        diagnosis.known::<()>(what, Err(reason));
        return;
    }
    let of_all = host.without_throttle_counts().and_then(|without| {
        let missing = |cpu| format!("/{CPUS}/cpu{cpu}/thermal_throttle is not there");
        without.first().map_or(Ok(()), |cpu| Err(missing(cpu)))
    });
    let mut is_known = diagnosis.known(what, of_all).is_some();
    for file in files {
        match diagnosis.known(what, host.number(&file)) {
            Some(0) => {}
            Some(count) => {
                return diagnosis.add(
                    Warning,
                    "heat",
                    format!("/{file} = {count}"),
                    "heat has slowed CPUs down since the system started; then late trials run at another clock \
                     than early ones",
                    "better cooling, or a lower frequency; `throttles` in trials.jsonl shows the trials in which \
                     it happened",
                );
            }
            None => is_known = false,
        }
    }
    if is_known {
        diagnosis.good("heat has not slowed the CPUs down since the system started");
    }
}

fn power(host: &Host, diagnosis: &mut Diagnosis) {
    match diagnosis.known("the power supply", host.is_on_battery()) {
        Some(true) => diagnosis.add(
            Unfit,
            "battery",
            "/sys/class/power_supply says that the machine runs from its battery",
            "firmware lowers clocks to save power, and lowers them further as the battery empties",
            "plug the power supply in",
        ),
        Some(false) => diagnosis.good("the machine does not run from a battery"),
        None => {}
    }
}
