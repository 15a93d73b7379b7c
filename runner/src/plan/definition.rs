//! The definition of a sweep, in words: a row of `experiments.toml`, options of the command line,
//! and the part of the row that a manifest keeps.

use std::collections::BTreeMap;

use clap::Args;
use protocol::Placement;
use serde::{Deserialize, Serialize};

use super::asked::{Figure, Mode};

/// The definition of a sweep, in words. One definition fills the gaps of another (see
/// `Definition::over`).
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct Definition {
    /// Its name on the command line.
    #[arg(skip)]
    pub name: String,
    /// Its purpose, in one line.
    #[arg(skip)]
    pub shows: String,
    /// Where it was published.
    #[arg(skip)]
    pub source: String,
    /// The figure that is drawn.
    #[arg(skip)]
    pub figure: Figure,
    /// Parameters that mean nothing to the sequential program.
    #[arg(skip)]
    #[serde(default, alias = "sequential_ignores")]
    pub sequential_ignores: Vec<String>,
    /// Names, globs, `all`, `group:NAME`, `!exclusions`, separated by commas [default: all]; or,
    /// the baseline first, names and published:VERSION, path:DIR, git:URL#COMMIT, git:DIR#COMMIT or
    /// fork:FEATURE,FEATURE
    #[arg(long, value_name = "LIST")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branches: Option<String>,
    /// Names, globs, `all`, `!exclusions`, separated by commas
    #[arg(long, value_name = "LIST")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workloads: Option<String>,
    /// tiny, small, medium or large
    #[arg(long)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<String>,
    /// Also with these prices of the simulated machine halved, and doubled: keys of its file,
    /// globs, `all`; `work` is the price of the workloads' units, `system` block, wake, resume and
    /// yield together
    #[arg(long, value_name = "LIST")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<String>,
    /// Thread counts: numbers, ranges (1..=64), `cores`, `cpus`, separated by commas
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<String>,
    /// CPU frequency: as the host decides, one for all CPUs, or both
    #[arg(long, value_enum, help_heading = FREQUENCY_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeChoice>,
    /// Where the pool's workers run
    /// [default: free]
    #[arg(long, value_enum)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementChoice>,
    /// Trials (processes) per cell
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    /// Binaries of each branch that differ only in the order of their functions, which by itself
    /// changes times; trials rotate through them [default: one for each trial]
    #[arg(long, value_name = "K", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layouts: Option<u32>,
    /// Timed iterations per trial, after one untimed
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Untimed iterations at the start of a trial.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_iterations: Option<u32>,
    /// Whether the baseline's A/A twin runs.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<bool>,
    /// Parameters of all cell sets.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub set: BTreeMap<String, Scalar>,
    /// Parameters whose values are combined, each with each.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub vary: BTreeMap<String, Vec<Scalar>>,
    /// Parameters that go together.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub cases: Vec<BTreeMap<String, Scalar>>,
    /// Parameters of each cell set, as `--parameter` takes them: what the three before make.
    #[arg(skip)]
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<BTreeMap<String, String>>,
}

/// The heading under which `--help` lists the options about frequencies.
pub(crate) const FREQUENCY_HEADING: &str = "CPU frequency";

impl Definition {
    /// Fills the gaps of this definition from `base`.
    pub(crate) fn over(self, base: Self) -> Self {
        Self {
            branches: self.branches.or(base.branches),
            workloads: self.workloads.or(base.workloads),
            size: self.size.or(base.size),
            prices: self.prices.or(base.prices),
            threads: self.threads.or(base.threads),
            mode: self.mode.or(base.mode),
            placement: self.placement.or(base.placement),
            trials: self.trials.or(base.trials),
            layouts: self.layouts.or(base.layouts),
            iterations: self.iterations.or(base.iterations),
            warmup_iterations: self.warmup_iterations.or(base.warmup_iterations),
            twin: self.twin.or(base.twin),
            ..base
        }
    }

    /// Returns the part of its row that a sweep keeps: the rest is in the sweep's own values.
    pub(crate) fn kept(&self) -> Self {
        Self {
            name: self.name.clone(),
            shows: self.shows.clone(),
            source: self.source.clone(),
            figure: self.figure,
            sequential_ignores: self.sequential_ignores.clone(),
            ..Self::default()
        }
    }
}

/// A parameter's value: people write numbers without quotation marks.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Scalar {
    /// A number.
    Whole(u64),
    /// Anything else.
    Word(String),
}

impl std::fmt::Display for Scalar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Whole(number) => number.fmt(f),
            Self::Word(word) => word.fmt(f),
        }
    }
}

/// Where workers run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementChoice {
    /// Where the kernel puts them
    #[default]
    Free,
    /// Worker i on the i-th CPU
    Pinned,
    /// Both, to compare them
    Both,
}

impl PlacementChoice {
    /// Returns the placements that it stands for.
    pub(crate) fn placements(self) -> Vec<Placement> {
        match self {
            Self::Free => vec![Placement::Free],
            Self::Pinned => vec![Placement::Pinned],
            Self::Both => vec![Placement::Free, Placement::Pinned],
        }
    }
}

/// How the CPU frequency is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum ModeChoice {
    /// The host decides
    #[default]
    Dynamic,
    /// One frequency on all CPUs
    Fixed,
    /// Both, to compare them
    Both,
    /// Both where the host can hold a frequency, else dynamic
    Available,
}

impl ModeChoice {
    /// Returns the modes that it stands for; `can_fix` says whether the host can hold a frequency.
    pub(crate) fn modes(self, can_fix: impl FnOnce() -> bool) -> Vec<Mode> {
        match self {
            Self::Dynamic => vec![Mode::Dynamic],
            Self::Fixed => vec![Mode::Fixed],
            Self::Available if !can_fix() => vec![Mode::Dynamic],
            Self::Both | Self::Available => vec![Mode::Dynamic, Mode::Fixed],
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::{Command, FromArgMatches as _};

    use super::*;

    #[test]
    fn every_option_overrides_what_a_row_says() {
        let command = Definition::augment_args(Command::new("sweep"));
        let words = [
            ("branches", "packed"),
            ("workloads", "tsp"),
            ("size", "large"),
            ("prices", "all"),
            ("threads", "3"),
            ("mode", "fixed"),
            ("placement", "both"),
            ("trials", "4"),
            ("layouts", "5"),
            ("iterations", "6"),
        ];
        let options: Vec<&str> = command
            .get_arguments()
            .filter_map(|it| it.get_long())
            .collect();
        assert_eq!(options, words.map(|(option, _)| option));
        let line = words.map(|(option, word)| format!("--{option}={word}"));
        let line = std::iter::once("sweep".to_owned()).chain(line);
        let typed = Definition::from_arg_matches(&command.get_matches_from(line)).unwrap();
        let row: Definition = toml::from_str(
            "name = \"row\"\nshows = \"\"\nsource = \"\"\nfigure = \"answers\"\nbranches = \"all\"\n\
             workloads = \"all\"\nsize = \"tiny\"\nprices = \"work\"\nthreads = \"1\"\nmode = \"both\"\n\
             placement = \"free\"\ntrials = 1\nlayouts = 1\niterations = 1\ntwin = false\n",
        )
        .unwrap();
        let meant = Definition {
            name: row.name.clone(),
            figure: row.figure,
            twin: row.twin,
            ..typed.clone()
        };
        assert_eq!(typed.over(row.clone()), meant);
        assert_eq!(Definition::default().over(row.clone()), row);
    }
}
