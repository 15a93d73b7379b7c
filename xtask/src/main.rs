//! The command line `cargo xtask`: tasks that check this repository, and tasks that write patches
//! or a copy of the fork.

mod conformance;
mod dependency;
mod findings;
mod fork;
mod harness;
mod lanes;
mod lock;
mod parts;
mod python;
mod registry;
mod sanitizers;
mod scratch;
mod shell;
mod simulated;
mod sources;
mod steps;
mod upstream;
mod variants;
mod vendor;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum as _};
use runner::config::ConfigError;
use runner::exit::exit_of;
use runner::stop::Stop;
use runner::stop::is_broken_pipe;
use runner::system::interrupt::survive_file_limits;
use runner::text::words::tell;
use xshell::Shell;

use crate::lanes::Step;
use crate::parts::Part;
use crate::variants::{Variant, Variants};

/// The checks of this repository.
#[derive(Parser)]
#[command(
    name = "cargo xtask",
    bin_name = "cargo xtask",
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run the tests: the fork and its models, the fork as a dependency, workloads, rivals,
    /// findings, runner and analysis
    Test {
        /// Run only these parts. By default xtask runs all parts, but `services`, `rivals` and
        /// `findings` only if their files have changed
        #[arg(long, value_delimiter = ',')]
        only: Vec<Part>,
        /// Test the fork on each combination of the study's features and on each other feature, not
        /// only on the builds of `ci`; takes long
        #[arg(long, conflicts_with = "asked")]
        all_variants: bool,
        /// Also run parts that passed before and whose files have not changed
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        variants: Variants,
    },
    /// Check formats, lints and documentation: quick, before a commit
    Check {
        /// Lint the fork on each combination of the study's features and on each other feature, not
        /// only on the builds of `ci`; takes long
        #[arg(long)]
        all_variants: bool,
    },
    /// Run the published rayon's tests, and rayon-core's integration and unit tests, on the fork's
    /// variants
    ///
    /// The tests come from the registry; this repository contains none of them. All tests take an
    /// hour or two and 4 GB below target/conformance. An interrupted run continues where it
    /// stopped.
    Conformance(conformance::Options),
    /// Apply our proposals to rayon-core, run its own tests with each, and write them as patches
    ///
    /// A proposal is `findings/NAME/edits.toml`: line numbers of upstream's files, and our text.
    /// The patch is target/upstream/NAME.patch, with a commit message, for `git apply` in a tree
    /// of rayon. The edited copy stays in target/upstream/NAME. Needs the registry.
    ///
    /// Exit codes: 1 if one of upstream's tests fails, 3 if the result does not compile, 2 if a
    /// file of the tree differs from the file for which the edits were written.
    Upstream(upstream::Options),
    /// Run the deep set of model checks of the sleep protocol and of the workloads' locks
    Models,
    /// Compare the stack of nested joins, scopes, installs and spawns with the published crate
    ///
    /// Runs in release and debug builds, by default on each combination of the study's features and
    /// on each other feature. Fails if a level takes clearly more stack than on the published
    /// crate.
    Stack {
        #[command(flatten)]
        variants: Variants,
    },
    /// Run the fork's tests under Miri, with a nightly compiler; by default on two variants
    Miri {
        /// Schedules per test: Miri's random choices begin with the seeds 0, 1, …
        #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
        seeds: u32,
        #[command(flatten)]
        variants: Variants,
        /// Only tests whose name contains one of these (default: all)
        names: Vec<String>,
    },
    /// Run the fork's tests under the thread sanitizer, with a nightly compiler; by default on two
    /// variants
    Tsan {
        #[command(flatten)]
        variants: Variants,
    },
    /// Test the analysis on synthetic sweeps with known truth
    ///
    /// Prints how often intervals cover the truth, test results are wrong, effects are found and
    /// branches are recommended. Fails if the analysis misses a target. All cases take about ten
    /// minutes on two CPUs. `cargo xtask test` uses fewer sweeps.
    Truth {
        /// Synthetic sweeps of each case
        #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
        sweeps: u32,
        /// Run only these cases. An unknown name prints the known cases (default: all)
        cases: Vec<String>,
    },
    /// Kill the runner at every step of a change of the CPU frequency, and kill sweeps at random
    /// moments
    ///
    /// Ends the runner by SIGINT and SIGTERM, by SIGKILL and by a panic, on every kind of mock
    /// host. Kills sweeps at 120 moments.
    Faults,
    /// Copy only the fork, without this workspace, into a new folder for a program of yours
    ///
    /// Prints the lines for the `Cargo.toml` of that program.
    Vendor {
        /// The folder to make
        folder: PathBuf,
    },
    /// Run what continuous integration runs: `check`, and the parts of `test`, also those that
    /// passed before
    ///
    /// Runs two lanes of steps side by side, and prints a table of the seconds of each step.
    Ci,
}

fn main() -> ExitCode {
    match run(Cli::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader closed the pipe, as `head` does, which is no failure.
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&format!("error: {error:#}"));
            ExitCode::from(exit_code(&error))
        }
    }
}

/// The exit codes equal the runner's: 2 for bad input, 3 for a failed build, 4 for an unfit host,
/// 130 for an interrupt. Any other error is a failed check.
fn exit_code(error: &anyhow::Error) -> u8 {
    let is_classified = error.is::<Stop>() || error.is::<ConfigError>();
    if is_classified {
        exit_of(error).code()
    } else {
        1
    }
}

fn run(task: Task) -> Result<()> {
    survive_file_limits()?;
    let sh = shell::at_root()?;
    match task {
        Task::Test {
            only,
            all_variants,
            force,
            variants,
        } => {
            let builds = builds(&variants, all_variants)?;
            let mut options = variants.words();
            options.extend(all_variants.then(|| "--all-variants".to_owned()));
            test(&sh, &only, &builds, &options, force)
        }
        Task::Vendor { folder } => vendor::run(&sh, &folder),
        Task::Check { all_variants } => {
            let builds = builds(&Variants::default(), all_variants)?;
            steps::check(&sh, &builds)
        }
        Task::Conformance(options) => conformance::run(&sh, &options),
        Task::Upstream(options) => upstream::run(&sh, &options),
        Task::Models => steps::models(&sh, steps::Depth::Deep),
        Task::Stack { variants } => dependency::stack::run(&sh, &variants.chosen()?),
        Task::Miri {
            seeds,
            variants,
            names,
        } => sanitizers::miri(&sh, seeds, &variants.chosen_or_named()?, &names),
        Task::Tsan { variants } => sanitizers::tsan(&sh, &variants.chosen_or_named()?),
        Task::Truth { sweeps, cases } => python::truth(&sh, sweeps, &cases),
        Task::Faults => steps::faults(&sh),
        Task::Ci => {
            let variants = builds(&Variants::default(), false)?;
            let [mut first, second] = in_lanes(&due(&sh, &[], &variants, true)?, &[], true);
            first.insert(0, Step::new(["check"]));
            lanes::run(&sh, [first, second])
        }
    }
}

fn builds(variants: &Variants, all: bool) -> Result<Vec<Variant>> {
    if all {
        variants.chosen()
    } else {
        variants.chosen_or_of_ci()
    }
}

/// Parts that build for long in the checkout's target folder, then `dependency` and `findings`,
/// which build elsewhere.
const FIRST_LANE: [Part; 6] = [
    Part::Fork,
    Part::Workloads,
    Part::Services,
    Part::Runner,
    Part::Dependency,
    Part::Findings,
];

/// The other parts, which together take about as long as the first lane.
const SECOND_LANE: [Part; 6] = [
    Part::Analysis,
    Part::Simulated,
    Part::Conformance,
    Part::Stack,
    Part::Rivals,
    Part::Models,
];

fn test(
    sh: &Shell,
    only: &[Part],
    variants: &[Variant],
    options: &[String],
    is_forced: bool,
) -> Result<()> {
    match due(sh, only, variants, is_forced)?.as_slice() {
        [] => Ok(()),
        &[part] => {
            let stamp = part.stamp(sh, variants)?;
            steps::run(sh, part, variants)?;
            stamp.set(sh)
        }
        parts => lanes::run(sh, in_lanes(parts, options, is_forced)),
    }
}

fn due(sh: &Shell, only: &[Part], variants: &[Variant], is_forced: bool) -> Result<Vec<Part>> {
    let mut due = Vec::new();
    for &part in Part::value_variants() {
        if only.is_empty() {
            if let Some(why) = part.is_left_out(sh) {
                eprintln!("── {}: left out: {why}", part.name());
                continue;
            }
        } else if !only.contains(&part) {
            continue;
        }
        if is_forced || !part.stamp(sh, variants)?.is_valid() {
            due.push(part);
        } else {
            let same = "passed before, and its files have not changed; --force runs it";
            eprintln!("── {}: {same}", part.name());
        }
    }
    Ok(due)
}

fn in_lanes(parts: &[Part], options: &[String], is_forced: bool) -> [Vec<Step>; 2] {
    let step = |part: &&Part| {
        let name = part.name();
        let force = is_forced.then_some("--force");
        let words = ["test", "--only", &name].into_iter();
        Step::new(words.chain(options.iter().map(String::as_str)).chain(force))
    };
    [&FIRST_LANE[..], &SECOND_LANE[..]].map(|lane| {
        lane.iter()
            .filter(|part| parts.contains(part))
            .map(|part| step(&part))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use anyhow::{Context as _, anyhow};
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn an_error_that_knows_its_cause_keeps_its_exit_code_and_any_other_is_a_failed_check() {
        for (stop, code) in [
            (Stop::BadInput(String::new()), 2),
            (Stop::BuildFailed(String::new()), 3),
            (Stop::HostNotFit(String::new()), 4),
            (Stop::Interrupted(String::new()), 130),
        ] {
            assert_eq!(
                exit_code(&Err::<(), _>(stop).context("a step").unwrap_err()),
                code
            );
        }
        assert_eq!(exit_code(&anyhow!("step failed: tests")), 1);
    }

    #[test]
    fn every_part_of_the_tests_is_in_one_lane() {
        for part in Part::value_variants() {
            let lanes = FIRST_LANE.iter().chain(&SECOND_LANE);
            assert_eq!(lanes.filter(|other| *other == part).count(), 1, "{part:?}");
        }
    }

    #[test]
    fn contributing_says_what_each_step_and_each_task_proves() {
        let text = include_str!("../../CONTRIBUTING.md");
        let tables: Vec<&str> = text.split("\n| what it proves |").collect();
        let [_, steps, long] = tables[..] else {
            panic!("two tables, of steps and of long forms")
        };
        let commands = |table: &str| -> BTreeSet<String> {
            let rows = table.lines().take_while(|line| line.contains('|')).skip(1);
            let step = rows
                .filter_map(|row| row.split('|').nth(2))
                .flat_map(|cell| cell.split('`'));
            step.filter_map(|word| word.strip_prefix("cargo xtask "))
                .map(str::to_owned)
                .collect()
        };
        let parts = Part::value_variants()
            .iter()
            .map(|part| format!("test --only {}", part.name()));
        assert_eq!(commands(steps), parts.chain(["check".to_owned()]).collect());
        let long = commands(long);
        for command in &long {
            let words = ["xtask"].into_iter().chain(command.split(' '));
            assert!(Cli::try_parse_from(words).is_ok(), "{command}");
        }
        let named: BTreeSet<&str> = long.iter().filter_map(|it| it.split(' ').next()).collect();
        let tasks = Cli::command();
        let tasks: BTreeSet<&str> = tasks
            .get_subcommands()
            .map(clap::Command::get_name)
            .collect();
        assert_eq!(named, &tasks - &["ci", "vendor"].into());
    }
}
