//! The five loads that find lost wake-ups, on every branch's own binary, and one table of how they
//! went.
//!
//! The loads are workloads of the catalogue, and the binaries those that sweeps time: so what is
//! said here holds of what is measured, and `master` goes through the same.

mod scenarios;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use runner::build::Builder;
use runner::config::checkout::Checkout;
use runner::config::{Branch, Config};
use runner::run::interrupt;
use runner::run::trial;
use runner::stop::Stop;
use xshell::Shell;

use crate::branches;
use scenarios::{Form, SCENARIOS};

/// Longest time for one process. Hangs are noticed long before, by the process itself.
const PROCESS_LIMIT: Duration = Duration::from_hours(12);

/// What to run.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct Scope {
    /// Branches: names, globs, `!exclusions`; may be repeated (default: all but rivals and
    /// proposals).
    #[arg(long = "branch", value_name = "NAME", value_delimiter = ',')]
    pub(crate) branches: Vec<String>,
    /// A million joins and ping-pongs and a hundred thousand broadcasts, instead of some thousands:
    /// minutes per branch instead of seconds.
    #[arg(long)]
    pub(crate) long: bool,
}

/// Builds the branches, runs every scenario on each, and prints a row for each as it ends.
pub(crate) fn run(sh: &Shell, scope: &Scope) -> Result<()> {
    let checkout = Checkout::find(Some(&sh.current_dir()))?;
    let branches = scope.chosen(branches::read(&checkout)?)?;
    let form = if scope.long { Form::Long } else { Form::Short };
    interrupt::install()?;
    let folder = checkout.root().to_owned();
    let builder = Builder::new(&checkout, &folder, 1)?;
    let binaries: Vec<(&Branch, PathBuf)> = branches
        .iter()
        .map(|branch| {
            eprintln!("── building {}", branch.name);
            // In the linker's own layout, of which there is one.
            Ok((
                branch,
                builder
                    .build(branch, builder.prepare(branch)?, 0)?
                    .binaries
                    .swap_remove(0),
            ))
        })
        .collect::<Result<_>>()?;
    println!("{}", table::heading());
    let mut failures = 0;
    for (branch, binary) in &binaries {
        for scenario in &SCENARIOS {
            let ended =
                trial::ask(binary, &scenario.request(form), PROCESS_LIMIT).ok_or_else(|| {
                    Stop::Interrupted("interrupted; the rows above are complete".to_owned())
                })?;
            println!("{}", table::row(&branch.name, scenario, &ended.result));
            if let Err(failure) = &ended.result {
                failures += 1;
                let report = failure.stderr_tail.as_deref().unwrap_or_default();
                eprintln!(
                    "{}, {}: {}\n{report}",
                    branch.name, scenario.name, failure.reason
                );
            }
        }
    }
    ensure!(
        failures == 0,
        "{failures} runs hung or went wrong; their reports are above. Where `barrier-join` hung on `master` or \
         on a branch that counts events and has no feature with fences, it met the hole of \
         rayon-fork/src/sleep/README.md, section 9; everywhere else it is a fault"
    );
    Ok(())
}

impl Scope {
    fn chosen(&self, config: Config) -> Result<Vec<Branch>> {
        let list = if self.branches.is_empty() {
            "all,group:designs,group:parts".to_owned()
        } else {
            self.branches.join(",")
        };
        let picked: Vec<String> = config
            .pick("--branch", &list)?
            .into_iter()
            .map(str::to_owned)
            .collect();
        Ok(config
            .branches
            .into_iter()
            .filter(|branch| picked.contains(&branch.name))
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkout() -> Checkout {
        Checkout::find(Some(&crate::shell::at_root().unwrap().current_dir())).unwrap()
    }

    fn chosen(branches: &[&str]) -> Result<Vec<String>> {
        let branches = branches.iter().map(|&name| name.to_owned()).collect();
        let scope = Scope {
            branches,
            long: false,
        };
        let chosen = scope.chosen(branches::read(&checkout())?)?;
        Ok(chosen.into_iter().map(|branch| branch.name).collect())
    }

    #[test]
    fn every_branch_of_the_fork_is_stressed_once_and_master_first() {
        let names = chosen(&[]).unwrap();
        assert_eq!(names.iter().filter(|name| *name == "packed").count(), 1);
        assert_eq!(names.first().map(String::as_str), Some("master"));
        assert!(names.contains(&"packed-push-fence".to_owned()), "{names:?}");
        assert!(
            names.contains(&"champion-without-demand".to_owned()),
            "{names:?}"
        );
        assert!(!names.contains(&"chili".to_owned()), "{names:?}");
    }

    #[test]
    fn branches_are_picked_by_name_and_an_unknown_one_is_bad_input() {
        assert_eq!(
            chosen(&["master", "packed-push-fence"]).unwrap(),
            ["master", "packed-push-fence"]
        );
        let error = chosen(&["spilt"]).unwrap_err();
        assert!(
            matches!(error.downcast_ref(), Some(Stop::BadInput(_))),
            "{error}"
        );
    }
}
