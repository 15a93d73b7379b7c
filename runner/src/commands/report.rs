//! `report`: has the analysis draw figures, tables and the page of a sweep.

use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::analysis;
use crate::options::Project;
use crate::record::sweep_dir::SweepDir;
use crate::stop::Exit;
use crate::system::python::Python;

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A name or the beginning of one, a path, or `latest`
    #[arg(default_value = "latest")]
    sweep: String,
    /// Folder to write [default: results/reports/SWEEP]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub(crate) const HELP: &str = "\
Needs Python 3.11 or newer; sets up its libraries in .venv by itself.

Example:
  cargo runner report latest";

pub(crate) fn run(project: &Project, arguments: &ReportArgs) -> Result<Exit> {
    let sweep = SweepDir::find(
        &project.checkout,
        &project.checkout.sweeps(),
        &arguments.sweep,
    )?;
    let usual = project.checkout.root().join("results/reports");
    let usual = usual.join(sweep.name());
    let output = arguments.output.as_ref().unwrap_or(&usual);
    let python = Python::set_up(project.checkout.root())?;
    let mut command = python.module("sweep_analysis");
    command
        .arg("report")
        .arg(sweep.path())
        .arg("--output")
        .arg(output);
    analysis::wait(&mut command)
}
