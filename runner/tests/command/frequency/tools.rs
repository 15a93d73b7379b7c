//! Tests the real `cpufreq-set` and `cpufreq-info` on a mock host, whose files are mounted over the
//! system's files. A short write leaves the end of a longer value in a regular file, so all
//! values of a file have the same length.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Output};

use assert_cmd::assert::OutputAssertExt as _;
use clap::ValueEnum as _;
use predicates::str::contains;
use runner::host::Host;
use runner::host::frequency::Setup;
use runner::host::frequency::sysfs::BackendChoice;

use super::cpus::{Cpus, OF_LIST};
use crate::namespace;

#[test]
#[ignore = "the other tests run this test as a process on a mock host"]
fn the_process_that_fixes_and_restores() {
    let backend = BackendChoice::from_str(&env::var("TOOL").unwrap(), false).unwrap();
    let journal = PathBuf::from(env::var_os("JOURNAL").unwrap());
    let held = Setup::new(Host::default(), backend, Some(&journal))
        .fix()
        .unwrap();
    for cpu in ["0", "1"] {
        let mut info = Command::new("cpufreq-info");
        let info = info.args(["-c", cpu, "-p"]).output().unwrap();
        print!("{}", String::from_utf8(info.stdout).unwrap());
    }
    held.restore().unwrap();
}

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

/// Runs a script while the mock host is mounted over the system's files. The end of the script
/// starts the test `the_process_that_fixes_and_restores` as a process.
fn on(cpus: &Cpus, script: &str) -> Option<Output> {
    if !has("cpufreq-set", "cpufrequtils") {
        return None;
    }
    let (journal, own) = (cpus.journal(), env::current_exe().unwrap());
    let script = format!(
        "export TOOL=cpufreq-set; mount --bind \"$SYSFS\" /sys/devices/system/cpu
        {script} \"$OWN\" --ignored --exact --nocapture \\
        frequency::tools::the_process_that_fixes_and_restores"
    );
    let variables = [
        ("SYSFS", &*cpus.path()),
        ("JOURNAL", &journal),
        ("OWN", &own),
    ];
    namespace::run(&script, &variables)
}

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
    let Some(output) = on(&cpus, "") else {
        return;
    };
    let fixed = "2000000 2000000 performance\n".repeat(2);
    output.assert().success().stdout(contains(fixed));
    assert_eq!(cpus.bytes(), before);
}

#[test]
fn a_tool_that_fails_is_named_with_its_command_and_everything_is_undone() {
    let cpus = host();
    let before = cpus.bytes();
    let script = "file=/sys/devices/system/cpu/cpufreq/policy1/scaling_min_freq
        mount --bind -o ro $file $file\n";
    let Some(output) = on(&cpus, script) else {
        return;
    };
    let output = output.assert().failure();
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
    let script = "mount -t tmpfs none /mnt
        install -m 755 \"$OWN\" /mnt/own
        mkdir -m 777 /mnt/journal
        echo 'nobody ALL=(root) NOPASSWD: /usr/bin/cpufreq-set' > /mnt/sudoers
        chmod 440 /mnt/sudoers
        mount --bind /mnt/sudoers /etc/sudoers
        chmod 755 \"$SYSFS\"
        OWN=/mnt/own JOURNAL=/mnt/journal/journal.json TOOL=auto
        setpriv --reuid=65534 --regid=65534 --clear-groups";
    let Some(output) = on(&cpus, script) else {
        return;
    };
    let fixed = "2000000 2000000 performance\n".repeat(2);
    output.assert().success().stdout(contains(fixed));
    assert_eq!(cpus.bytes(), before);
}
