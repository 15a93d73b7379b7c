//! `show`: prints how many trials of a sweep are there, and its table, which the analysis makes; or
//! the tables of a recording.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::Args;

use super::{analysis, record};
use crate::commands::page::host_line;
use crate::options::Project;
use crate::record::manifest::Manifest;
use crate::record::summary::Summary;
use crate::record::sweep_dir::SweepDir;
use crate::run::progress::headline;
use crate::stop::{Exit, Stop};
use crate::system::python::Python;
use crate::text::table::Format;

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A name or the beginning of one, a path, or `latest`; or the file of a recording
    #[arg(default_value = "latest")]
    sweep: String,
    /// For a recording: a file to write for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    timeline: Option<PathBuf>,
    /// Output format of a sweep
    #[arg(long, value_enum, default_value = "table")]
    format: Format,
    /// Folder that holds the sweeps [default: results/sweeps]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) const HELP: &str = "\
Examples:
  cargo runner show latest --format csv > table.csv
  cargo runner show my-program.recording.zst --timeline timeline.json";

/// A recording can be shown in any folder; sweeps are in the checkout at `place`.
pub(crate) fn run(place: impl FnOnce() -> Result<Project>, arguments: &ShowArgs) -> Result<Exit> {
    let file = Path::new(&arguments.sweep);
    if is_recording(file) {
        if let Some(output) = &arguments.output {
            bail!(Stop::BadInput(format!(
                "--output {}: it names a folder of sweeps, and {} is a file, so a recording; leave it out",
                output.display(),
                arguments.sweep
            )));
        }
        if arguments.format != Format::Table {
            bail!(Stop::BadInput(format!(
                "--format: {} is a file, so a recording, which has tables only; leave it out",
                arguments.sweep
            )));
        }
        return record::show::run(file, arguments.timeline.as_deref());
    }
    if let Some(timeline) = &arguments.timeline {
        bail!(Stop::BadInput(format!(
            "--timeline {}: only a recording has one, and {} is not a file; name the file of a recording",
            timeline.display(),
            arguments.sweep
        )));
    }
    let project = &place()?;
    let parent = project.sweeps(arguments.output.as_deref());
    let sweep = SweepDir::find(&project.checkout, &parent, &arguments.sweep)?;
    let manifest = sweep.manifest()?;
    let (summary, _) = Summary::read(&sweep, &manifest)?;
    summary.tell_broken(&sweep);
    // A failure is reported below, after all that is known without Python.
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
    // On a terminal, an empty line separates the two.
    tell!("");
    analysis::print_table(&python?, &sweep, arguments.format)
}

/// The number of finished trials, and how to run the others.
fn how_far(manifest: &Manifest, summary: &Summary, reference: &str) -> String {
    let Summary { trials, failed, .. } = summary;
    let planned = manifest.trials_planned;
    let far = format!("{trials} of {planned} trials are there, {failed} failed");
    if *trials >= planned {
        far
    } else if manifest.shards.is_empty() {
        format!("{far}; `cargo runner sweep --resume {reference}` runs the others")
    } else {
        format!("{far}; finish the shards and merge them again")
    }
}

/// Sweeps are folders. So a file, or a missing path with the ending of a recording, is a recording.
fn is_recording(file: &Path) -> bool {
    let is_there = file != Path::new("latest") && fs::metadata(file).is_ok_and(|it| !it.is_dir());
    is_there || file.extension().is_some_and(|it| it == "zst")
}
