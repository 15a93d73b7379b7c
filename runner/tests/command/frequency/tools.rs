//! The real `cpufreq-set`, `cpufreq-info` and `cpupower` on a mock host that lies in the place
//! of the system's. Its files are plain ones, so all values of a file have one length.

use std::process::{Command, Output};

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use super::cpus::Cpus;
use crate::{common, namespace};

const FIX: &str =
    r#""$RUNNER" frequency fix --frequency-backend "$TOOL" --frequency-journal "$JOURNAL""#;
const RESTORE: &str =
    r#""$RUNNER" frequency restore --frequency-backend "$TOOL" --frequency-journal "$JOURNAL""#;

/// Runs a script where the mock host lies over the system's.
fn on(cpus: &Cpus, tool: &str, script: &str) -> Option<Output> {
    let package = if tool == "cpupower" {
        "linux-cpupower"
    } else {
        "cpufrequtils"
    };
    if !has(tool, package) {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.json");
    let script = format!("TOOL={tool}; mount --bind \"$SYSFS\" /sys/devices/system/cpu\n{script}");
    namespace::run(&script, &[("SYSFS", cpus.path()), ("JOURNAL", &journal)])
}

/// Whether a program can be run; says so, loudly, if not.
fn has(program: &str, package: &str) -> bool {
    let is_there = Command::new(program).arg("--help").output().is_ok();
    if !is_there {
        namespace::skip(&format!("`{program}` is not installed (Debian: {package})"));
    }
    is_there
}

#[test]
fn cpufreq_set_fixes_and_restores_and_cpufreq_info_agrees() {
    let cpus = Cpus::acpi_cpufreq();
    let before = cpus.bytes();
    let script = format!("{FIX}\ncpufreq-info -c 0 -p; cpufreq-info -c 1 -p\n{RESTORE}");
    let Some(output) = on(&cpus, "cpufreq-set", &script) else {
        return;
    };
    output
        .assert()
        .success()
        .stdout(contains(
            "2000000 2000000 userspace\n2000000 2000000 userspace\n",
        ))
        .stderr(contains("cpufreq/boost still allows boost"));
    assert_eq!(cpus.bytes(), before);
}

#[test]
fn cpupower_fixes_and_restores() {
    let cpus = Cpus::acpi_cpufreq();
    let before = cpus.bytes();
    let script =
        format!("{FIX}\ncat /sys/devices/system/cpu/cpufreq/policy*/scaling_setspeed\n{RESTORE}");
    let Some(output) = on(&cpus, "cpupower", &script) else {
        return;
    };
    output
        .assert()
        .success()
        .stdout(contains("2000000\n2000000\n"));
    assert_eq!(cpus.bytes(), before);
}

#[test]
fn boost_that_is_off_already_is_no_matter_to_a_tool() {
    let cpus = Cpus::acpi_cpufreq();
    cpus.write("cpufreq/boost", "0");
    let Some(output) = on(&cpus, "cpufreq-set", &format!("{FIX}\n{RESTORE}")) else {
        return;
    };
    output
        .assert()
        .success()
        .stderr(contains("still allows boost").not());
}

#[test]
fn a_tool_that_fails_is_named_with_its_command_and_everything_is_undone() {
    let cpus = Cpus::acpi_cpufreq();
    let before = cpus.bytes();
    let script = format!(
        "file=/sys/devices/system/cpu/cpufreq/policy1/scaling_min_freq
        mount --bind -o ro $file $file
        {FIX}"
    );
    let Some(output) = on(&cpus, "cpufreq-set", &script) else {
        return;
    };
    output
        .assert()
        .code(4)
        .stderr(contains("`cpufreq-set -c 1 -d 2000000` failed"))
        .stderr(contains("everything is as it was before"));
    assert_eq!(cpus.bytes(), before);
}

#[test]
fn a_clock_that_is_not_what_was_set_is_told() {
    // No CPU runs at 10 MHz because a mock file says so.
    let cpus = Cpus::acpi_cpufreq();
    for policy in 0..2 {
        cpus.write(
            &format!("cpufreq/policy{policy}/scaling_available_frequencies"),
            "10000 ",
        );
    }
    let Some(output) = on(
        &cpus,
        "cpufreq-set",
        &format!("TOOL=sysfs; {FIX}\n{RESTORE}"),
    ) else {
        return;
    };
    output.assert().success().stderr(contains("warning: "));
}

#[test]
fn an_unprivileged_user_fixes_through_sudo() {
    if !(has("sudo", "sudo") && has("setpriv", "util-linux")) {
        return;
    }
    let cpus = Cpus::acpi_cpufreq();
    let before = cpus.bytes();
    let script = format!(
        "mount -t tmpfs none /mnt
        install -m 755 \"$RUNNER\" /mnt/runner
        mkdir -m 777 /mnt/journal
        echo 'nobody ALL=(root) NOPASSWD: /usr/bin/cpufreq-set' > /mnt/sudoers
        chmod 440 /mnt/sudoers
        mount --bind /mnt/sudoers /etc/sudoers
        chmod 755 \"$SYSFS\"
        RUNNER=/mnt/runner JOURNAL=/mnt/journal/journal.json TOOL=auto
        as_user() {{ setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"; }}
        as_user {FIX} --root {root}
        cat /sys/devices/system/cpu/cpufreq/policy*/scaling_setspeed
        as_user {RESTORE} --root {root}",
        root = common::root().display(),
    );
    let Some(output) = on(&cpus, "cpufreq-set", &script) else {
        return;
    };
    output
        .assert()
        .success()
        .stdout(contains("2000000\n2000000\n"));
    assert_eq!(cpus.bytes(), before);
}
