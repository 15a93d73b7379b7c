//! Tests the real `cpufreq-set` and `cpufreq-info` on a mock host that is mounted over the
//! system's. Its files are plain ones, so all values of a file have one length.

use std::process::{Command, Output};

use assert_cmd::assert::OutputAssertExt as _;
use predicates::str::contains;

use super::cpus::{Cpus, OF_LIST};
use crate::{common, namespace};

const FIX: &str =
    r#""$RUNNER" frequency fix --frequency-backend "$TOOL" --frequency-journal "$JOURNAL""#;
const RESTORE: &str =
    r#""$RUNNER" frequency restore --frequency-backend "$TOOL" --frequency-journal "$JOURNAL""#;

/// A host with the files of `acpi-cpufreq`, under a governor of Android.
fn host() -> Cpus {
    let cpus = Cpus::of(OF_LIST);
    let governors = "interactive performance";
    cpus.change(&[
        ("cpufreq/policy*/scaling_available_governors", governors),
        ("cpufreq/policy*/scaling_governor", "interactive"),
        ("cpufreq/policy*/scaling_setspeed", "<unsupported>"),
    ]);
    cpus
}

/// Runs a script while the mock host is mounted over the system's files.
fn on(cpus: &Cpus, script: &str) -> Option<Output> {
    if !has("cpufreq-set", "cpufrequtils") {
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("journal.json");
    let mount = "TOOL=cpufreq-set; mount --bind \"$SYSFS\" /sys/devices/system/cpu";
    let script = format!("{mount}\n{script}");
    namespace::run(&script, &[("SYSFS", cpus.path()), ("JOURNAL", &journal)])
}

/// Whether a program can be run; prints it if not.
fn has(program: &str, package: &str) -> bool {
    let is_there = Command::new(program).arg("--help").output().is_ok();
    if !is_there {
        namespace::skip(&format!("`{program}` is not installed (Debian: {package})"));
    }
    is_there
}

#[test]
fn cpufreq_set_fixes_and_restores_and_cpufreq_info_agrees() {
    let cpus = host();
    let before = cpus.bytes();
    let script = format!("{FIX}\ncpufreq-info -c 0 -p; cpufreq-info -c 1 -p\n{RESTORE}");
    let Some(output) = on(&cpus, &script) else {
        return;
    };
    let fixed = "2000000 2000000 performance\n".repeat(2);
    let output = output.assert().success().stdout(contains(fixed));
    output.stderr(contains("cpufreq/boost still allows boost"));
    assert_eq!(cpus.bytes(), before);
}

#[test]
fn a_tool_that_fails_is_named_with_its_command_and_everything_is_undone() {
    let cpus = host();
    let before = cpus.bytes();
    let script = format!(
        "file=/sys/devices/system/cpu/cpufreq/policy1/scaling_min_freq
        mount --bind -o ro $file $file
        {FIX}"
    );
    let Some(output) = on(&cpus, &script) else {
        return;
    };
    let output = output.assert().code(4);
    output
        .stderr(contains("`cpufreq-set -c 1 -d 2000000` failed"))
        .stderr(contains("all settings are restored"));
    assert_eq!(cpus.bytes(), before);
}

#[test]
fn an_unprivileged_user_fixes_through_sudo() {
    if !(has("sudo", "sudo") && has("setpriv", "util-linux")) {
        return;
    }
    let cpus = host();
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
        cat /sys/devices/system/cpu/cpufreq/policy*/scaling_max_freq
        as_user {RESTORE} --root {root}",
        root = common::root().display(),
    );
    let Some(output) = on(&cpus, &script) else {
        return;
    };
    let fixed = "2000000\n".repeat(2);
    output.assert().success().stdout(contains(fixed));
    assert_eq!(cpus.bytes(), before);
}
