//! Turns a request into an ordered list of trials. The code has no side effects, so `--resume` can
//! recompute the list from the manifest. A plan of many trials is small, because `Plan::trials`
//! makes the full description of each trial.

mod definition;
pub(crate) mod estimate;
pub(crate) mod machine_box;
pub mod machines;
mod shard;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use chacha20::ChaCha8Rng;
use chacha20::rand_core::{Rng as _, SeedableRng as _};
use protocol::{Placement, Program, SCHEMA};
use serde::Serialize;

use crate::system::digest::Id;

/// Pause before each trial, so that the end of one trial (freed memory, exiting threads) does not
/// disturb the next. A guess: an exit of 64 threads takes about a millisecond.
pub(crate) const SETTLE: Duration = Duration::from_millis(10);

pub use definition::{
    BOX, Condition, Definition, Figure, Input, Instrument, Load, MachineSpec, Mode, ModeChoice,
    PlacementChoice, Point, Scalar, SweepRequest,
};
pub(crate) use definition::{FREQUENCY_HEADING, is_free};
pub use shard::Shard;

/// A trial: one process to start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trial<'a> {
    /// Identity: hash of configuration and replicate.
    pub id: Id,
    /// Identity of the configuration: hash of everything that defines it.
    pub cell: Id,
    /// 0-based number of the trial within its configuration.
    pub replicate: u32,
    /// 0-based number of the block within the sweep.
    pub block: usize,
    /// 0-based position within the block.
    pub position: usize,
    /// Name of the branch, or of the baseline's A/A control.
    pub branch: &'a str,
    /// Program, load and threads.
    pub kind: Kind,
    /// Frequency mode and placement.
    pub condition: Condition,
    /// Index into the binaries of the trial's branch.
    pub layout: usize,
}

/// The properties that trials share if they differ only in branch, mode, placement or replicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind {
    /// Index into [`SweepRequest::workloads`].
    pub load: usize,
    /// Which of the workload's two programs runs.
    pub program: Program,
    /// Threads of the pool.
    pub threads: usize,
}

/// The trials of a sweep in the order in which they run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    names: Vec<Name>,
    layouts: u32,
    kinds: Vec<Kind>,
    conditions: Vec<Condition>,
    cells: Vec<Id>,
    blocks: Vec<Block>,
    order: Vec<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Name {
    text: String,
    is_twin: bool,
    is_counted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    /// 0-based number of the block within the whole sweep, of which this plan may be a shard.
    number: u32,
    kind: u32,
    replicate: u32,
    condition: u8,
    first: u32,
    trials: u16,
}

impl Plan {
    /// Number of trials.
    #[must_use]
    pub fn len(&self) -> usize {
        let trials = self.blocks.iter().map(|block| usize::from(block.trials));
        trials.sum()
    }

    /// Whether the plan has no trial, as in a superfluous shard.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    pub(crate) fn blocks(&self) -> usize {
        self.blocks.len()
    }

    /// Returns all trials, block after block.
    pub fn trials(&self) -> impl Iterator<Item = Trial<'_>> {
        self.blocks.iter().flat_map(move |block| {
            let names = self.names_of(block).iter().enumerate();
            names.map(move |(position, &name)| self.trial(block, position, usize::from(name)))
        })
    }

    fn names_of(&self, block: &Block) -> &[u16] {
        let first = block.first as usize;
        &self.order[first..first + usize::from(block.trials)]
    }

    fn trial(&self, block: &Block, position: usize, name: usize) -> Trial<'_> {
        let cell = self.cells[self.cell(block.kind as usize, block.condition, name)];
        let Name {
            text: branch,
            is_twin,
            is_counted,
        } = &self.names[name];
        // All trials of a block have the same link order, except the A/A control, which has the
        // next one. Thus the noise floor includes the difference between two link orders of one
        // program.
        let layout = (block.replicate + u32::from(*is_twin)) % self.layouts;
        Trial {
            id: Id::of(&(cell, block.replicate)),
            cell,
            replicate: block.replicate,
            block: block.number as usize,
            position,
            branch,
            kind: self.kinds[block.kind as usize],
            condition: self.conditions[usize::from(block.condition)],
            layout: if *is_counted { 0 } else { layout as usize },
        }
    }

    fn cell(&self, kind: usize, condition: u8, name: usize) -> usize {
        (kind * self.conditions.len() + usize::from(condition)) * self.names.len() + name
    }

    #[must_use]
    pub(crate) fn digest(&self) -> String {
        let ids: Vec<Id> = self.trials().map(|trial| trial.id).collect();
        Id::of(&ids).to_string()
    }

    pub(crate) fn cells(&self) -> usize {
        let cells: HashSet<Id> = self.trials().map(|trial| trial.cell).collect();
        cells.len()
    }

    pub(crate) fn trials_by_kind(&self) -> BTreeMap<Kind, usize> {
        let mut counts = BTreeMap::new();
        for block in &self.blocks {
            let kind = self.kinds[block.kind as usize];
            *counts.entry(kind).or_default() += usize::from(block.trials);
        }
        counts
    }
}

/// Everything that defines a configuration. The hash of this value is the configuration's identity,
/// so a changed binary or input makes a new identity.
#[derive(Serialize)]
struct Cell<'a> {
    schema: u32,
    branch: &'a str,
    /// Identity of the branch: the hash of its binaries, or its source in words if there is no
    /// binary.
    identity: &'a str,
    program: Program,
    workload: &'a str,
    size: &'a str,
    parameters: &'a BTreeMap<String, String>,
    input: Option<&'a str>,
    threads: usize,
    mode: Mode,
    /// Left out for free placement, so that configurations keep the identities that they had before
    /// `--placement` existed.
    #[serde(skip_serializing_if = "Placement::is_free")]
    placement: Placement,
    seed: u64,
    warmup_iterations: u32,
    iterations: u32,
    /// The machine's hash, and the cost of a unit of the workload's work; left out if the trials
    /// run on the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<(&'a str, f64)>,
}

/// Orders the trials of a sweep.
///
/// Replicates are rounds: each round runs all of its blocks before the next round begins. So an
/// interrupted sweep has whole replicates and at most one incomplete, and slow drift affects all
/// configurations alike. Within a round, the runner finishes all blocks of one frequency mode
/// (dynamic or fixed) before the other, because setting a frequency is slow. The blocks of a mode
/// are shuffled, and so are the branches within a block, by the sweep's seed.
///
/// # Panics
/// If `identities` lacks a build, if the baseline is not among the branches, or if there are 2^32
/// trials or 2^16 names.
#[must_use]
pub fn order(asked: &SweepRequest, identities: &BTreeMap<String, String>) -> Plan {
    let plan = unordered(asked, identities);
    let mut names = asked.branches.iter();
    let baseline = names.position(|name| *name == asked.baseline);
    let baseline = [small(
        baseline.expect("the baseline is one of the branches"),
    )];
    let timed = small(asked.branches.len() + usize::from(asked.twin));
    let (pooled, counted): (Vec<u16>, Vec<u16>) =
        (0..small(plan.names.len())).partition(|name| *name < timed);
    // If the workload leaves the pool idle, all branches are the same program. Only the baseline
    // and its A/A control run such a workload.
    let twin = asked.twin.then(|| timed - 1);
    let idle: Vec<u16> = baseline.into_iter().chain(twin).collect();
    let uses_pool: Vec<bool> = asked.workloads.iter().map(Load::uses_pool).collect();
    let all: Vec<u32> = (0_u32..).zip(&plan.kinds).map(|(index, _)| index).collect();
    let mut parallel = all.clone();
    parallel.retain(|&kind| {
        let Kind { load, program, .. } = plan.kinds[kind as usize];
        program == Program::Parallel && uses_pool[load]
    });
    let mut draft = Draft {
        plan,
        random: ChaCha8Rng::seed_from_u64(asked.seed),
    };
    // For each mode, the indices of its conditions (mode and placement). A change of placement
    // takes no time, so placements alternate freely.
    let of_mode = |mode: &Mode| {
        let conditions = (0_u8..).zip(&draft.plan.conditions);
        let of_mode = conditions.filter(|(_, it)| it.mode == *mode);
        of_mode.map(|(index, _)| index).collect()
    };
    let by_mode: Vec<Vec<u8>> = asked.modes.iter().map(of_mode).collect();
    for replicate in 0..asked.trials {
        let mut by_mode = by_mode.clone();
        shuffle(&mut by_mode, &mut draft.random);
        for conditions in by_mode {
            draft.visit(&all, &conditions, replicate, |kind| match kind.program {
                Program::Parallel if uses_pool[kind.load] => &pooled,
                Program::Parallel => &idle,
                Program::Sequential => &baseline,
            });
        }
    }
    // Trials that count events come after the last timed trial. They must not separate trials that
    // are compared, and an interrupted sweep should have its times first.
    if let Some(instrument) = &asked.instrument {
        for replicate in 0..instrument.trials {
            for conditions in &by_mode {
                draft.visit(&parallel, conditions, replicate, |_| &counted);
            }
        }
    }
    draft.plan
}

struct Draft {
    plan: Plan,
    random: ChaCha8Rng,
}

impl Draft {
    /// Adds a block for each of `kinds` under each of `conditions`, in random order.
    fn visit<'a>(
        &mut self,
        kinds: &[u32],
        conditions: &[u8],
        replicate: u32,
        names: impl Fn(Kind) -> &'a [u16],
    ) {
        let places = kinds
            .iter()
            .flat_map(|&kind| conditions.iter().map(move |&condition| (kind, condition)));
        let mut places: Vec<(u32, u8)> = places.collect();
        shuffle(&mut places, &mut self.random);
        for (kind, condition) in places {
            let first = self.plan.order.len();
            self.plan
                .order
                .extend(names(self.plan.kinds[kind as usize]));
            shuffle(&mut self.plan.order[first..], &mut self.random);
            let trials = small(self.plan.order.len() - first);
            let [number, first] = [self.plan.blocks.len(), first]
                .map(|index| u32::try_from(index).expect("fewer than 2^32 trials"));
            self.plan.blocks.push(Block {
                number,
                kind,
                replicate,
                condition,
                first,
                trials,
            });
        }
    }
}

fn small(index: usize) -> u16 {
    u16::try_from(index).expect("there are fewer branches than 2^16")
}

fn unordered(asked: &SweepRequest, identities: &BTreeMap<String, String>) -> Plan {
    let mut kinds = Vec::new();
    for load in 0..asked.workloads.len() {
        // A program of the user has no sequential version. In a box, no configuration is compared
        // with the sequential program.
        if asked.sequential_load(load) == load && asked.program.is_none() && !asked.is_box() {
            kinds.push(Kind {
                load,
                program: Program::Sequential,
                threads: 1,
            });
        }
        let parallel = |&threads| Kind {
            load,
            program: Program::Parallel,
            threads,
        };
        kinds.extend(asked.threads.iter().map(parallel));
    }
    let twin = asked.twin_name();
    let counted = asked.instrument.iter().flat_map(|it| &it.branches);
    let names = asked.branches.iter().chain(&twin).chain(counted);
    let name = |name: &String| Name {
        text: name.clone(),
        is_twin: twin.as_ref() == Some(name),
        is_counted: asked.is_instrumented(name),
    };
    let names: Vec<Name> = names.map(name).collect();
    let conditions = asked.conditions();
    let mut plan = Plan {
        cells: vec![Id::default(); kinds.len() * conditions.len() * names.len()],
        names,
        layouts: asked.layouts,
        kinds,
        conditions,
        blocks: Vec::new(),
        order: Vec::new(),
    };
    for (index, kind) in plan.kinds.iter().enumerate() {
        for (condition, of_cell) in (0_u8..).zip(&plan.conditions) {
            for (number, Name { text: name, .. }) in plan.names.iter().enumerate() {
                if kind.program == Program::Parallel || *name == asked.baseline {
                    let cell = plan.cell(index, condition, number);
                    plan.cells[cell] = identity_of_cell(asked, identities, *kind, *of_cell, name);
                }
            }
        }
    }
    plan
}

fn identity_of_cell(
    asked: &SweepRequest,
    identities: &BTreeMap<String, String>,
    kind: Kind,
    Condition { mode, placement }: Condition,
    branch: &str,
) -> Id {
    let load = &asked.workloads[kind.load];
    let machine = asked.machine.as_ref();
    Id::of(&Cell {
        schema: SCHEMA,
        branch,
        identity: &identities[asked.binary_of(branch)],
        program: kind.program,
        workload: &load.workload,
        size: &load.size,
        parameters: &load.parameters,
        input: load.input.as_ref().map(|input| input.sha256.as_str()),
        threads: kind.threads,
        mode,
        placement,
        seed: asked.seed,
        warmup_iterations: asked.warmup_iterations,
        iterations: asked.iterations,
        machine: machine.map(|it| (it.sha256.as_str(), it.charges_ns[&load.workload])),
    })
}

/// Shuffles by Fisher–Yates, written out here, because an interrupted sweep must find the same
/// order again after an upgrade of any library. The stream of `ChaCha8` never changes.
fn shuffle<T>(items: &mut [T], random: &mut ChaCha8Rng) {
    for last in (1..items.len()).rev() {
        let range = u128::from(last as u64 + 1);
        // The upper half of a 64×64-bit product is below `range`. The bias of this choice is below
        // `range` × 2^-64.
        let chosen = (u128::from(random.next_u64()) * range) >> 64;
        let chosen = usize::try_from(chosen).expect("below `last + 1`, a usize");
        items.swap(last, chosen);
    }
}

#[cfg(test)]
pub(crate) mod tests;
