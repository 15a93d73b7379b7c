//! `report` and `analysis`: the Python side, set up by itself.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus};

use anyhow::{Context as _, Result, bail};

use super::Place;
use crate::cli::{AnalysisArgs, ReportArgs};
use crate::python::Python;
use crate::stop::{Exit, Stop};
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
    ended(command.status().context("Python cannot be run")?)
}

fn ended(status: ExitStatus) -> Result<Exit> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(Exit::Good),
        (Some(code), _) => Ok(Exit::PassedOn(u8::try_from(code).unwrap_or(1))),
        (None, Some(2 | 15)) => bail!(Stop::Interrupted("interrupted".to_owned())),
        (None, signal) => bail!(Stop::HostNotFit(format!(
            "the analysis was killed by signal {}{}; the sweep is untouched",
            signal.unwrap_or_default(),
            if signal == Some(9) { " (the kernel does this when memory runs out)" } else { "" }
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::exit_of;

    #[test]
    fn an_analysis_that_is_killed_is_told_apart_from_an_interrupted_one() {
        let with_signal = |signal| ended(ExitStatus::from_raw(signal)).unwrap_err();
        assert_eq!(exit_of(&with_signal(2)), Exit::Interrupted);
        let killed = with_signal(9);
        assert_eq!(exit_of(&killed), Exit::HostNotFit);
        assert!(killed.to_string().contains("signal 9 (the kernel does this when memory"));
        assert_eq!(ended(ExitStatus::from_raw(2 << 8)).unwrap(), Exit::PassedOn(2));
    }
}
