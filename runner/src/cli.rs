//! Arguments and help texts.

mod completions;
mod help;

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use clap_complete::engine::ArgValueCompleter;
use clap_complete::env::CompleteEnv;

use crate::checkout::Checkout;
use crate::commands;
use crate::commands::doctor::DoctorArgs;
use crate::commands::frequency::{FrequencyArgs, FrequencyOptions, HEADING};
use crate::commands::merge::MergeArgs;
use crate::commands::slurm::SlurmArgs;
use crate::plan::{Mode, Shard};
use crate::selection::{PlacementChoice, Preset};
use crate::stop::{Exit, Stop};
use crate::table::Format;

use help::{
    COMPARE_EXAMPLES, COMPLETIONS_HELP, DOCTOR_HELP, EXIT_CODES, MERGE_EXAMPLES, SLURM_EXAMPLES,
    SWEEP_EXAMPLES,
};

/// Builds every branch of branches.toml and compares them: workloads × threads × CPU frequency modes × placements.
#[derive(Debug, Parser)]
#[command(name = "cargo runner", bin_name = "cargo runner", version, after_help = EXIT_CODES)]
struct Cli {
    /// The checkout [default: the nearest folder upwards that holds branches.toml]
    #[arg(long, global = true, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The branches under comparison [default: branches.toml of the checkout]
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what can be measured: branches, workloads and experiments
    List(ListArgs),
    /// Show what a sweep would do, and how long it would take; runs nothing
    #[command(after_help = "Examples:
  cargo runner plan
  cargo runner plan --preset full
  cargo runner plan --branches 'split*' --threads 1..=8 --order")]
    Plan(PlanArgs),
    /// Build branches and check that each binary is what its row asks for
    #[command(after_help = "Example:
  cargo runner build --branches 'all,!*jec*'")]
    Build(BuildArgs),
    /// Measure: build, run every trial, print the table
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep(SweepArgs),
    /// Measure some branches, wherever they come from, against the first of them
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Put shards of one plan together
    #[command(after_help = MERGE_EXAMPLES)]
    Merge(MergeArgs),
    /// Write a Slurm job array that measures a sweep in shards
    #[command(after_help = SLURM_EXAMPLES)]
    Slurm(SlurmArgs),
    /// Print the table of a sweep again
    #[command(after_help = "Example:
  cargo runner show latest --format csv > table.csv")]
    Show(ShowArgs),
    /// Set aside the lines of a sweep that are no records, so that it can be resumed
    #[command(after_help = "Example:
  cargo runner repair 2026-03-01T120000Z")]
    Repair(RepairArgs),
    /// Record what each worker does in one run of a workload, as a timeline
    #[command(after_help = "Example:
  cargo runner trace --branch packed --workload quicksort --threads 2")]
    Trace(TraceArgs),
    /// Look at the CPU frequency, fix it by hand, put back what was there
    #[command(after_help = "Examples:
  cargo runner frequency status
  cargo runner frequency fix        all CPUs at one frequency, until `restore`
  cargo runner frequency restore    also after a sweep that was killed")]
    Frequency(FrequencyArgs),
    /// Say what about this host makes times doubtful or a fixed frequency impossible, and the remedies
    #[command(after_help = DOCTOR_HELP)]
    Doctor(DoctorArgs),
    /// Draw a sweep: figures, tables and one page that shows them
    #[command(after_help = "Needs Python 3.11 or newer; sets up its libraries in .venv by itself.

Example:
  cargo runner report latest")]
    Report(ReportArgs),
    /// Print completions for a shell
    #[command(after_help = COMPLETIONS_HELP)]
    Completions(CompletionsArgs),
    /// Run the analysis directly: everything after this word goes to `python -m sweep_analysis`
    #[command(
        after_help = "Example:
  cargo runner analysis --help",
        disable_help_flag = true
    )]
    Analysis(AnalysisArgs),
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// What to list [default: all]
    #[arg(value_enum)]
    pub(crate) what: Option<ListWhat>,
    /// How it is printed; JSON has every detail
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ListWhat {
    Branches,
    Workloads,
    Experiments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ListFormat {
    Table,
    Json,
}

/// What defines a sweep.
#[derive(Debug, Args)]
pub(crate) struct Selection {
    /// Starting point; the options below override it [default: quick]
    #[arg(long, value_enum, conflicts_with = "experiment")]
    pub(crate) preset: Option<Preset>,
    /// Starting point with a name, for one table or figure; see `list experiments`
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(completions::experiments))]
    pub(crate) experiment: Option<String>,
    /// Names, globs, `all`, `!exclusions`, with commas between [default: all]
    #[arg(long, value_name = "LIST", add = ArgValueCompleter::new(completions::branches))]
    pub(crate) branches: Option<String>,
    /// Names, globs, `all`, `!exclusions`, with commas between
    #[arg(long, value_name = "LIST", add = ArgValueCompleter::new(completions::workloads))]
    pub(crate) workloads: Option<String>,
    /// tiny, small, medium or large
    #[arg(long)]
    pub(crate) size: Option<String>,
    /// NAME=VALUE or WORKLOAD.NAME=VALUE; may be repeated; see `list workloads`
    #[arg(long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Instance file, for workloads that read one
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Thread counts: numbers, ranges (1..=64), `cores`, `cpus`, with commas between
    #[arg(long, value_name = "LIST")]
    pub(crate) threads: Option<String>,
    /// As the host decides, one for all CPUs, or both
    #[arg(long, value_enum, help_heading = HEADING)]
    pub(crate) mode: Option<ModeChoice>,
    /// The pool's workers: where the kernel puts them, worker i kept on the i-th CPU, or both
    /// [default: free]
    #[arg(long, value_enum)]
    pub(crate) placement: Option<PlacementChoice>,
    /// Trials (processes) per cell
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) trials: Option<u32>,
    /// Binaries of each branch that differ only in where the linker puts their functions, which by itself
    /// changes times; trials take turns with them [default: one for each trial]
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) layouts: Option<u32>,
    /// Timed iterations per trial, after one untimed
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) iterations: Option<u32>,
    /// Seed of the order and of the workloads' inputs [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Longest time for a trial, in seconds; then it is killed and recorded as failed [default: 60]
    #[arg(long, value_name = "SECONDS", value_parser = positive_seconds)]
    pub(crate) timeout: Option<f64>,
    /// Run one part of the plan, such as 2/4, and leave the others to identical machines; see `merge`
    #[arg(long, value_name = "NUMBER/COUNT")]
    pub(crate) shard: Option<Shard>,
    /// Leave out the baseline's A/A twin, without which little can be judged
    #[arg(long)]
    pub(crate) no_twin: bool,
    /// Also run instrumented builds of the fork's branches: TRIALS trials per cell that count what the
    /// scheduler does and are never timed [default: 2]
    #[arg(long, value_name = "TRIALS", num_args = 0..=1, require_equals = true,
          default_missing_value = "2", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) instrument: Option<u32>,
    /// Run `--mode fixed` although this host cannot hold a frequency; every trial is labelled so
    #[arg(long, help_heading = HEADING)]
    pub(crate) allow_uncontrolled: bool,
    #[command(flatten)]
    pub(crate) frequency: FrequencyOptions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ModeChoice {
    Dynamic,
    Fixed,
    Both,
}

impl ModeChoice {
    pub(crate) fn modes(self) -> Vec<Mode> {
        match self {
            Self::Dynamic => vec![Mode::Dynamic],
            Self::Fixed => vec![Mode::Fixed],
            Self::Both => vec![Mode::Dynamic, Mode::Fixed],
        }
    }
}

fn positive_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e6 => Ok(seconds),
        _ => {
            Err("write a positive number of seconds, at most 1000000, for example 60 or 0.5"
                .to_owned())
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Print every trial in its order, as CSV
    #[arg(long, conflicts_with = "format")]
    pub(crate) order: bool,
    /// How it is printed
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct BuildArgs {
    /// Names, globs, `all`, `!exclusions`, with commas between
    #[arg(long, value_name = "LIST", default_value = "all",
          add = ArgValueCompleter::new(completions::branches))]
    pub(crate) branches: String,
}

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// Go on with a sweep that was stopped: a name, a path, or the newest unfinished one; takes no other
    /// selection, but `--input` if the instance file lay outside the checkout
    #[arg(long, value_name = "SWEEP", num_args = 0..=1, default_missing_value = "latest",
          conflicts_with_all = ["preset", "experiment", "branches", "workloads", "size", "parameters", "threads",
                                "mode", "placement", "trials", "layouts", "iterations", "seed", "timeout", "no_twin",
                                "instrument", "shard"])]
    pub(crate) resume: Option<String>,
    /// Folder in which the sweep's folder is made [default: results/sweeps]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Go on without branches that cannot be built; their trials are recorded as `build-failed`
    #[arg(long)]
    pub(crate) keep_going: bool,
    /// How the result at the end is printed
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
}

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// The baseline, then what is compared with it: a branch of branches.toml, published:VERSION,
    /// path:DIR, git:URL#COMMIT, fork:FEATURE,FEATURE; NAME= before one gives it a name
    #[arg(value_name = "BRANCH", num_args = 2.., add = ArgValueCompleter::new(completions::branches), required_unless_present = "resume",
          conflicts_with_all = ["resume", "branches"])]
    pub(crate) specs: Vec<String>,
    #[command(flatten)]
    pub(crate) sweep: SweepArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// A name or the beginning of one, a path, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) sweep: String,
    /// How the table is printed
    #[arg(long, value_enum, default_value = "table")]
    pub(crate) format: Format,
    /// Folder that holds the sweeps [default: results/sweeps]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// A name or the beginning of one, a path, or `latest`
    pub(crate) sweep: String,
    /// Folder that holds the sweeps [default: results/sweeps]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    /// A branch of rayon-fork/; others record nothing
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(completions::branches))]
    pub(crate) branch: String,
    /// A workload; see `list workloads`
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(completions::workloads))]
    pub(crate) workload: String,
    /// Threads of the pool
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) threads: u32,
    /// Keep worker i on the i-th CPU, as `sweep --placement pinned` does
    #[arg(long)]
    pub(crate) pinned: bool,
    /// tiny, small, medium or large
    #[arg(long, default_value = "small")]
    pub(crate) size: String,
    /// NAME=VALUE; may be repeated
    #[arg(long = "parameter", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,
    /// Instance file, for workloads that read one
    #[arg(long, value_name = "FILE")]
    pub(crate) input: Option<PathBuf>,
    /// Iterations that are recorded, after one that is not
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) iterations: u32,
    /// Seed of the workload's input
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Longest time that it may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = positive_seconds)]
    pub(crate) timeout: f64,
    /// File to write [default: results/traces/BRANCH-WORKLOAD-SIZE-N-threads.json]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A name or the beginning of one, a path, or `latest`
    #[arg(default_value = "latest")]
    pub(crate) sweep: String,
    /// Folder to write [default: results/reports/SWEEP]
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct AnalysisArgs {
    /// Arguments of the analysis
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<std::ffi::OsString>,
}

#[derive(Debug, Args)]
struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: completions::Shell,
}

/// What the options of a shard's `sweep` select.
///
/// # Errors
/// [`Stop::BadInput`] with clap's words.
pub(crate) fn sweep_selection(options: &[String], shard: Shard) -> Result<Selection> {
    let shard = format!("--shard={shard}");
    let words = ["cargo runner", "sweep"].into_iter().chain(options.iter().map(String::as_str));
    let cli = Cli::try_parse_from(words.chain([shard.as_str()])).map_err(|error| {
        let text = error.to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        Stop::BadInput(format!("after `--`: {text}"))
    })?;
    match cli.command {
        Command::Sweep(arguments) if arguments.resume.is_none() && arguments.output.is_none() => {
            Ok(arguments.selection)
        }
        _ => bail!(Stop::BadInput(
            "after `--`: --resume and --output are given by the script; leave them out".to_owned()
        )),
    }
}

/// The command line, without options in help texts that their command refuses.
fn command() -> clap::Command {
    // The branches of a comparison are its words.
    let hidden = |command: clap::Command| command.mut_arg("branches", |option| option.hide(true));
    Cli::command().mut_subcommand("compare", hidden)
}

/// Parses the command line and does what it says.
///
/// # Errors
/// Whatever stops a command; [`crate::stop::exit_of`] gives its exit code.
pub fn run() -> Result<Exit> {
    // Answers a shell's question and ends, if the environment says that one asks.
    CompleteEnv::with_factory(command).bin("runner").complete();
    let cli = Cli::from_arg_matches(&command().get_matches()).unwrap_or_else(|error| error.exit());
    if let Command::Completions(arguments) = &cli.command {
        std::io::stdout().write_all(arguments.shell.script().as_bytes())?;
        return Ok(Exit::Good);
    }
    let checkout = Checkout::find(cli.root.as_deref())?;
    let config = cli.config.unwrap_or_else(|| checkout.root().join("branches.toml"));
    let place = commands::Place { checkout, config };
    match cli.command {
        Command::List(arguments) => commands::list::run(&place, &arguments),
        Command::Plan(arguments) => commands::plan::run(&place, &arguments),
        Command::Build(arguments) => commands::build::run(&place, &arguments),
        Command::Sweep(arguments) => commands::sweep::run(&place, &arguments),
        Command::Compare(arguments) => commands::compare::run(&place, &arguments),
        Command::Merge(arguments) => commands::merge::run(&place, &arguments),
        Command::Slurm(arguments) => commands::slurm::run(&place, &arguments),
        Command::Show(arguments) => commands::show::run(&place, &arguments),
        Command::Repair(arguments) => commands::repair::run(&place, &arguments),
        Command::Trace(arguments) => commands::trace::run(&place, &arguments),
        Command::Frequency(arguments) => commands::frequency::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&place, &arguments),
        Command::Report(arguments) => commands::report::run(&place, &arguments),
        Command::Completions(_) => unreachable!("needs no checkout, so it was done above"),
        Command::Analysis(arguments) => commands::report::pass_on(&place, &arguments),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use super::*;

    #[test]
    fn the_arguments_do_not_contradict_themselves() {
        command().debug_assert();
    }

    /// All texts of the analysis that a reader sees, by file: of a notebook its cells and what they printed.
    fn texts_of_the_analysis() -> Vec<(PathBuf, String)> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../analysis");
        let mut texts = Vec::new();
        let mut folders = vec![root.join("notebooks"), root.join("src/sweep_analysis")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let Some(kind @ ("ipynb" | "py" | "j2")) =
                    path.extension().and_then(|kind| kind.to_str())
                else {
                    continue;
                };
                let text = fs::read_to_string(&path).unwrap();
                let text = if kind == "ipynb" {
                    lines_of(&serde_json::from_str(&text).unwrap())
                } else {
                    text
                };
                texts.push((path, text));
            }
        }
        texts
    }

    /// All strings in a value, those of one list joined: a notebook keeps the lines of a text so.
    fn lines_of(value: &serde_json::Value) -> String {
        match value {
            serde_json::Value::String(text) => text.clone(),
            serde_json::Value::Array(values) => values.iter().map(lines_of).collect(),
            serde_json::Value::Object(fields) => {
                fields.values().map(|field| lines_of(field) + "\n").collect()
            }
            _ => String::new(),
        }
    }

    #[test]
    fn every_command_that_notebooks_and_reports_quote_parses() {
        let mut quoted = 0;
        for (path, text) in texts_of_the_analysis() {
            for rest in text.split("`cargo runner ").skip(1) {
                let command = rest.split('`').next().unwrap();
                // What a report fills in may be any word.
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
