//! `report`: figures, tables and the page of a sweep, or the page of all findings, made by the Python side.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::analysis;
use crate::options::folder;
use crate::project::Project;
use crate::python::Python;
use crate::stop::{Exit, Stop};
use crate::sweep_dir::SweepDir;

/// Arguments of `report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A name or the beginning of one, a path, or `latest`
    #[arg(default_value = "latest")]
    sweep: String,
    /// Write results/FINDINGS.md as one page instead, which needs no network
    #[arg(long, conflicts_with = "sweep")]
    findings: bool,
    /// Folder to write, or with --findings a file that ends in .html [default: results/reports/SWEEP,
    /// results/reports/findings]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// What `--help` says below the options.
pub(crate) const HELP: &str = "\
Needs Python 3.11 or newer; sets up its libraries in .venv by itself.

Examples:
  cargo runner report latest
  cargo runner report --findings";

pub(crate) fn run(project: &Project, arguments: &ReportArgs) -> Result<Exit> {
    let root = project.checkout.root();
    let output = |name: &str| {
        arguments.output.clone().unwrap_or_else(|| root.join("results/reports").join(name))
    };
    if arguments.findings {
        let mut command = Python::set_up(root)?.module("sweep_analysis");
        return analysis::wait(command.arg("findings").arg("--output").arg(output("findings")));
    }
    if let Some(output) = &arguments.output {
        folder(&output.display().to_string())
            .map_err(|why| Stop::BadInput(format!("--output {}: {why}", output.display())))?;
    }
    let sweep = SweepDir::find(&project.checkout, &project.checkout.sweeps(), &arguments.sweep)?;
    draw(project, &sweep, &output(&sweep.name()))
}

/// Draws a sweep into a folder.
pub(super) fn draw(project: &Project, sweep: &SweepDir, output: &Path) -> Result<Exit> {
    let python = Python::set_up(project.checkout.root())?;
    let mut command = python.module("sweep_analysis");
    command.arg("report").arg(sweep.path()).arg("--output").arg(output);
    // It prints where the page is.
    analysis::wait(&mut command)
}
