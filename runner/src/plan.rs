//! What runs when: from what was asked to an ordered list of trials. Pure, so that `--resume` can
//! recompute it from the manifest and a test can look at it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde::{Deserialize, Serialize};
use workloads::protocol::{Program, SCHEMA};

use crate::config::TWIN_SUFFIX;
use crate::digest;
use crate::experiments::AskedExperiment;
use crate::record::Record;

/// How the CPU frequency is treated.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The host decides.
    Dynamic,
    /// One frequency on all CPUs.
    Fixed,
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Dynamic => "dynamic",
            Self::Fixed => "fixed",
        })
    }
}

/// An instance file, known by its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Path below the checkout; of a file elsewhere the name alone, since results tell nothing of the
    /// machine's folders.
    pub path: String,
    /// SHA-256 of the content, in hexadecimal.
    pub sha256: String,
    /// Where it lies, if this run was told so; not in results.
    #[serde(skip)]
    pub place: Option<PathBuf>,
}

/// A workload with all that selects its instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// Everything that defines a sweep, apart from the binaries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// Preset that the rest started from.
    pub preset: String,
    /// Experiment that the rest started from, in place of a preset.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<AskedExperiment>,
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
    /// What is counted beside the times; left out if nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instrument: Option<Instrument>,
}

/// Trials of instrumented builds: they count what the scheduler does and are never timed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instrument {
    /// Names of the instrumented builds (see [`crate::config::Branch::instrumented`]).
    pub branches: Vec<String>,
    /// Trials per cell.
    pub trials: u32,
}

fn one() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_one(number: &u32) -> bool {
    *number == 1
}

impl Asked {
    /// The layout in which a replicate runs, as an index into a branch's binaries.
    ///
    /// A block has the same one for all, but for the twin: the same binary twice would hide from
    /// the A/A band how far two layouts of one program lie apart.
    fn layout(&self, name: &str, replicate: u32) -> usize {
        let shift = u32::from(self.twin_name().as_deref() == Some(name));
        if self.is_instrumented(name) { 0 } else { ((replicate + shift) % self.layouts) as usize }
    }

    /// The name of the baseline's A/A twin, if it runs.
    #[must_use]
    pub fn twin_name(&self) -> Option<String> {
        self.twin.then(|| format!("{}{TWIN_SUFFIX}", self.baseline))
    }

    /// Whether trials under this name are counted instead of timed.
    #[must_use]
    pub fn is_instrumented(&self, name: &str) -> bool {
        self.instrument.as_ref().is_some_and(|it| it.branches.iter().any(|known| known == name))
    }

    /// The first of [`Asked::workloads`] with the same sequential program as the given one: the same
    /// instance, apart from parameters that mean nothing to that program.
    #[must_use]
    pub fn sequential_load(&self, load: usize) -> usize {
        let instance = |load: &Load| {
            let mut parameters = load.parameters.clone();
            parameters.retain(|name, _| !self.is_ignored_by_sequential(name));
            (load.workload.clone(), load.size.clone(), parameters, load.input.clone())
        };
        let wanted = instance(&self.workloads[load]);
        self.workloads.iter().position(|other| instance(other) == wanted).unwrap_or(load)
    }

    /// Whether a parameter means nothing to the sequential program.
    #[must_use]
    pub fn is_ignored_by_sequential(&self, parameter: &str) -> bool {
        self.experiment.as_ref().is_some_and(|experiment| {
            experiment.sequential_ignores.iter().any(|it| it == parameter)
        })
    }

    /// The one of [`Asked::workloads`] that a record belongs to.
    #[must_use]
    pub fn load_of(&self, record: &Record) -> Option<usize> {
        self.workloads.iter().position(|load| {
            load.workload == record.workload
                && load.size == record.size
                && load.parameters == record.parameters
        })
    }

    /// Names and values of the parameters that tell a load from the others of its workload.
    #[must_use]
    pub fn differing_parameters(&self, load: usize) -> Vec<(&str, &str)> {
        let own = &self.workloads[load];
        let rivals: Vec<&Load> =
            self.workloads.iter().filter(|other| other.workload == own.workload).collect();
        own.parameters
            .iter()
            .filter(|(name, value)| {
                rivals.iter().any(|rival| rival.parameters.get(*name) != Some(value))
            })
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    /// The branch whose binary runs under `name`: the baseline for its twin.
    #[must_use]
    pub fn binary_of<'a>(&'a self, name: &'a str) -> &'a str {
        if self.twin_name().as_deref() == Some(name) { &self.baseline } else { name }
    }
}

/// One process to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Identity: hash of cell and replicate.
    pub id: String,
    /// Identity of the cell: hash of all that defines it.
    pub cell: String,
    /// 0-based number of the trial within its cell.
    pub replicate: u32,
    /// 0-based number of the block within the sweep.
    pub block: usize,
    /// 0-based place within the block.
    pub position: usize,
    /// Branch, or the baseline's twin.
    pub branch: String,
    /// Which program.
    pub program: Program,
    /// Index into [`Asked::workloads`].
    pub load: usize,
    /// Threads of the pool.
    pub threads: usize,
    /// Frequency mode.
    pub mode: Mode,
    /// Index into the binaries of its branch.
    pub layout: usize,
}

/// The trials of a sweep in the order in which they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// All trials, block after block.
    pub trials: Vec<Trial>,
    /// Number of blocks.
    pub blocks: usize,
}

impl Plan {
    /// Identity of the whole order.
    #[must_use]
    pub fn digest(&self) -> String {
        digest::identity(&self.trials.iter().map(|trial| &trial.id).collect::<Vec<_>>())
    }

    /// Number of distinct cells.
    #[must_use]
    pub fn cells(&self) -> usize {
        let cells: std::collections::HashSet<&str> =
            self.trials.iter().map(|trial| trial.cell.as_str()).collect();
        cells.len()
    }
}

/// All that a cell is; its hash is the cell's identity, so a changed binary or input makes new cells.
#[derive(Serialize)]
struct Cell<'a> {
    schema: u32,
    branch: &'a str,
    /// What the binary is (its hash once built, its source before).
    identity: &'a str,
    program: Program,
    workload: &'a str,
    size: &'a str,
    parameters: &'a BTreeMap<String, String>,
    input: Option<&'a str>,
    threads: usize,
    mode: Mode,
    seed: u64,
    warmup_iterations: u32,
    iterations: u32,
}

/// A block before it has a place in the order.
#[derive(Clone, Copy)]
struct Visit {
    program: Program,
    load: usize,
    threads: usize,
    replicate: u32,
}

/// Orders a sweep.
///
/// Replicates are rounds: every block is visited once before any is visited again, so that a sweep
/// cut short has whole replicates and slow drift falls on all cells alike. Within a round the modes
/// take turns (setting a frequency is slow) and the blocks of a mode are shuffled; within a block
/// the branches are. All shuffles come from the sweep's seed and do not depend on the identities.
///
/// # Panics
/// If `identities` lacks one of [`Asked::branches`] or of the instrumented ones.
#[must_use]
pub fn order(asked: &Asked, identities: &BTreeMap<String, String>) -> Plan {
    let mut random = ChaCha8Rng::seed_from_u64(asked.seed);
    let mut names = asked.branches.clone();
    names.extend(asked.twin_name());
    let mut trials = Vec::new();
    let mut block = 0;
    for replicate in 0..asked.trials {
        let mut modes = asked.modes.clone();
        shuffle(&mut modes, &mut random);
        for mode in modes {
            let mut visits = visits(asked, replicate);
            shuffle(&mut visits, &mut random);
            for visit in visits {
                let mut branches = match visit.program {
                    Program::Parallel => names.clone(),
                    Program::Sequential => vec![asked.baseline.clone()],
                };
                shuffle(&mut branches, &mut random);
                for (position, branch) in branches.into_iter().enumerate() {
                    trials.push(trial(asked, identities, visit, mode, block, position, branch));
                }
                block += 1;
            }
        }
    }
    // After the last timed trial: what is only counted must not stand between trials that are
    // compared, and a sweep cut short has its times first.
    if let Some(instrument) = &asked.instrument {
        for replicate in 0..instrument.trials {
            for &mode in &asked.modes {
                let mut visits = visits(asked, replicate);
                visits.retain(|visit| visit.program == Program::Parallel);
                shuffle(&mut visits, &mut random);
                for visit in visits {
                    let mut branches = instrument.branches.clone();
                    shuffle(&mut branches, &mut random);
                    for (position, branch) in branches.into_iter().enumerate() {
                        trials.push(trial(asked, identities, visit, mode, block, position, branch));
                    }
                    block += 1;
                }
            }
        }
    }
    Plan { trials, blocks: block }
}

fn visits(asked: &Asked, replicate: u32) -> Vec<Visit> {
    let mut visits = Vec::new();
    for load in 0..asked.workloads.len() {
        if asked.sequential_load(load) == load {
            visits.push(Visit { program: Program::Sequential, load, threads: 1, replicate });
        }
        for &threads in &asked.threads {
            visits.push(Visit { program: Program::Parallel, load, threads, replicate });
        }
    }
    visits
}

fn trial(
    asked: &Asked,
    identities: &BTreeMap<String, String>,
    visit: Visit,
    mode: Mode,
    block: usize,
    position: usize,
    branch: String,
) -> Trial {
    let load = &asked.workloads[visit.load];
    let cell = digest::identity(&Cell {
        schema: SCHEMA,
        branch: &branch,
        identity: &identities[asked.binary_of(&branch)],
        program: visit.program,
        workload: &load.workload,
        size: &load.size,
        parameters: &load.parameters,
        input: load.input.as_ref().map(|input| input.sha256.as_str()),
        threads: visit.threads,
        mode,
        seed: asked.seed,
        warmup_iterations: asked.warmup_iterations,
        iterations: asked.iterations,
    });
    let layout = asked.layout(&branch, visit.replicate);
    Trial {
        id: digest::identity(&(&cell, visit.replicate)),
        cell,
        replicate: visit.replicate,
        block,
        position,
        branch,
        program: visit.program,
        load: visit.load,
        threads: visit.threads,
        mode,
        layout,
    }
}

/// Fisher–Yates, spelt out: an interrupted sweep must find the same order again after an upgrade of
/// any library, and libraries do not promise that of their shuffles. The stream of `ChaCha8` is fixed.
fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        let range = u128::from(last as u64 + 1);
        // The upper half of a 64×64-bit product is below `range`; its bias is of the order 2^-60.
        let chosen = (u128::from(random.next_u64()) * range) >> 64;
        items.swap(last, usize::try_from(chosen).expect("below `last + 1`, a usize"));
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
