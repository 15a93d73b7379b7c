//! `repair`: sets broken lines of a sweep aside, so that it can be resumed.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use crate::options::Project;
use crate::options::folder;
use crate::record::sweep_dir::SweepDir;
use crate::record::trials_file;
use crate::stop::Exit;
use crate::text::words::count;

/// Arguments of `repair`.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// A name or the beginning of one, a path, or `latest`
    sweep: String,
    /// Folder that holds the sweeps [default: results/sweeps]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    output: Option<PathBuf>,
}

/// Text that `--help` prints below the options.
pub(crate) const HELP: &str = "\
Example:
  cargo runner repair 2026-03-01T120000Z";

pub(crate) fn run(project: &Project, arguments: &RepairArgs) -> Result<Exit> {
    let parent = project.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::find(&project.checkout, &parent, &arguments.sweep)?;
    let repaired = trials_file::repair(sweep.path())?;
    // This command mends only the lines. If another file is broken, its message must not say that
    // the sweep is in order.
    let others = sweep.manifest().and_then(|_| sweep.host());
    match repaired {
        None if others.is_err() => tell!("trials of {}: no broken line", sweep.name()),
        None => tell!("{} has no broken line; nothing was changed", sweep.name()),
        Some((lines, aside)) => tell!(
            "{} of {} set aside in {}; every record is kept. `cargo runner sweep --resume {}` runs the missing trials",
            count(lines, "broken line", "broken lines"),
            sweep.name(),
            project.checkout.shown(&aside),
            project.reference_to(&sweep)
        ),
    }
    others.map(|_| Exit::Good)
}
