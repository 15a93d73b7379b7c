//! What is kept of a sweep's records for its tables: a few numbers of each trial.

use std::collections::{BTreeMap, HashMap};

use protocol::{Iteration, Program};

use super::conditions::Conditions;
use crate::plan::{Asked, Kind, Regime};
use crate::record::{Ending, Record};
use crate::stats::median;

/// What the tables know of a sweep. Records are added one after the other and not kept.
#[derive(Debug)]
pub struct Summary {
    pub(super) asked: Asked,
    /// The baseline, its twin, the other branches: the order of rows.
    pub(super) names: Vec<String>,
    cells: BTreeMap<CellKey, Cell>,
    answers: BTreeMap<CellKey, Answers>,
    /// What its trials ran under.
    pub conditions: Conditions,
    /// Number of trials.
    pub trials: usize,
    /// Of which failed.
    pub failed: usize,
    /// Of which were counted, not timed.
    pub counted: usize,
}

/// What tells cells apart; the last is an index into [`Summary::names`].
type CellKey = (Kind, Regime, usize);

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
    wall: Cost,
    cpu: Cost,
}

/// What a trial took of one kind of time, in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Cost {
    /// Median of its iterations.
    of_iteration: f64,
    /// Median of its iterations, per unit of work. Programs that run for a given time do more work
    /// when they are fast, so times alone would all be alike; per unit of work both kinds compare.
    of_unit: f64,
}

/// The kinds of time that a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// By the clock on the wall.
    Wall,
    /// Of all threads together, the kernel's work for them included.
    Cpu,
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
        names.extend(
            asked
                .branches
                .iter()
                .filter(|name| **name != asked.baseline)
                .cloned(),
        );
        Self {
            asked: asked.clone(),
            names,
            cells: BTreeMap::new(),
            answers: BTreeMap::new(),
            conditions: Conditions::default(),
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
        self.conditions.add(record);
        let Some(name) = self.names.iter().position(|name| *name == record.branch) else {
            return;
        };
        let Some(load) = record.load(&self.asked) else {
            return;
        };
        let kind = Kind {
            load,
            program: record.program,
            threads: record.threads,
        };
        let place = (kind, record.regime(), name);
        self.cells.entry(place).or_default().add(record);
        // Elsewhere answers may be as many as trials, as where a program does what it can in a
        // given time.
        if self.asked.is_about_answers() {
            let answers = self.answers.entry(place).or_default();
            answers.trials += 1;
            answers.hung += usize::from(record.outcome == Ending::Hang);
            let answer = record
                .answer
                .as_ref()
                .filter(|_| record.outcome == Ending::Ok);
            if let Some(answer) = answer {
                *answers.good.entry(answer.clone()).or_default() += 1;
            }
        }
    }

    pub(super) fn cell(&self, kind: Kind, regime: Regime, name: usize) -> Option<&Cell> {
        self.cells.get(&(kind, regime, name))
    }

    /// The answers of a program on one instance under some of the names, all thread counts and
    /// regimes together.
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

impl Cell {
    fn add(&mut self, record: &Record) {
        self.oversubscribed = record.oversubscribed;
        let wall = Cost::of(record, |iteration| iteration.elapsed_ns);
        let cpu = Cost::of(record, |iteration| iteration.user_ns + iteration.system_ns);
        match (record.outcome, wall, cpu) {
            (Ending::Ok, Some(wall), Some(cpu)) if wall.of_unit > 0.0 => {
                let block = u32::try_from(record.block).expect("plans have fewer blocks");
                self.timed.push(Timed { block, wall, cpu });
            }
            _ => self.failed += 1,
        }
    }

    /// Median over trials of the time of an iteration, in nanoseconds.
    pub(super) fn of_iteration(&self, time: Time) -> Option<f64> {
        median(
            &mut self
                .timed
                .iter()
                .map(|it| it.cost(time).of_iteration)
                .collect::<Vec<_>>(),
        )
    }

    /// Median over trials of the time per unit of work, in nanoseconds.
    pub(super) fn of_unit(&self, time: Time) -> Option<f64> {
        median(
            &mut self
                .timed
                .iter()
                .map(|it| it.cost(time).of_unit)
                .collect::<Vec<_>>(),
        )
    }

    /// Median over blocks of the time over the baseline's in the same block; blocks that lack one
    /// are left out.
    pub(super) fn ratio(&self, baseline: &Self, time: Time) -> Option<f64> {
        let own = |trial: &Timed| Some(trial.cost(time).of_unit).filter(|cost| *cost > 0.0);
        let bases: HashMap<u32, f64> = baseline
            .timed
            .iter()
            .filter_map(|trial| own(trial).map(|base| (trial.block, base)))
            .collect();
        let ratio = |trial: &Timed| Some((own(trial)? / bases.get(&trial.block)?).ln());
        median(&mut self.timed.iter().filter_map(ratio).collect::<Vec<_>>()).map(f64::exp)
    }
}

impl Timed {
    fn cost(&self, time: Time) -> Cost {
        match time {
            Time::Wall => self.wall,
            Time::Cpu => self.cpu,
        }
    }
}

impl Cost {
    /// `None` of a trial without iterations.
    fn of(record: &Record, nanoseconds: impl Fn(&Iteration) -> u64) -> Option<Self> {
        let middle = |of: &dyn Fn(&Iteration) -> f64| {
            median(&mut record.iterations.iter().map(of).collect::<Vec<_>>())
        };
        Some(Self {
            of_iteration: middle(&|it| nanoseconds(it) as f64)?,
            of_unit: middle(&|it| nanoseconds(it) as f64 / it.work_units.max(1) as f64)?,
        })
    }
}
