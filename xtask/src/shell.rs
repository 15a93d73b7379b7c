//! A shell at the root of the checkout, and a function that runs a step of a task in that shell.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike as _};
use runner::system::lock;
use xshell::{Cmd, Shell};

pub(crate) fn at_root() -> Result<Shell> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask has no parent folder")?;
    let sh = Shell::new()?;
    sh.change_dir(root);
    Ok(sh)
}

/// Locks the folder `target/NAME` until the result is dropped. Two runs of a task must not overlap,
/// since each run makes the folder anew.
pub(crate) fn alone(sh: &Shell, name: &str) -> Result<File> {
    let folder = sh.current_dir().join("target").join(name);
    let does = format!("works in {}", folder.display());
    lock::wait(&folder.with_extension("lock"), &does)
}

pub(crate) fn step(title: &str, command: Cmd<'_>) -> Result<()> {
    eprintln!("── {title}");
    let (start, before) = (Instant::now(), cpu_seconds_of_children()?);
    command
        .quiet()
        .run()
        .with_context(|| format!("step failed: {title}"))?;
    let (wall_s, cpu_s) = (
        start.elapsed().as_secs_f64(),
        cpu_seconds_of_children()? - before,
    );
    eprintln!("   {title}: done in {wall_s:.0} s, {cpu_s:.0} s of CPU");
    Ok(())
}

/// CPU time of the child processes that this process has waited for, and of their children.
pub(crate) fn cpu_seconds_of_children() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: TimeVal| time.num_microseconds() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}
