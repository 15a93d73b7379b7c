//! What is kept of a sweep's records for its tables: a few numbers of each trial.

use std::collections::{BTreeMap, HashMap};

use workloads::protocol::Program;

use super::conditions::Gathered;
use crate::plan::{Asked, Kind, Mode};
use crate::record::{Ending, Record};
use crate::stats::median;

/// What the tables know of a sweep. Records are added one after the other and not kept.
#[derive(Debug)]
pub struct Summary {
    pub(super) asked: Asked,
    /// The baseline, its twin, the other branches: the order of rows.
    pub(super) names: Vec<String>,
    cells: BTreeMap<Place, Cell>,
    answers: BTreeMap<Place, Answers>,
    pub(super) gathered: Gathered,
    trials: usize,
    failed: usize,
    counted: usize,
}

/// What tells cells apart; the last is an index into [`Summary::names`].
type Place = (Kind, Mode, usize);

/// Trials of one branch in one place.
#[derive(Debug, Default)]
pub(super) struct Cell {
    /// Those that gave times.
    pub(super) timed: Vec<Timed>,
    pub(super) failed: usize,
    pub(super) oversubscribed: bool,
}

/// A trial that gave times.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timed {
    block: u32,
    pub(super) replicate: u32,
    /// Median time of an iteration, in nanoseconds.
    median_ns: f64,
    /// Median time per unit of work, in nanoseconds. Programs that run for a given time do more work when
    /// they are fast, so times alone would all be alike; per unit of work both kinds compare.
    pub(super) cost: f64,
}

/// The answers of trials in one place.
#[derive(Debug, Default)]
pub(super) struct Answers {
    pub(super) trials: usize,
    pub(super) hung: usize,
    /// How many good trials gave which.
    pub(super) good: BTreeMap<String, usize>,
}

impl Summary {
    /// Of a sweep without any trial yet.
    #[must_use]
    pub fn new(asked: &Asked) -> Self {
        let mut names = vec![asked.baseline.clone()];
        names.extend(asked.twin_name());
        names.extend(asked.branches.iter().filter(|name| **name != asked.baseline).cloned());
        Self {
            asked: asked.clone(),
            names,
            cells: BTreeMap::new(),
            answers: BTreeMap::new(),
            gathered: Gathered::default(),
            trials: 0,
            failed: 0,
            counted: 0,
        }
    }

    /// Takes what it needs of a record.
    ///
    /// # Panics
    /// With 2^32 blocks.
    pub fn add(&mut self, record: &Record) {
        self.trials += 1;
        self.failed += usize::from(record.outcome != Ending::Ok);
        self.counted += usize::from(record.events.is_some());
        self.gathered.add(record);
        let Some(name) = self.names.iter().position(|name| *name == record.branch) else { return };
        let Some(load) = self.asked.load_of(record) else { return };
        let kind = Kind { load, program: record.program, threads: record.threads };
        let place = (kind, record.mode, name);
        self.cells.entry(place).or_default().add(record);
        // Elsewhere answers may be as many as trials, as where a program does what it can in a given time.
        if self.asked.is_about_answers() {
            let answers = self.answers.entry(place).or_default();
            answers.trials += 1;
            answers.hung += usize::from(record.outcome == Ending::Hang);
            let answer = record.answer.as_ref().filter(|_| record.outcome == Ending::Ok);
            if let Some(answer) = answer {
                *answers.good.entry(answer.clone()).or_default() += 1;
            }
        }
    }

    /// Number of trials.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.trials
    }

    /// Of which failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.failed
    }

    /// Of which were counted, not timed.
    #[must_use]
    pub fn counted(&self) -> usize {
        self.counted
    }

    pub(super) fn cell(&self, kind: Kind, mode: Mode, name: usize) -> Option<&Cell> {
        self.cells.get(&(kind, mode, name))
    }

    pub(super) fn cells(&self) -> impl Iterator<Item = &Cell> {
        self.cells.values()
    }

    /// The answers of a program on one instance under some of the names, all thread counts and modes together.
    pub(super) fn answers(
        &self,
        load: usize,
        program: Program,
        is_asked: impl Fn(usize) -> bool,
    ) -> Answers {
        let mut all = Answers::default();
        for ((kind, _, name), answers) in &self.answers {
            if (kind.load, kind.program) == (load, program) && is_asked(*name) {
                all.trials += answers.trials;
                all.hung += answers.hung;
                for (answer, count) in &answers.good {
                    *all.good.entry(answer.clone()).or_default() += count;
                }
            }
        }
        all
    }
}

impl<'a> Extend<&'a Record> for Summary {
    fn extend<T: IntoIterator<Item = &'a Record>>(&mut self, records: T) {
        records.into_iter().for_each(|record| self.add(record));
    }
}

impl Cell {
    fn add(&mut self, record: &Record) {
        self.oversubscribed = record.oversubscribed;
        let figure = |of: &dyn Fn(f64, u64) -> f64| {
            let own = record.iterations.iter();
            median(&mut own.map(|it| of(it.elapsed_ns as f64, it.work_units)).collect::<Vec<_>>())
        };
        let median_ns = figure(&|elapsed_ns, _| elapsed_ns);
        let cost = figure(&|elapsed_ns, work_units| elapsed_ns / work_units.max(1) as f64);
        match (record.outcome, median_ns, cost) {
            (Ending::Ok, Some(median_ns), Some(cost)) if cost > 0.0 => {
                let block = u32::try_from(record.block).expect("plans have fewer blocks");
                let replicate = record.replicate;
                self.timed.push(Timed { block, replicate, median_ns, cost });
            }
            _ => self.failed += 1,
        }
    }

    /// Median over trials of the time of an iteration, in nanoseconds.
    pub(super) fn median_ns(&self) -> Option<f64> {
        median(&mut self.timed.iter().map(|trial| trial.median_ns).collect::<Vec<_>>())
    }

    /// Median over trials of the time per unit of work, in nanoseconds.
    pub(super) fn cost(&self) -> Option<f64> {
        median(&mut self.timed.iter().map(|trial| trial.cost).collect::<Vec<_>>())
    }

    /// Logarithms of the ratios to the baseline, block by block; blocks that lack one are left out.
    pub(super) fn log_ratios(&self, baseline: &Self) -> Vec<f64> {
        let bases: HashMap<u32, f64> =
            baseline.timed.iter().map(|trial| (trial.block, trial.cost)).collect();
        let pair = |trial: &Timed| bases.get(&trial.block).map(|base| (trial.cost / base).ln());
        self.timed.iter().filter_map(pair).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_trial_two_times_and_two_numbers_are_kept() {
        assert_eq!(size_of::<Timed>(), 2 * size_of::<f64>() + 2 * size_of::<u32>());
    }
}
