//! The list of commands. For each command, `commands/` has a file or a folder with its arguments,
//! help text and run.

use anyhow::Result;
use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::commands::{
    analysis, calibrate, compare, doctor, frequency, list, merge, on_this_host, plan, report, show,
    sweep, validate,
};
use crate::options::Globals;
use crate::stop::Exit;
use crate::system::interrupt;

const EXIT_CODES: &str = "\
Exit codes:
  0 all good · 1 some trials failed · 2 bad input · 3 build failed · 4 host not fit · 130 interrupted";

/// Builds every branch of branches.toml, runs each branch on the same workloads, and compares the
/// branches.
#[derive(Debug, Parser)]
#[command(name = "cargo runner", bin_name = "cargo runner", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(flatten)]
    globals: Globals,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what can be measured: branches, workloads, experiments and simulated machines
    List(list::ListArgs),
    /// Show what a sweep would do and how long the sweep would take; run nothing
    #[command(after_help = plan::HELP)]
    Plan(plan::PlanArgs),
    /// Measure: build, run every trial, print the table
    #[command(after_help = sweep::HELP)]
    Sweep(sweep::SweepArgs),
    /// Compare the branches that the command line names with the first of them
    #[command(after_help = compare::HELP)]
    Compare(compare::CompareArgs),
    /// Measure what the project collects from each host, in about an hour, and pack the results
    /// into one file
    #[command(after_help = on_this_host::HELP)]
    OnThisHost(on_this_host::OnThisHostArgs),
    /// Merge the shards of one plan into a sweep, or add the results that another host sent
    #[command(after_help = merge::HELP)]
    Merge(merge::MergeArgs),
    /// Print the table of a sweep again
    #[command(after_help = show::HELP)]
    Show(show::ShowArgs),
    /// Restore the CPU frequency after a sweep that was killed
    #[command(after_help = frequency::HELP)]
    Frequency(frequency::FrequencyArgs),
    /// Check whether this host is fit to measure, and list remedies
    #[command(after_help = doctor::HELP)]
    Doctor(doctor::DoctorArgs),
    /// Draw a sweep: figures, tables and one page that shows them
    #[command(after_help = report::HELP)]
    Report(report::ReportArgs),
    /// Measure the cost parameters of this host, for the simulated machine `here`
    #[command(after_help = calibrate::HELP)]
    Calibrate(calibrate::CalibrateArgs),
    /// Predict times of this host by simulation, measure them, and compare
    #[command(after_help = validate::HELP)]
    Validate(validate::ValidateArgs),
    /// Run the analysis directly: all arguments go to `python -m sweep_analysis`
    #[command(after_help = analysis::HELP, disable_help_flag = true)]
    Analysis(analysis::AnalysisArgs),
}

/// The command line. The help text of `compare` lacks `--branches`, and that of `validate` the
/// options that `validate` refuses.
fn command() -> clap::Command {
    // `compare` takes its branches as arguments, not as an option.
    let hidden = |command: clap::Command| command.mut_arg("branches", |option| option.hide(true));
    validate::REFUSED.iter().fold(
        Cli::command().mut_subcommand("compare", hidden),
        |all, (name, _)| {
            all.mut_subcommand("validate", |it| {
                it.mut_arg(name, |option| option.hide(true))
            })
        },
    )
}

/// Parses the command line and runs the command.
///
/// # Errors
/// Any error that stops a command; [`crate::exit::exit_of`] gives its exit code.
pub fn run() -> Result<Exit> {
    interrupt::survive_file_limits()?;
    let cli = Cli::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    let place = || cli.globals.place();
    match &cli.command {
        Command::List(arguments) => list::run(&place()?, arguments),
        Command::Plan(arguments) => plan::run(&place()?, arguments),
        Command::Sweep(arguments) => sweep::run(&place()?, arguments),
        Command::Compare(arguments) => compare::run(&place()?, arguments),
        Command::OnThisHost(arguments) => on_this_host::run(&place()?, arguments),
        Command::Merge(arguments) => merge::run(&place()?, arguments),
        Command::Show(arguments) => show::run(&place()?, arguments),
        Command::Frequency(arguments) => frequency::run(arguments),
        Command::Doctor(arguments) => doctor::run(arguments),
        Command::Report(arguments) => report::run(&place()?, arguments),
        Command::Calibrate(arguments) => calibrate::run(&place()?, arguments),
        Command::Validate(arguments) => validate::run(&place()?, arguments),
        Command::Analysis(arguments) => analysis::run(&place()?, arguments),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::system::whole_file::files_below;

    #[test]
    fn the_arguments_do_not_contradict_themselves() {
        command().debug_assert();
    }

    fn texts_of_the_analysis() -> Vec<(PathBuf, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis");
        let files = ["notebooks", "src/sweep_analysis"].map(|folder| root.join(folder));
        let files = files.iter().flat_map(|folder| {
            let below = files_below(folder).unwrap().into_iter();
            below.map(|file| folder.join(file))
        });
        let is_read = |path: &PathBuf| {
            let kind = path.extension().and_then(|kind| kind.to_str());
            kind.is_some_and(|it| ["ipynb", "py", "j2"].contains(&it))
        };
        let read = |path: PathBuf| (path.clone(), fs::read_to_string(path).unwrap());
        files.filter(is_read).map(read).collect()
    }

    #[test]
    fn every_command_that_notebooks_and_reports_quote_parses() {
        let mut quoted = 0;
        for (path, text) in texts_of_the_analysis() {
            for rest in text.split("`cargo runner ").skip(1) {
                let command = rest.split('`').next().unwrap();
                let words = command
                    .split_whitespace()
                    .map(|word| if word.contains('{') { "word" } else { word });
                let parsed = Cli::try_parse_from(std::iter::once("runner").chain(words));
                assert!(
                    parsed.is_ok(),
                    "{} quotes `cargo runner {command}`: {}",
                    path.display(),
                    parsed.unwrap_err()
                );
                quoted += 1;
            }
        }
        assert!(quoted > 2, "only {quoted} commands found");
    }
}
