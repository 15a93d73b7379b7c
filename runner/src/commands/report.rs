//! `report` and `analysis`: the Python side, set up by itself.

use std::process::Command;

use anyhow::{Context as _, Result};

use super::Place;
use crate::cli::{AnalysisArgs, ReportArgs};
use crate::python::Python;
use crate::stop::Exit;
use crate::sweep_dir::SweepDir;

pub(crate) fn run(place: &Place, arguments: &ReportArgs) -> Result<Exit> {
    let sweep = SweepDir::find(&place.checkout, &place.checkout.sweeps(), &arguments.sweep)?;
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| place.checkout.root().join("results/reports").join(sweep.name()));
    let python = Python::set_up(place.checkout.root())?;
    let mut command = python.module("sweep_analysis");
    command.arg("report").arg(sweep.path()).arg("--output").arg(&output);
    // It prints where the page is.
    wait(&mut command)
}

pub(crate) fn pass_on(place: &Place, arguments: &AnalysisArgs) -> Result<Exit> {
    let python = Python::set_up(place.checkout.root())?;
    wait(python.module("sweep_analysis").args(&arguments.arguments))
}

/// Its output goes straight through, and Ctrl-C reaches it as it reaches us.
fn wait(command: &mut Command) -> Result<Exit> {
    let status = command.status().context("Python cannot be run")?;
    Ok(match status.code() {
        Some(0) => Exit::Good,
        Some(code) => Exit::PassedOn(u8::try_from(code).unwrap_or(1)),
        None => Exit::Interrupted,
    })
}
