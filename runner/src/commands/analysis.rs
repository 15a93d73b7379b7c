//! `analysis`: runs the Python package of the analysis with the given arguments.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitStatus, Stdio};

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum as _};

use crate::options::Project;
use crate::record::sweep_dir::SweepDir;
use crate::stop::{Exit, Stop};
use crate::system::python::Python;
use crate::text::output::Format;

#[derive(Debug, Args)]
pub(crate) struct AnalysisArgs {
    /// Arguments of the analysis
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) const HELP: &str = "\
Example:
  cargo runner analysis --help";

pub(crate) fn run(project: &Project, arguments: &AnalysisArgs) -> Result<Exit> {
    let root = project.checkout.root();
    // Running the notebooks also needs the libraries that the checks use.
    let is_notebooks = arguments
        .arguments
        .first()
        .is_some_and(|it| it == "notebooks");
    let python = if is_notebooks {
        Python::set_up_for_checks(root)?
    } else {
        Python::set_up(root)?
    };
    wait(python.module("sweep_analysis").args(&arguments.arguments))
}

/// Has the analysis print the table of a sweep. Callers set up `python` before they print the text
/// above the table, because the first set-up takes minutes and prints messages.
pub(super) fn print_table(python: &Python, sweep: &SweepDir, format: Format) -> Result<Exit> {
    let format = format.to_possible_value().expect("every format has a name");
    let mut command = python.module("sweep_analysis");
    command.arg("show").arg(sweep.path());
    command.args(["--format", format.get_name()]);
    wait(command.stdin(Stdio::null()))
}

/// Runs the command, which prints to the terminal directly. Ctrl-C also reaches the command itself.
pub(super) fn wait(command: &mut Command) -> Result<Exit> {
    ended(command.status().context("Python cannot be run")?)
}

fn ended(status: ExitStatus) -> Result<Exit> {
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(Exit::Good),
        (Some(code), _) => Ok(Exit::PassedOn(u8::try_from(code).unwrap_or(1))),
        (None, Some(2 | 15)) => bail!(Stop::Interrupted("interrupted".to_owned())),
        (None, signal) => bail!(Stop::HostNotFit(format!(
            "the analysis was killed by signal {} (9: perhaps memory ran out); the sweep is unchanged",
            signal.unwrap_or_default()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::exit_of;

    #[test]
    fn an_analysis_that_is_killed_is_distinguished_from_an_interrupted_one() {
        let with_signal = |signal| ended(ExitStatus::from_raw(signal)).unwrap_err();
        assert_eq!(exit_of(&with_signal(2)), Exit::Interrupted);
        let killed = with_signal(9);
        assert_eq!(exit_of(&killed), Exit::HostNotFit);
        assert!(killed.to_string().contains("signal 9"));
        assert_eq!(
            ended(ExitStatus::from_raw(2 << 8)).unwrap(),
            Exit::PassedOn(2)
        );
    }
}
