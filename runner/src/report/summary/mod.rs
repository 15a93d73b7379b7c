//! The table at the end of a sweep: each branch's times, its speed-up over the sequential program,
//! and its ratios to the baseline. Nothing is judged here; see `judgement.rs`.

mod answers;
mod conditions;
mod fold;
mod show;

use serde::Serialize;

use crate::plan::{Kind, Mode, Regime};

use fold::{Cell, Time};
use protocol::{Placement, Program};

pub use answers::Agreement;
pub(crate) use answers::answers_table;
pub use conditions::Conditions;
pub(crate) use conditions::foot;
pub use fold::Summary;
pub use show::table;

/// Its index among the names of a summary; the twin, if it runs, is the next.
const BASELINE: usize = 0;

/// A branch in one place of the sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Workload.
    pub workload: String,
    /// Its size.
    pub size: String,
    /// Parameters that tell it from other cells of the workload in this sweep, as `name=value`.
    pub parameters: String,
    /// Frequency mode.
    pub mode: Mode,
    /// Where workers ran.
    pub placement: Placement,
    /// `sequential` or `parallel`.
    pub program: Program,
    /// Threads of the pool.
    pub threads: usize,
    /// More threads than CPUs.
    pub oversubscribed: bool,
    /// A clock sets the program's time, so that CPU time comes first.
    pub paced: bool,
    /// Branch, or the baseline's twin.
    pub branch: String,
    /// Good trials.
    pub trials: usize,
    /// Failed trials.
    pub failed: usize,
    /// Median over trials of the median time of an iteration, in nanoseconds.
    pub median_ns: Option<f64>,
    /// The same of the CPU time of all threads.
    pub cpu_ns: Option<f64>,
    /// Time of the sequential program per unit of work, over this one's.
    pub speed_up: Option<f64>,
    /// Time per unit of work over the baseline's, paired inside blocks: below 1 is faster.
    pub ratio: Option<f64>,
    /// The same of the CPU time.
    pub cpu_ratio: Option<f64>,
}

impl Row {
    /// Under what regime it ran.
    pub(super) fn regime(&self) -> Regime {
        Regime {
            mode: self.mode,
            placement: self.placement,
        }
    }
}

impl Summary {
    /// One row for each cell, in the order workload, regime, threads, branch.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let asked = &self.asked;
        let mut rows = Vec::new();
        for load in 0..asked.workloads.len() {
            let sequential = |load| Kind {
                load,
                program: Program::Sequential,
                threads: 1,
            };
            let reference = sequential(asked.sequential_load(load));
            let own = sequential(load);
            for regime in asked.regimes() {
                let sequential_cost = self
                    .cell(reference, regime, BASELINE)
                    .and_then(|cell| cell.of_unit(Time::Wall));
                if let Some(cell) = self.cell(own, regime, BASELINE) {
                    rows.push(self.row(own, regime, BASELINE, cell));
                }
                for &threads in &asked.threads {
                    let kind = Kind {
                        load,
                        program: Program::Parallel,
                        threads,
                    };
                    self.add_rows(&mut rows, kind, regime, sequential_cost);
                }
            }
        }
        rows
    }

    /// The rows of all branches in one place.
    fn add_rows(
        &self,
        rows: &mut Vec<Row>,
        kind: Kind,
        regime: Regime,
        sequential_cost: Option<f64>,
    ) {
        let baseline = self.cell(kind, regime, BASELINE);
        for name in 0..self.names.len() {
            let Some(cell) = self.cell(kind, regime, name) else {
                continue;
            };
            let mut row = self.row(kind, regime, name, cell);
            row.speed_up = sequential_cost
                .zip(cell.of_unit(Time::Wall))
                .map(|(base, own)| base / own);
            if let Some(baseline) = baseline.filter(|_| name != BASELINE) {
                row.ratio = cell.ratio(baseline, Time::Wall);
                row.cpu_ratio = cell.ratio(baseline, Time::Cpu);
            }
            rows.push(row);
        }
    }

    fn row(&self, kind: Kind, regime: Regime, name: usize, cell: &Cell) -> Row {
        let Kind {
            load,
            program,
            threads,
        } = kind;
        let is_sequential = program == Program::Sequential;
        let parameters: Vec<String> = self
            .asked
            .differing_parameters(load)
            .into_iter()
            .filter(|(name, _)| !(is_sequential && self.asked.is_ignored_by_sequential(name)))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let load = &self.asked.workloads[load];
        Row {
            workload: load.workload.clone(),
            size: load.size.clone(),
            parameters: parameters.join(" "),
            mode: regime.mode,
            placement: regime.placement,
            program,
            threads,
            oversubscribed: cell.oversubscribed,
            paced: load.is_paced(),
            branch: self.names[name].clone(),
            trials: cell.timed.len(),
            failed: cell.failed,
            median_ns: cell.of_iteration(Time::Wall),
            cpu_ns: cell.of_iteration(Time::Cpu),
            speed_up: (is_sequential && !cell.timed.is_empty()).then_some(1.0),
            ratio: None,
            cpu_ratio: None,
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
