//! The options of `sweep`, its help text, and the requests of other commands that sweep.

use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::{Args, Parser};

use crate::config::Config;
use crate::options::{Selection, folder};
use crate::plan::SweepRequest;
use crate::stop::Stop;
use crate::text::table::Format;

/// Arguments of `sweep`.
#[derive(Clone, Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(in crate::commands) selection: Selection,
    /// Continue a stopped sweep: a name, a path, or by default the newest unfinished one. Excludes
    /// options that select a sweep, except `--input` if the instance file is outside the checkout
    #[arg(long, value_name = "SWEEP", num_args = 0..=1, default_missing_value = "latest",
          conflicts_with_all = ["preset", "experiment", "branches", "workloads", "size", "parameters", "threads",
                                "mode", "placement", "trials", "layouts", "iterations", "seed", "timeout", "no_twin",
                                "instrument", "shard", "machine", "points"])]
    pub(in crate::commands) resume: Option<String>,
    /// Parent folder of the sweep [default: results/sweeps]
    #[arg(long, value_name = "DIR", value_parser = folder)]
    pub(in crate::commands) output: Option<PathBuf>,
    /// Trials of a simulated machine that run at the same time [default: one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(in crate::commands) jobs: Option<u16>,
    /// Output format of the result at the end
    #[arg(long, value_enum, default_value = "table")]
    pub(super) format: Format,
}

/// A parser for the options alone.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    sweep: SweepArgs,
}

impl SweepArgs {
    /// Parses the words of a `cargo runner sweep`.
    pub(in crate::commands) fn of(words: &[String]) -> Result<Self> {
        let words = std::iter::once("sweep").chain(words.iter().map(String::as_str));
        Ok(Line::try_parse_from(words)?.sweep)
    }

    /// Refuses to run trials side by side on a host.
    pub(super) fn check_jobs(&self, asked: &SweepRequest) -> Result<()> {
        match self.jobs {
            Some(jobs) if asked.machine.is_none() => bail!(Stop::BadInput(format!(
                "--jobs {jobs}: trials on a host would disturb each other; leave it out, or name a simulated machine \
                 with --machine"
            ))),
            _ => Ok(()),
        }
    }
}

/// Text that `--help` prints below the options.
pub(crate) const HELP: &str = "\
Examples:
  cargo runner sweep --branches all
      every branch on the default workloads; `cargo runner plan --branches all` estimates the time
  cargo runner sweep --branches 'split*,!*no-jec*' --workloads tsp --threads 1..=16
      some branches (globs and exclusions; the baseline is always included)
  cargo runner sweep --workloads tsp --input berlin52.tsp --trials 11
      a TSPLIB instance
  cargo runner sweep --workloads quicksort --parameter elements=5000000
      another instance size
  cargo runner sweep --branches packed,split-counters --instrument
      also count what the scheduler does, in separate builds
  cargo runner sweep --experiment packets-speedup-exponential --parameter duration-ms=200
      one figure of a study by its name, with shorter runs
  cargo runner sweep --machine zen4-64 --experiment study --mode both
      the same pools on 64 simulated cores; `cargo runner list machines`
  cargo runner sweep --box --threads 64
      the same on 60 machines that differ in every cost parameter: the sign of each difference, and where it flips
  cargo runner sweep --resume
      continue the newest unfinished sweep

Ctrl-C stops at once and loses at most the running trial.

Exit codes:
  0 all good · 1 some trials failed · 2 bad input · 3 build failed · 4 host not fit · 130 interrupted";

/// How the commands that sweep differ.
pub(crate) struct SweepCommand {
    /// The command, for hints how to continue.
    pub(crate) command: &'static str,
    /// Branches that replace those of branches.toml.
    pub(crate) config: Option<Config>,
    /// Whether the table is printed as a text for a pull request, and not as `show` does.
    pub(crate) has_page: bool,
    /// Whether the same command line continues after an interruption; otherwise the user needs
    /// `--resume`.
    pub(crate) goes_on: bool,
    /// The program of the user that a sweep compares, as it was typed.
    pub(crate) program: Option<TypedProgram>,
}

/// A program of the user on the command line.
pub(crate) struct TypedProgram {
    pub(crate) folder: PathBuf,
    pub(crate) arguments: Vec<String>,
}

impl SweepCommand {
    /// Returns the variant for a command that prints tables as `show` does, and finds the sweep to
    /// continue by itself.
    pub(crate) fn going_on(command: &'static str, config: Option<Config>) -> Self {
        Self {
            command,
            config,
            has_page: false,
            goes_on: true,
            program: None,
        }
    }
}
