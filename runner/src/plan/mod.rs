//! What runs when: from what was asked to an ordered list of trials. Pure, so that `--resume` can
//! recompute it from the manifest and a test can look at it.

mod asked;
mod shard;

use std::collections::{BTreeMap, HashMap};

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use serde::Serialize;
use workloads::protocol::{Program, SCHEMA};

use crate::digest;

pub use asked::{Asked, Input, Instrument, Load, Mode};
pub use shard::Shard;

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
    let mut cells = Cells { asked, identities, known: HashMap::new() };
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
                    trials.push(cells.trial(visit, mode, block, position, branch));
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
                        trials.push(cells.trial(visit, mode, block, position, branch));
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

/// Names cells, each once: their hash is the dearest part of a plan.
struct Cells<'a> {
    asked: &'a Asked,
    identities: &'a BTreeMap<String, String>,
    known: HashMap<(Program, usize, usize, Mode, String), String>,
}

impl Cells<'_> {
    fn trial(
        &mut self,
        visit: Visit,
        mode: Mode,
        block: usize,
        position: usize,
        branch: String,
    ) -> Trial {
        let place = (visit.program, visit.load, visit.threads, mode, branch.clone());
        let (asked, identities) = (self.asked, self.identities);
        let cell = self
            .known
            .entry(place)
            .or_insert_with(|| identity_of_cell(asked, identities, visit, mode, &branch))
            .clone();
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
}

fn identity_of_cell(
    asked: &Asked,
    identities: &BTreeMap<String, String>,
    visit: Visit,
    mode: Mode,
    branch: &str,
) -> String {
    let load = &asked.workloads[visit.load];
    digest::identity(&Cell {
        schema: SCHEMA,
        branch,
        identity: &identities[asked.binary_of(branch)],
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
    })
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
mod tests;
