//! The command line of each sweep of the command.

use std::path::Path;

use anyhow::Result;

use crate::commands::sweep::SweepArgs;
use crate::commands::validate::{EXPERIMENT, ValidateArgs};
use crate::kit::record::Step;
use crate::kit::threads::{self, Threads};

/// Trials of each cell, each in a build of its own; the same everywhere, so that sweeps share
/// builds.
const TRIALS: &str = "11";

/// Branches that are predicted: the twin of the published crate, and one that sleeps otherwise.
const PREDICTED: &str = "packed,split-counters-sleepers-only-cache-padded";

/// Steps whose sweeps have pages.
pub(super) const DRAWN: [Step; 3] = [Step::Study, Step::Classics, Step::Validate];

/// Returns a description of a step.
pub(super) fn says(step: Step) -> &'static str {
    match step {
        Step::Doctor => "what makes times doubtful here",
        Step::Calibrate => "prices of this host, so that it can be simulated as the machine `here`",
        Step::Predict => "what will be measured, simulated; written down before anything is",
        Step::Study => "the programs of the 2022 study on every branch",
        Step::Classics => "sixteen programs, with `champion` among four branches",
        Step::Validate => "what was predicted, measured, and how near the prediction is",
        Step::Report => "figures and pages, for you; they are not sent",
    }
}

/// The words of all sweeps.
#[derive(Debug)]
pub(super) struct Plans {
    validation: Vec<String>,
    study: Vec<String>,
    classics: Vec<String>,
}

impl Plans {
    /// Of sweeps into a folder of results, with these threads; tiny ones if `is_quick`.
    pub(super) fn new(results: &Path, all: &Threads, is_quick: bool) -> Self {
        let output = results.join("sweeps").display().to_string();
        let words = |threads: &[usize], more: &[&str]| {
            let quick = ["--size", "tiny", "--trials", "2", "--iterations", "1"];
            let whole = ["--trials", TRIALS, "--iterations", "3"];
            let how = if is_quick { &quick[..] } else { &whole };
            let list = threads::list(threads);
            let own = ["--output", &output, "--threads", &list];
            own.iter()
                .chain(how)
                .chain(more)
                .map(|word| (*word).to_owned())
                .collect()
        };
        if is_quick {
            // The linker's own order of functions: the other builds would take a minute.
            return Self {
                validation: words(
                    &[1],
                    &one_build(&["--branches", "packed", "--workloads", "fib-join,quicksort"]),
                ),
                study: words(
                    &[1, 2],
                    &one_build(&[
                        "--experiment",
                        "study",
                        "--branches",
                        "master,packed,champion",
                    ]),
                ),
                classics: words(
                    &[1, 2],
                    &one_build(&[
                        "--experiment",
                        "host-classics",
                        "--branches",
                        "master,packed,champion",
                        "--workloads",
                        "fib-join,scope-spawn,ticks",
                    ]),
                ),
            };
        }
        Self {
            validation: words(&all.simulated, &["--branches", PREDICTED]),
            study: words(&all.many, &["--experiment", "study"]),
            classics: words(&all.few, &["--experiment", "host-classics"]),
        }
    }

    /// Returns the arguments of `validate`, for its prediction and for its measurement.
    pub(super) fn validation(&self) -> Result<ValidateArgs> {
        let sweep = SweepArgs::of(&self.validation)?;
        Ok(ValidateArgs {
            predict_only: true,
            keep_prices: true,
            new: false,
            sweep,
        })
    }

    /// Returns the arguments of a step's sweep; for `validate`, those of an ordinary sweep.
    pub(super) fn sweep(&self, step: Step) -> Result<SweepArgs> {
        let words = match step {
            Step::Study => &self.study,
            Step::Classics => &self.classics,
            _ => &[
                &self.validation[..],
                &["--experiment", EXPERIMENT].map(str::to_owned),
            ]
            .concat(),
        };
        SweepArgs::of(words)
    }
}

/// Words, and those that leave a build's functions in the linker's own order.
fn one_build<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["--layouts", "1"], words].concat()
}

#[cfg(test)]
mod tests {

    use super::*;

    #[test]
    fn the_words_of_every_sweep_parse_on_small_and_large_hosts() {
        for (cores, cpus) in [(1, 1), (2, 2), (128, 256)] {
            for is_quick in [false, true] {
                let plans = Plans::new(Path::new("results"), &Threads::of(cores, cpus), is_quick);
                for step in Step::ALL.iter().copied().filter(|step| step.is_sweep()) {
                    plans.sweep(step).unwrap();
                }
                plans.validation().unwrap();
            }
        }
    }

    #[test]
    fn what_is_said_of_host_classics_is_so() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let known = crate::options::experiments::read(root).unwrap().experiments;
        let found =
            crate::options::experiments::find(known, "experiment", "host-classics").unwrap();
        assert_eq!(found.workloads.unwrap().split(',').count(), 16);
        assert_eq!(found.branches.unwrap().split(',').count(), 4);
    }
}
