//! Whole programs of the registry, with the published rayon-core and with the fork: the same output, and how long.

mod builds;
mod catalogue;
mod figures;
mod inputs;
mod turns;

use std::thread;

use anyhow::{Result, bail, ensure};
use runner::config::checkout::Checkout;
use runner::config::pick::pick;
use runner::report::table::{Format, Terminal};
use runner::run::interrupt;
use runner::stop::Stop;
use xshell::Shell;

use crate::branches;
use crate::variants::Variant;
use builds::Built;
use catalogue::{PROGRAMS, Program};
use figures::{Row, text};
use turns::Contest;

/// Which programs to run, and how often.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// The branch to compare with the published rayon-core: one of the fork.
    #[arg(long, value_name = "NAME", default_value = "champion")]
    branch: String,
    /// Programs: names, globs, `!exclusions`; may be repeated (default: all; an unknown name lists them).
    #[arg(long = "program", value_name = "NAME", value_delimiter = ',')]
    programs: Vec<String>,
    /// Rounds for each program and number of threads. With less than six there are no intervals.
    #[arg(long, default_value_t = 11, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seed of the order within rounds, to have the same order again (default: a new one, which is printed).
    #[arg(long)]
    seed: Option<u32>,
    /// Build, and run nothing.
    #[arg(long)]
    build_only: bool,
    /// How the table is printed.
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Builds the programs both ways, runs them in turns, and prints a row for each quantity. Fails if a program fails or
/// prints something else with the fork.
pub(crate) fn run(sh: &Shell, options: &Options) -> Result<()> {
    let variant = options.variant(&Checkout::find(Some(&sh.current_dir()))?)?;
    let programs = options.chosen()?;
    interrupt::install()?;
    let mut ready = Vec::new();
    for program in programs {
        let built = builds::both(sh, program, &variant)
            .map_err(|error| Stop::BuildFailed(format!("{}: {error:#}", program.title())))?;
        let arguments = inputs::arguments(sh, program, &built)?;
        ready.push((program, built, arguments));
    }
    if options.build_only {
        return Ok(());
    }
    let seed = options.seed.unwrap_or_else(|| fastrand::u32(..));
    eprintln!("{} rounds each, in the order of --seed {seed}", options.rounds);
    let mut random = fastrand::Rng::with_seed(seed.into());
    let mut rows = Vec::new();
    let mut failures = Vec::new();
    for (program, Built { published, fork, .. }, arguments) in &ready {
        for threads in threads() {
            eprintln!("── {}, threads: {threads}", program.title());
            let contest = Contest { published, fork, arguments, threads };
            match contest.rounds(options.rounds, &mut random) {
                Ok(turns) => rows.extend(Row::each(program, threads, &turns)),
                Err(error) if error.is::<Stop>() => return Err(error),
                Err(error) => {
                    failures.push(format!("{}, threads: {threads}: {error:#}", program.title()));
                }
            }
        }
    }
    print!("{}", text(&rows, &options.branch, options.format, Terminal::of_stdout())?);
    failures.extend(rows.iter().filter_map(Row::difference));
    failures.dedup();
    ensure!(failures.is_empty(), "{}", failures.join("\n"));
    Ok(())
}

/// One thread, and as many as rayon takes by itself.
fn threads() -> Vec<usize> {
    let mut threads = vec![1, thread::available_parallelism().map_or(1, usize::from)];
    threads.dedup();
    threads
}

impl Options {
    fn variant(&self, checkout: &Checkout) -> Result<Variant> {
        let of_fork = branches::of_the_fork(checkout)?;
        let Some(branch) = of_fork.iter().find(|branch| branch.name == self.branch) else {
            let known: Vec<&str> = of_fork.iter().map(|branch| branch.name.as_str()).collect();
            bail!(Stop::BadInput(format!(
                "--branch {}: no branch of the fork is called so; known: {}",
                self.branch,
                known.join(", ")
            )));
        };
        Ok(Variant::of(branch.source.features()))
    }

    fn chosen(&self) -> Result<Vec<&'static Program>> {
        if self.programs.is_empty() {
            return Ok(PROGRAMS.iter().collect());
        }
        let known: Vec<&str> = PROGRAMS.iter().map(|program| program.name).collect();
        let picked = pick("--program", "program", &self.programs.join(","), &known)?;
        Ok(PROGRAMS.iter().filter(|program| picked.contains(&program.name)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(branch: &str, programs: &[&str]) -> Options {
        Options {
            branch: branch.to_owned(),
            programs: programs.iter().map(|&name| name.to_owned()).collect(),
            rounds: 1,
            seed: None,
            build_only: false,
            format: Format::Table,
        }
    }

    #[test]
    fn the_features_are_those_of_the_branchs_row() {
        let checkout = Checkout::find(Some(&crate::shell::at_root().unwrap().current_dir()));
        let checkout = checkout.unwrap();
        let variant = options("champion", &[]).variant(&checkout).unwrap();
        assert!(variant.features().split(',').any(|name| name == "demand"), "{variant:?}");
        for wrong in ["chmpion", "master"] {
            let error = options(wrong, &[]).variant(&checkout).unwrap_err();
            assert!(matches!(error.downcast_ref(), Some(Stop::BadInput(_))), "{error}");
            assert!(error.to_string().contains("champion"), "{error}");
        }
    }

    #[test]
    fn programs_are_picked_by_name_and_an_unknown_one_is_bad_input() {
        let chosen = options("champion", &["!b3sum"]).chosen().unwrap();
        assert_eq!(chosen.len(), PROGRAMS.len() - 1);
        let error = options("champion", &["b2sum"]).chosen().unwrap_err();
        assert!(error.to_string().contains("b3sum"), "{error}");
    }
}
