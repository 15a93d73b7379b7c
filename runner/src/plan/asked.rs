//! The request of a sweep: everything that defines it, apart from the binaries.

use std::collections::BTreeMap;
use std::path::PathBuf;

use protocol::{Description, Placement, Size, Values, WholeProgram};
use serde::{Deserialize, Serialize};

use crate::config::TWIN_SUFFIX;
use crate::config::catalogue::{self, Programs};
use crate::host::Host;
pub use crate::host::frequency::Mode;
use crate::plan::Definition;
use crate::text::words::count;

/// The parameter of a load that says which price is another than in the machine's file.
pub const PRICE: &str = "price";

/// The conditions that a sweep varies around a program, its load and its threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Regime {
    /// How the CPU frequency is treated.
    pub mode: Mode,
    /// Where the pool's workers run.
    pub placement: Placement,
}

/// An instance file, known by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Path below the checkout; of a file elsewhere the name alone, since results tell nothing of
    /// the machine's folders.
    pub path: String,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// Its place, if the command line of this run has it; not in results.
    #[serde(skip)]
    pub place: Option<PathBuf>,
}

/// A workload with all that selects its instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Name in the catalogue.
    pub workload: String,
    /// Size in the catalogue.
    pub size: String,
    /// Explicit parameters.
    pub parameters: BTreeMap<String, String>,
    /// Instance file, if one was given.
    pub input: Option<Input>,
}

impl Load {
    /// The workload with its parameters; `None` if the catalogue of today does not know them.
    pub(crate) fn resolved(&self) -> Option<(&'static Description, Values)> {
        let workload = catalogue::find(&self.workload)?;
        let size = Size::find(&self.size).ok()?;
        let has_input = self.input.is_some();
        let values = workload
            .resolve(size, &self.own_parameters(), has_input)
            .ok()?;
        Some((workload, values))
    }

    /// The parameters that are the workload's, not the simulated machine's.
    pub(crate) fn own_parameters(&self) -> BTreeMap<String, String> {
        let mut own = self.parameters.clone();
        own.remove(PRICE);
        own
    }

    /// Whether branches can differ in it; see [`Description::uses_pool`].
    pub(crate) fn uses_pool(&self) -> bool {
        self.resolved()
            .is_none_or(|(workload, values)| workload.uses_pool(&values))
    }
}

/// The figure that an experiment draws; the analysis has a function for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// A table: whether every cell gives the sequential program's answer.
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
    /// Wall time by steps after each transfer, likewise.
    WallByCompute,
    /// Service and session times of a key-value server by handlers, a line for each queue and
    /// store.
    ServiceByThreads,
    /// Requests a second of a message board by posters and readers, for each implementation.
    ForumGrid,
}

/// The machine that a sweep runs on, if it is a simulated one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedMachine {
    /// Name of its file, without `.toml`.
    pub name: String,
    /// Its title, which names the hardware that it stands for.
    pub title: String,
    /// Its cores.
    pub cores: usize,
    /// Hardware threads of each core, if more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware_threads: Option<usize>,
    /// SHA-256 of its file, and of the one that its prices are in, if that is another.
    pub sha256: String,
    /// The cost of a unit of work, in nanoseconds, by workload.
    pub charges_ns: BTreeMap<String, f64>,
}

impl AskedMachine {
    /// CPUs that its operating system has: hardware threads of all cores.
    pub(crate) fn cpus(&self) -> usize {
        self.cores * self.hardware_threads.unwrap_or(1)
    }
}

/// Everything that defines a sweep, apart from the binaries.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Preset that the rest started from.
    pub preset: String,
    /// Experiment that the rest started from, in place of a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<Definition>,
    /// Names of the branches, the baseline among them, without the twin.
    pub branches: Vec<String>,
    /// The branch that the others are compared with.
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
    /// Trials per cell.
    pub trials: u32,
    /// Untimed iterations at the start of a trial.
    pub warmup_iterations: u32,
    /// Timed iterations per trial.
    pub iterations: u32,
    /// Seed of the order and of the workloads' inputs.
    pub seed: u64,
    /// Longest time a trial may take, in seconds.
    pub timeout_s: f64,
    /// Binaries per branch that differ only in where their functions lie; left out if it is 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub layouts: u32,
    /// The simulated machine that takes the host's place; left out on hosts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<AskedMachine>,
    /// The counts beside the times; left out if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument: Option<Instrument>,
    /// The program of the user that is its workload; of its folder, only the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<WholeProgram>,
}

/// Trials of instrumented builds: they count what the scheduler does and are never timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instrument {
    /// Names of the instrumented builds (see [`crate::config::Branch::instrumented`]).
    pub branches: Vec<String>,
    /// Trials per cell.
    pub trials: u32,
}

fn free() -> Vec<Placement> {
    vec![Placement::Free]
}

/// Whether the kernel alone decides, as it always did before there was a choice.
pub(crate) fn is_free(placements: &[Placement]) -> bool {
    *placements == [Placement::Free]
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

/// The most trials of a plan: more would take too long for anyone to wait for.
const MOST_TRIALS: usize = 10_000_000;

/// The most names of branches, with the A/A control and instrumented builds.
const MOST_NAMES: usize = 1 << 12;

impl Asked {
    /// Why no plan can be made of this, if it cannot.
    pub(crate) fn fault(&self) -> Option<String> {
        let counted = self.instrument.as_ref().map_or(0, |it| it.branches.len());
        let names = self
            .branches
            .len()
            .saturating_add(1)
            .saturating_add(counted);
        let kinds = self
            .workloads
            .len()
            .saturating_mul(self.threads.len().saturating_add(1));
        let rounds = self
            .trials
            .max(self.instrument.as_ref().map_or(1, |it| it.trials))
            .max(1);
        let regimes = self.modes.len().saturating_mul(self.placements.len());
        let trials = [kinds, regimes, rounds as usize]
            .iter()
            .fold(names, |product, factor| product.saturating_mul(*factor));
        let unpriced = self.machine.as_ref().and_then(|machine| {
            self.workloads
                .iter()
                .find(|load| !machine.charges_ns.contains_key(&load.workload))
        });
        let lists = [
            ("workloads", self.workloads.is_empty()),
            ("threads", self.threads.is_empty()),
            ("modes", self.modes.is_empty()),
            ("placements", self.placements.is_empty()),
        ];
        if trials > MOST_TRIALS || names > MOST_NAMES || regimes > 4 {
            let of = [
                count(names, "name", "names"),
                count(kinds, "program", "programs"),
                count(regimes, "regime", "regimes"),
                count(rounds as usize, "round", "rounds"),
            ];
            let of = of.join(", ");
            Some(format!(
                "{of}: more than {MOST_TRIALS} trials, for which nobody waits"
            ))
        } else if !self.branches.contains(&self.baseline) {
            Some(format!(
                "`baseline` is `{}`, which is none of `branches`",
                self.baseline
            ))
        } else if self.layouts == 0 {
            Some("`layouts` is 0".to_owned())
        } else if let Some((what, _)) = lists.into_iter().find(|it| it.1) {
            Some(format!("`{what}` is empty"))
        } else {
            unpriced.map(|load| format!("`machine` has no price for `{}`", load.workload))
        }
    }

    /// Returns the beginning of a heading: the simulated machine that it is about; empty on hosts.
    pub(crate) fn heading(&self) -> String {
        self.machine
            .as_ref()
            .map_or(String::new(), |it| format!("simulated {}: ", it.name))
    }

    /// CPUs that trials have: the simulated machine's, or what this process may use of the host.
    pub(crate) fn cpus(&self) -> usize {
        self.machine
            .as_ref()
            .map_or_else(Host::usable_cpus, AskedMachine::cpus)
    }

    /// The name of the baseline's A/A twin, if it runs.
    pub(crate) fn twin_name(&self) -> Option<String> {
        self.twin.then(|| format!("{}{TWIN_SUFFIX}", self.baseline))
    }

    /// Every mode with every placement.
    pub(crate) fn regimes(&self) -> Vec<Regime> {
        let of_mode = |&mode| {
            self.placements
                .iter()
                .map(move |&placement| Regime { mode, placement })
        };
        self.modes.iter().flat_map(of_mode).collect()
    }

    /// Whether trials under this name are counted instead of timed.
    pub(crate) fn is_instrumented(&self, name: &str) -> bool {
        self.instrument
            .as_ref()
            .is_some_and(|it| it.branches.iter().any(|known| known == name))
    }

    /// The first of [`Asked::workloads`] with the same sequential program as the given one: the
    /// same instance, apart from parameters that mean nothing to that program.
    pub(crate) fn sequential_load(&self, load: usize) -> usize {
        let wanted = &self.workloads[load];
        let kept = |(name, _): &(&String, &String)| !self.is_ignored_by_sequential(name);
        let is_same = |other: &Load| {
            (&other.workload, &other.size, &other.input)
                == (&wanted.workload, &wanted.size, &wanted.input)
                && other
                    .parameters
                    .iter()
                    .filter(kept)
                    .eq(wanted.parameters.iter().filter(kept))
        };
        self.workloads.iter().position(is_same).unwrap_or(load)
    }

    /// Whether a parameter means nothing to the sequential program.
    pub(crate) fn is_ignored_by_sequential(&self, parameter: &str) -> bool {
        self.experiment.as_ref().is_some_and(|experiment| {
            experiment
                .sequential_ignores
                .iter()
                .any(|it| it == parameter)
        })
    }

    /// Returns the programs that branches are to be built with.
    pub(crate) fn programs(&self) -> Programs {
        Programs::with(self.workloads.iter().map(|load| load.workload.as_str()))
    }

    /// Whether the result is not time but agreement.
    pub(crate) fn is_about_answers(&self) -> bool {
        self.experiment
            .as_ref()
            .is_some_and(|it| it.figure == Figure::Answers)
    }

    /// Names and values of the parameters that tell a load from the others of its workload.
    pub(crate) fn differing_parameters(&self, load: usize) -> Vec<(&str, &str)> {
        let own = &self.workloads[load];
        let rivals: Vec<&Load> = self
            .workloads
            .iter()
            .filter(|other| other.workload == own.workload)
            .collect();
        own.parameters
            .iter()
            .filter(|(name, value)| {
                rivals
                    .iter()
                    .any(|rival| rival.parameters.get(*name) != Some(value))
            })
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    /// The branch whose binary runs under `name`: the baseline for its twin.
    pub(crate) fn binary_of<'a>(&'a self, name: &'a str) -> &'a str {
        if self.twin_name().as_deref() == Some(name) {
            &self.baseline
        } else {
            name
        }
    }
}
