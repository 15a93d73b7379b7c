//! A shell at the root of the checkout, and one step of a task in it.

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result};
use xshell::{Cmd, Shell};

/// A shell at the root of the checkout.
pub(crate) fn at_root() -> Result<Shell> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask has no parent folder")?;
    let sh = Shell::new()?;
    sh.change_dir(root);
    Ok(sh)
}

/// Runs `command` under a heading, and says how long it took.
pub(crate) fn step(title: &str, command: Cmd<'_>) -> Result<()> {
    eprintln!("── {title}");
    let start = Instant::now();
    command.quiet().run().with_context(|| format!("step failed: {title}"))?;
    eprintln!("   {title}: done in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}
