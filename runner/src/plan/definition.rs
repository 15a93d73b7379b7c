//! The definition of a sweep, made from a row of `experiments.toml` and the options of the command
//! line. A definition becomes the request for one host, which the manifest keeps.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use protocol::{Description, Placement, Size, Values, WholeProgram};
use serde::{Deserialize, Serialize};

use crate::config::TWIN_SUFFIX;
use crate::config::catalogue::{self, Programs};
use crate::host::Host;
use crate::text::words::count;

pub use crate::host::frequency::Mode;

/// The definition of a sweep, as users write it. One definition fills the gaps of another (see
/// `Definition::over`).
#[derive(Clone, Debug, Default, PartialEq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct Definition {
    /// The experiment's or preset's name on the command line.
    #[arg(skip)]
    pub name: String,
    /// The purpose of the experiment or preset, in one line.
    #[arg(skip)]
    pub shows: String,
    /// The study or publication that the row follows; may be empty.
    #[arg(skip)]
    #[serde(default)]
    pub source: String,
    /// The figure that the analysis draws.
    #[arg(skip)]
    #[serde(default)]
    pub figure: Figure,
    /// Parameters that have no effect on the sequential program.
    #[arg(skip)]
    #[serde(default, alias = "sequential_ignores")]
    pub sequential_ignores: Vec<String>,
    /// Names, globs, `all`, `group:NAME`, `!exclusions`, separated by commas [default: all];
    /// `compare` takes branches from other sources, too
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
    /// Thread counts: numbers, ranges (1..=64), `cores`, `cpus`, separated by commas
    #[arg(long, value_name = "LIST", allow_negative_numbers = true)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<String>,
    /// CPU frequency: chosen by the host, the same on all CPUs, or both modes
    #[arg(long, value_enum, help_heading = FREQUENCY_HEADING)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ModeChoice>,
    /// Where the pool's workers run
    /// [default: free]
    #[arg(long, value_enum)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<PlacementChoice>,
    /// Trials (processes) per configuration
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trials: Option<u32>,
    /// Number of link orders: binaries of each branch that differ only in the order of their
    /// functions. That order alone changes times, so trials rotate through the binaries. More link
    /// orders than trials raise the number of trials, unless --trials is given, too [default: one
    /// for each trial]
    #[arg(long, value_name = "K", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layouts: Option<u32>,
    /// Timed iterations per trial, after the untimed ones of the experiment (mostly one)
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u32).range(1..))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// Untimed iterations at the start of a trial.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warmup_iterations: Option<u32>,
    /// Whether the A/A control of the baseline runs.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub twin: Option<bool>,
    /// Parameters that all configurations share.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub set: BTreeMap<String, Scalar>,
    /// Parameters of which every combination of values runs.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub vary: BTreeMap<String, Vec<Scalar>>,
    /// Parameters that vary together: each case sets all of its parameters.
    #[arg(skip)]
    #[serde(default, skip_serializing)]
    pub cases: Vec<BTreeMap<String, Scalar>>,
    /// Each combination of `set`, `vary` and `cases`: its parameters, in the form of `--parameter`.
    #[arg(skip)]
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub cells: Vec<BTreeMap<String, String>>,
}

pub(crate) const FREQUENCY_HEADING: &str = "CPU frequency";

impl Definition {
    pub(crate) fn over(self, base: Self) -> Self {
        Self {
            branches: self.branches.or(base.branches),
            workloads: self.workloads.or(base.workloads),
            size: self.size.or(base.size),
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

    /// Returns the fields of a row that the manifest keeps. The request has the values of the other
    /// fields.
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
    /// A whole number.
    Whole(u64),
    /// A text.
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
    /// Workers run where the kernel puts them
    #[default]
    Free,
    /// Worker i stays on the i-th CPU that the trial may use
    Pinned,
    /// Both placements, to compare them
    Both,
}

impl PlacementChoice {
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
    /// The host decides the frequency
    #[default]
    Dynamic,
    /// All CPUs that trials may use run at one frequency
    Fixed,
    /// Both modes, to compare them
    Both,
    /// Both modes if the host can hold a frequency, otherwise dynamic
    Available,
}

impl ModeChoice {
    pub(crate) fn modes(self, can_fix: impl FnOnce() -> bool) -> Vec<Mode> {
        match self {
            Self::Dynamic => vec![Mode::Dynamic],
            Self::Fixed => vec![Mode::Fixed],
            Self::Available if !can_fix() => vec![Mode::Dynamic],
            Self::Both | Self::Available => vec![Mode::Dynamic, Mode::Fixed],
        }
    }
}

/// The parameter of a load that names the load's point of a box, by a number from 1 on.
pub const BOX: &str = "box";

/// Frequency mode and placement: the conditions that a sweep varies around a program, its load and
/// its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    /// How the CPU frequency is treated.
    pub mode: Mode,
    /// Where the pool's workers run.
    pub placement: Placement,
}

/// An instance file, identified by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// The file's path below the checkout. A file outside the checkout only has its name here,
    /// since results reveal no folder of the machine.
    pub path: String,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// The file's path on this host, if the command line names the file; not in results.
    #[serde(skip)]
    pub place: Option<PathBuf>,
}

/// A workload with all parameters that select its instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Name in the catalogue.
    pub workload: String,
    /// Size in the catalogue.
    pub size: String,
    /// Values of all parameters, except those that the instance file replaces. In a box also
    /// [`BOX`].
    pub parameters: BTreeMap<String, String>,
    /// Instance file, if the user gave one.
    pub input: Option<Input>,
}

impl Load {
    /// Returns the workload with its parameters; `None` if the current catalogue does not know the
    /// workload or a parameter.
    pub(crate) fn resolved(&self) -> Option<(&'static Description, Values)> {
        let workload = catalogue::find(&self.workload)?;
        let size = Size::find(&self.size).ok()?;
        let has_input = self.input.is_some();
        let values = workload
            .resolve(size, &self.own_parameters(), has_input)
            .ok()?;
        Some((workload, values))
    }

    pub(crate) fn own_parameters(&self) -> BTreeMap<String, String> {
        let mut own = self.parameters.clone();
        own.remove(BOX);
        own
    }

    pub(crate) fn uses_pool(&self) -> bool {
        self.resolved()
            .is_none_or(|(workload, values)| workload.uses_pool(&values))
    }
}

/// The figure that an experiment draws. The analysis has a function for each figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// A table: whether every configuration gives the sequential program's answer.
    Answers,
    /// Speed-up by threads, a line for each branch, a panel for each workload.
    #[default]
    SpeedupByBranch,
    /// Speed-up by threads, a line for each strategy and lock, a panel for each number of words.
    SpeedupByWords,
    /// Loss of throughput against `lock-free` by number of words, a line for each lock.
    OverheadByWords,
    /// Wall time by steps in the critical section, a line for each lock.
    WallBySection,
    /// Wall time by bytes in a transfer, a line for each way of input and output.
    WallByBytes,
    /// Wall time by steps after each transfer, a line for each way of input and output.
    WallByCompute,
    /// Service and session times of a key-value server by handlers, a line for each queue and
    /// store.
    ServiceByThreads,
    /// Requests a second of a message board by posters and readers, for each implementation.
    ForumGrid,
}

/// The simulated machine that a sweep runs on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MachineSpec {
    /// Name of the machine's file, without `.toml`.
    pub name: String,
    /// The machine's title, which names the hardware that the machine stands for. For a box, the
    /// number of points and the box's title.
    pub title: String,
    /// Number of the machine's cores. For a box, the number of CPUs of its smallest machine.
    pub cores: usize,
    /// Number of hardware threads of each core, if a core has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_threads: Option<usize>,
    /// A SHA-256 over the machine's file, and over the file with its cost parameters if that is
    /// another file. For a box, over `box.toml`, the file of the machine `like`, and the points.
    pub sha256: String,
    /// The cost of a unit of work, in nanoseconds, by workload.
    pub charges_ns: BTreeMap<String, f64>,
    /// Cycles of a branch's own instructions, by branch and call; missing in older sweeps.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub own_cycles: BTreeMap<String, BTreeMap<String, f64>>,
    /// The machines of a box; empty for one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub points: Vec<Point>,
}

/// A machine of a box.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The name of the machine's topology.
    pub topology: String,
    /// Number of the machine's CPUs.
    pub cpus: usize,
    /// The machine's cost parameters, by their keys in a machine's file; and `work`, the factor of
    /// the costs of the workloads' units.
    pub prices: BTreeMap<String, f64>,
}

impl MachineSpec {
    pub(crate) fn cpus(&self) -> usize {
        self.cores * self.hardware_threads.unwrap_or(1)
    }
}

/// Everything that defines a sweep, except the binaries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SweepRequest {
    /// Name of the preset with which the sweep started; `experiment` if an experiment replaced the
    /// preset.
    pub preset: String,
    /// The experiment with which the sweep started, if it did not start with a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Definition>,
    /// Names of the branches, including the baseline, without the A/A control.
    pub branches: Vec<String>,
    /// The branch that the other branches are compared with.
    pub baseline: String,
    /// Whether the baseline runs a second time under another name (A/A).
    pub twin: bool,
    /// Workloads.
    pub workloads: Vec<Load>,
    /// Thread counts, ascending.
    pub threads: Vec<usize>,
    /// Frequency modes.
    pub modes: Vec<Mode>,
    /// Where workers run; left out if the kernel alone decides.
    #[serde(default = "free", skip_serializing_if = "is_free")]
    pub placements: Vec<Placement>,
    /// Trials per configuration.
    pub trials: u32,
    /// Untimed iterations at the start of a trial.
    pub warmup_iterations: u32,
    /// Timed iterations per trial.
    pub iterations: u32,
    /// Seed of the order of trials and of the workloads' inputs.
    pub seed: u64,
    /// Longest time that a trial may take, in seconds; on a simulated machine, CPU time.
    pub timeout_s: f64,
    /// Number of link orders per branch; left out if the number is 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub layouts: u32,
    /// The simulated machine that replaces the host; left out if the trials run on the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<MachineSpec>,
    /// The trials that count events; left out if no trial does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument: Option<Instrument>,
    /// The user's program that is the workload. Of the program's folder, it has only the path below
    /// the checkout, or only the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<WholeProgram>,
}

/// Trials of instrumented builds: they count scheduler events and are never timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instrument {
    /// Names of the instrumented builds (see [`crate::config::Branch::instrumented`]).
    pub branches: Vec<String>,
    /// Trials per configuration.
    pub trials: u32,
}

fn free() -> Vec<Placement> {
    vec![Placement::Free]
}

/// Whether the kernel alone places workers, as in all sweeps before `--placement` existed.
pub(crate) fn is_free(placements: &[Placement]) -> bool {
    *placements == [Placement::Free]
}

fn one() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_one(number: &u32) -> bool {
    *number == 1
}

const MOST_TRIALS: usize = 10_000_000;

/// The largest seed of a sweep on a simulated machine. The seed of each replicate is a multiple of
/// the sweep's seed, plus a small number.
const MOST_SEED: u64 = 1_000_000_000_000;

const MOST_NAMES: usize = 1 << 12;

impl SweepRequest {
    pub(crate) fn fault(&self) -> Option<String> {
        let instrument = self.instrument.as_ref();
        let counted = instrument.map_or(0, |it| it.branches.len());
        let names = self.branches.len().saturating_add(1 + counted);
        let programs = self.threads.len().saturating_add(1);
        let programs = programs.saturating_mul(self.workloads.len());
        let rounds = instrument.map_or(1, |it| it.trials).max(self.trials) as usize;
        let conditions = self.modes.len().saturating_mul(self.placements.len());
        let trials = [programs, conditions, rounds]
            .into_iter()
            .fold(names, usize::saturating_mul);
        if trials > MOST_TRIALS || names > MOST_NAMES || conditions > 4 {
            return Some(format!(
                "{}, {}, {}, {}: more than the limit of {MOST_TRIALS} trials",
                count(names, "name", "names"),
                count(programs, "program", "programs"),
                count(
                    conditions,
                    "pair of frequency mode and placement",
                    "pairs of frequency mode and placement",
                ),
                count(rounds, "round", "rounds"),
            ));
        }
        for (what, is_empty) in [
            ("workloads", self.workloads.is_empty()),
            ("threads", self.threads.is_empty()),
            ("modes", self.modes.is_empty()),
            ("placements", self.placements.is_empty()),
        ] {
            if is_empty {
                return Some(format!("`{what}` is empty"));
            }
        }
        if !self.branches.contains(&self.baseline) {
            let baseline = &self.baseline;
            return Some(format!(
                "`baseline` is `{baseline}`, which is not in `branches`"
            ));
        }
        if self.layouts == 0 {
            return Some("`layouts` is 0".to_owned());
        }
        let machine = self.machine.as_ref()?;
        if self.seed > MOST_SEED {
            return Some(format!(
                "`seed` is {}, and the limit on simulated machines is {MOST_SEED}",
                self.seed
            ));
        }
        let is_priced = |load: &&Load| machine.charges_ns.contains_key(&load.workload);
        let unpriced = self.workloads.iter().find(|load| !is_priced(load))?;
        let workload = &unpriced.workload;
        Some(format!("`machine` has no cost of work for `{workload}`"))
    }

    pub(crate) fn is_box(&self) -> bool {
        self.machine.iter().any(|it| !it.points.is_empty())
    }

    pub(crate) fn heading(&self) -> String {
        let machine = self.machine.as_ref();
        machine.map_or(String::new(), |it| format!("simulated {}: ", it.name))
    }

    pub(crate) fn cpus(&self) -> usize {
        let machine = self.machine.as_ref();
        machine.map_or_else(Host::usable_cpus, MachineSpec::cpus)
    }

    pub(crate) fn twin_name(&self) -> Option<String> {
        self.twin.then(|| format!("{}{TWIN_SUFFIX}", self.baseline))
    }

    pub(crate) fn conditions(&self) -> Vec<Condition> {
        let of_mode = |&mode| {
            self.placements
                .iter()
                .map(move |&placement| Condition { mode, placement })
        };
        self.modes.iter().flat_map(of_mode).collect()
    }

    pub(crate) fn is_instrumented(&self, name: &str) -> bool {
        let instrumented = self.instrument.iter().flat_map(|it| &it.branches);
        instrumented.into_iter().any(|known| known == name)
    }

    /// Returns the index of the first of [`SweepRequest::workloads`] that has the same sequential
    /// program as the workload at index `load`. Two such workloads differ only in parameters that
    /// have no effect on the sequential program.
    pub(crate) fn sequential_load(&self, load: usize) -> usize {
        let wanted = &self.workloads[load];
        let kept = |load: &Load| {
            let mut kept = load.parameters.clone();
            kept.retain(|name, _| !self.is_ignored_by_sequential(name));
            (
                load.workload.clone(),
                load.size.clone(),
                load.input.clone(),
                kept,
            )
        };
        let is_same = |other: &Load| kept(other) == kept(wanted);
        self.workloads.iter().position(is_same).unwrap_or(load)
    }

    pub(crate) fn is_ignored_by_sequential(&self, parameter: &str) -> bool {
        let ignored = self.experiment.iter().flat_map(|it| &it.sequential_ignores);
        ignored.into_iter().any(|it| it == parameter)
    }

    pub(crate) fn programs(&self) -> Programs {
        Programs::with(self.workloads.iter().map(|load| load.workload.as_str()))
    }

    pub(crate) fn differing_parameters(&self, load: usize) -> Vec<(&str, &str)> {
        let own = &self.workloads[load];
        let rivals = self
            .workloads
            .iter()
            .filter(|it| it.workload == own.workload);
        let differs = |(name, value): &(&String, &String)| {
            let mut values = rivals.clone().map(|rival| rival.parameters.get(*name));
            values.any(|other| other != Some(*value))
        };
        let differing = own.parameters.iter().filter(differs);
        differing
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    pub(crate) fn binary_of<'a>(&'a self, name: &'a str) -> &'a str {
        if self.twin_name().as_deref() == Some(name) {
            &self.baseline
        } else {
            name
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
            ("threads", "3"),
            ("mode", "fixed"),
            ("placement", "both"),
            ("trials", "4"),
            ("layouts", "5"),
            ("iterations", "6"),
        ];
        let options = command.get_arguments().filter_map(|it| it.get_long());
        assert!(options.eq(words.map(|(option, _)| option)));
        let line = words.map(|(option, word)| format!("--{option}={word}"));
        let line = std::iter::once("sweep".to_owned()).chain(line);
        let typed = Definition::from_arg_matches(&command.clone().get_matches_from(line)).unwrap();
        let row: Definition = toml::from_str(
            "name = \"row\"\nshows = \"\"\nsource = \"\"\nfigure = \"answers\"\nbranches = \"all\"\n\
             workloads = \"all\"\nsize = \"tiny\"\nthreads = \"1\"\nmode = \"both\"\n\
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
