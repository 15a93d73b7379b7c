//! `show`: prints how many trials of a sweep are recorded, and then the sweep's table, which the
//! analysis makes.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::analysis;
use crate::commands::page::host_line;
use crate::options::Project;
use crate::record::manifest::Manifest;
use crate::record::summary::Summary;
use crate::record::sweep_dir::SweepDir;
use crate::run::progress::headline;
use crate::stop::Exit;
use crate::system::python::Python;
use crate::text::output::Format;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A name or the beginning of one, a path, or `latest`
    #[arg(default_value = "latest")]
    sweep: String,
    /// Output format
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Folder that holds the sweeps [default: results/sweeps]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) const HELP: &str = "\
Examples:
  cargo runner show latest --format csv > table.csv";

pub(crate) fn run(project: &Project, arguments: &ShowArgs) -> Result<Exit> {
    let parent = project.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::find(&project.checkout, &parent, &arguments.sweep)?;
    let manifest = sweep.manifest()?;
    let (summary, _) = Summary::read(&sweep, &manifest)?;
    summary.tell_broken(&sweep);
    // An error of `set_up` is reported below, after all facts that need no Python.
    let python = Python::set_up(project.checkout.root());
    let asked = &manifest.asked;
    let shown = project.checkout.shown(sweep.path());
    tell!("{shown}: {}", headline(asked, manifest.trials_planned));
    if asked.machine.is_none() {
        tell!("host: {}", host_line(&sweep.host()?, asked));
    }
    let which = project.reference_to(&sweep);
    tell!("{}", how_far(&manifest, &summary, &which));
    summary.tell_counted();
    // On a terminal, this empty line separates the messages from the table.
    tell!("");
    analysis::print_table(&python?, &sweep, arguments.format)
}

fn how_far(manifest: &Manifest, summary: &Summary, reference: &str) -> String {
    let Summary { trials, failed, .. } = summary;
    let planned = manifest.trials_planned;
    let far = format!("{trials} of {planned} trials are there, {failed} failed");
    if *trials >= planned {
        far
    } else if manifest.shards.is_empty() {
        format!("{far}; `cargo runner sweep --resume {reference}` runs the missing ones")
    } else {
        format!("{far}; finish the shards and merge them again")
    }
}
