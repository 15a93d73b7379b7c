//! What a sweep starts from if no experiment is named.

use std::collections::BTreeMap;

use crate::config::experiments::Experiment;

/// What a sweep is for; explicit options override what it sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Preset {
    /// Proves the tool in seconds; its times mean nothing.
    Smoke,
    /// Every branch on the three headline workloads; `plan` says how long.
    Quick,
    /// All workloads, both modes where the host allows; `plan` says how many hours.
    Full,
    /// What `--machine` starts from: three small shapes, minutes on any host.
    Simulated,
}

impl Preset {
    /// What it stands for, as an experiment that has no name and draws nothing of its own.
    pub(crate) fn values(self) -> Experiment {
        let (workloads, size, threads, trials, iterations) = match self {
            Self::Smoke => (HEADLINE, "tiny", "1,2", 2, 2),
            Self::Quick => (HEADLINE, "small", "1,4,16,64,cores,cpus", 7, 3),
            Self::Full => ("all", "small", HEADLINE_THREADS, 11, 5),
            // The price of joins, what a program of the study adds, and waking up; sizes that are
            // mostly scheduling.
            Self::Simulated => ("fib-join,quicksort,ticks", "tiny", "1,8,cores", 5, 3),
        };
        Experiment {
            workloads: workloads.to_owned(),
            size: size.to_owned(),
            branches: "all".to_owned(),
            threads: threads.to_owned(),
            trials,
            iterations,
            warmup_iterations: 1,
            twin: true,
            cells: vec![BTreeMap::new()],
            ..Experiment::default()
        }
    }
}

/// Doubled up to what the original study had, and what this host has.
const HEADLINE_THREADS: &str = "1,2,4,8,16,32,64,cores,cpus";

/// The workloads of the original study.
const HEADLINE: &str = "quicksort,tsp,packets";
