//! Who decides the CPUs' clock.

use super::Severity::{Note, Unfit, Warning};
use super::{Circumstances, Diagnosis};
use crate::host::{CPUS, Host};

/// Services that write the files by which a frequency is fixed, and the process that each runs as.
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
    governors(host, diagnosis);
    boost(host, diagnosis);
    fights(host, diagnosis);
    heat(host, diagnosis);
    power(host, diagnosis);
}

fn frequency(host: &Host, around: &Circumstances, diagnosis: &mut Diagnosis) {
    let reason = match &around.fixable {
        Ok(how) => return diagnosis.good(format!("the frequency can be fixed at {how}")),
        Err(reason) => reason.clone(),
    };
    let has_driver = !policies(host).is_empty();
    let remedy = if has_driver {
        "see `cargo runner frequency status`; where only permission lacks, run as root or let sudo allow \
         `cpufreq-set` (runner/README.md, CPU frequency)"
    } else if host.is_virtual() {
        "measure on the machine itself, not in a virtual one: `cargo runner sweep --mode fixed` there; here, \
         compare branches of one thread count only (`--mode dynamic`)"
    } else {
        "load the CPU's frequency driver (`modprobe acpi-cpufreq`; intel_pstate and amd_pstate are chosen on \
         the kernel's command line and in the firmware's setup)"
    };
    let why = "no mode `fixed`: the clock may change between trials and with the number of busy CPUs, and \
               nothing here can forbid it; trials are labelled `uncontrolled`, or `dynamic` where there is a \
               driver";
    diagnosis.add(Unfit, "frequency-control", reason, why, remedy);
}

fn policies(host: &Host) -> Vec<String> {
    let names = host.names_in(&format!("{CPUS}/cpufreq")).into_iter();
    names.filter(|name| name.starts_with("policy")).collect()
}

fn governors(host: &Host, diagnosis: &mut Diagnosis) {
    let mut others = Vec::new();
    let policies = policies(host);
    for policy in &policies {
        let file = format!("{CPUS}/cpufreq/{policy}/scaling_governor");
        match host.read(&file) {
            Ok(governor) if governor != "performance" => others.push((file, governor)),
            _ => {}
        }
    }
    if let Some((file, governor)) = others.first() {
        diagnosis.add(
            Warning,
            "governor",
            format!("/{file} = {governor} ({} of {} policies)", others.len(), policies.len()),
            "in mode `dynamic` the clock rises only some time after work begins, and that time is measured \
             with the work; a design that sleeps more is then charged for it twice",
            "sudo cpupower frequency-set -g performance, or measure with `--mode fixed`, which sets it and \
             puts it back",
        );
    } else if !policies.is_empty() {
        diagnosis.good("the governor is `performance`");
    }
}

fn boost(host: &Host, diagnosis: &mut Diagnosis) {
    let of_policies = policies(host)
        .into_iter()
        .map(|policy| (format!("cpufreq/{policy}/boost"), "1"));
    let of_host = [
        ("cpufreq/boost".to_owned(), "1"),
        ("intel_pstate/no_turbo".to_owned(), "0"),
    ];
    let mut files = of_host
        .into_iter()
        .chain(of_policies)
        .map(|(file, on)| (format!("{CPUS}/{file}"), on));
    let mut is_known = false;
    let on = files.find(|(file, on)| {
        let value = host.read(file).ok();
        is_known |= value.is_some();
        value.as_deref() == Some(on)
    });
    if let Some((file, value)) = on {
        let off = if value == "1" { "0" } else { "1" };
        diagnosis.add(
            Warning,
            "boost",
            format!("/{file} = {value}"),
            "few busy CPUs run faster than many, so in mode `dynamic` every speed-up curve bends for a reason \
             that is not the scheduler",
            format!("echo {off} | sudo tee /{file}, or measure with `--mode fixed`"),
        );
    } else if is_known {
        diagnosis.good("boost is off");
    }
}

fn measured(around: &Circumstances, diagnosis: &mut Diagnosis) {
    match around.clock {
        Some(Some(clock)) => diagnosis.good(format!("the measured clock is {clock}")),
        Some(None) => diagnosis.add(
            Warning,
            "clock",
            "a chain of additions and one of multiplications, run on all CPUs at once, do not agree within 2 %",
            "the clock beside the trials will be missing: CPUs change it, or are taken away, within a \
             millisecond",
            "end what else runs (`top`), then `cargo runner frequency status`",
        ),
        None => {}
    }
}

fn leftover(around: &Circumstances, diagnosis: &mut Diagnosis) {
    match &around.fix_in_force {
        Some(fix) => diagnosis.add(
            Unfit,
            "fix-left",
            fix.clone(),
            "the host is not in its own state: a fixed frequency was never put back",
            "cargo runner frequency restore",
        ),
        None => diagnosis.good("no fixed frequency was left behind"),
    }
}

fn fights(host: &Host, diagnosis: &mut Diagnosis) {
    let mut found = Vec::new();
    for (process, name) in host.processes() {
        if let Some((_, service)) = FIGHTS.iter().find(|(shown, _)| *shown == name) {
            found.push((format!("process {process} is `{name}`"), *service));
        }
    }
    // It is no process: it sets everything once, and again when the power supply changes.
    if host.path("run/tlp").is_dir() {
        found.push(("/run/tlp is there".to_owned(), "tlp"));
    }
    let (seen, mut services): (Vec<String>, Vec<&str>) = found.into_iter().unzip();
    services.sort_unstable();
    services.dedup();
    if services.is_empty() {
        return diagnosis.good("no service is known to change the clock");
    }
    let can_change = !policies(host).is_empty();
    diagnosis.add(
        if can_change { Warning } else { Note },
        "clock-service",
        seen.join("; "),
        "it changes governor, limits or boost by itself; trials of mode `fixed` in which that happens become \
         `fixed-failed`, and in mode `dynamic` the clock drifts",
        format!("sudo systemctl stop {}", services.join(" ")),
    );
}

fn heat(host: &Host, diagnosis: &mut Diagnosis) {
    let counts = host.throttle_counts();
    let slowed = counts.iter().find_map(|file| {
        let count = host.number(file).filter(|count| *count > 0)?;
        Some(format!("/{file} = {count}"))
    });
    if let Some(seen) = slowed {
        diagnosis.add(
            Warning,
            "heat",
            seen,
            "since the system started, heat has slowed CPUs down; late trials then run at another clock than \
             early ones",
            "better cooling, or a lower frequency; `throttles` in trials.jsonl tells the trials in which it \
             happened",
        );
    } else if !counts.is_empty() {
        diagnosis.good("heat has not slowed the CPUs down since the system started");
    }
}

fn power(host: &Host, diagnosis: &mut Diagnosis) {
    match host.is_on_battery() {
        Some(true) => diagnosis.add(
            Unfit,
            "battery",
            "/sys/class/power_supply says that the machine runs from its battery",
            "firmware lowers clocks to save power, and lowers them further as the battery empties",
            "plug the power supply in",
        ),
        Some(false) => diagnosis.good("the machine has power from outside"),
        None => {}
    }
}
