//! Runs scripts in a mount namespace of their own, where a script may mount mock folders over the
//! system's folders.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common;

/// Runs a shell script with `$RUNNER` and `variables`. If this user may not mount, prints a message
/// and returns `None`.
pub(crate) fn run(script: &str, variables: &[(&str, &Path)]) -> Option<Output> {
    let can = Command::new("unshare")
        .args(["-m", "mount", "-t", "tmpfs", "none", "/mnt"])
        .output();
    if !can.is_ok_and(|output| output.status.success()) {
        skip("`unshare -m mount` is not permitted here; run this test as root");
        return None;
    }
    let mut command = Command::new("unshare");
    // The lock gets a separate file system, so that no other sweep on this machine holds the lock.
    let own = format!("mount -t tmpfs none /var/tmp; {script}");
    command
        .args(["-m", "sh", "-ec", &own])
        .envs(variables.iter().copied());
    command
        .env("RUNNER", env!("CARGO_BIN_EXE_runner"))
        .current_dir(common::root());
    Some(command.stdin(Stdio::null()).output().unwrap())
}

/// Prints to the terminal directly, because the test harness hides the output of a passed test.
pub(crate) fn skip(reason: &str) {
    let name = std::thread::current().name().unwrap_or_default().to_owned();
    let line = format!("SKIPPED {name}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
