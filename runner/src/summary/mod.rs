//! The table at the end of a sweep: each branch's time, its speed-up over the sequential program, and
//! its ratio to the baseline, judged by the A/A twin.

mod answers;
mod conditions;
mod fold;
mod show;

use serde::Serialize;
use workloads::protocol::Program;

use crate::plan::{Kind, Mode};
use crate::stats::{FEWEST_PAIRS, median, noise_band};

use fold::Cell;

pub use answers::{Agreement, answers_table};
pub use conditions::{Conditions, Drift, foot};
pub use fold::Summary;
pub use show::table;

/// Its index among the names of a summary; the twin, if it runs, is the next.
const BASELINE: usize = 0;

/// A branch in one place of the sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Workload.
    pub workload: String,
    /// Its size.
    pub size: String,
    /// Parameters that tell it from other cells of the workload in this sweep, as `name=value`.
    pub parameters: String,
    /// Frequency mode.
    pub mode: Mode,
    /// `sequential` or `parallel`.
    pub program: Program,
    /// Threads of the pool.
    pub threads: usize,
    /// More threads than CPUs.
    pub oversubscribed: bool,
    /// Branch, or the baseline's twin.
    pub branch: String,
    /// Good trials.
    pub trials: usize,
    /// Failed trials.
    pub failed: usize,
    /// Median over trials of the median time of an iteration, in nanoseconds.
    pub median_ns: Option<f64>,
    /// Time of the sequential program per unit of work, over this one's.
    pub speed_up: Option<f64>,
    /// Time per unit of work over the baseline's, paired inside blocks: below 1 is faster.
    pub ratio: Option<f64>,
    /// A ratio between these two happens between runs of the same binary, 95 times of 100.
    pub band_low: Option<f64>,
    /// See [`Row::band_low`].
    pub band_high: Option<f64>,
    /// What may be said of it.
    pub verdict: Verdict,
}

/// What may be said of a branch against the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Below the A/A band.
    Faster,
    /// Above the A/A band.
    Slower,
    /// Inside the A/A band.
    NotDistinguishable,
    /// It is the baseline, or the sequential program.
    Reference,
    /// The A/A twin: its ratio is noise by construction.
    Twin,
    /// Too few pairs, of the branch or of the twin, to judge by.
    Unknown,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Faster => "faster",
            Self::Slower => "slower",
            Self::NotDistinguishable => "not distinguishable",
            Self::Reference => "",
            Self::Twin => "A/A twin",
            Self::Unknown => "?",
        })
    }
}

impl Summary {
    /// One row for each cell, in the order workload, mode, threads, branch.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let asked = &self.asked;
        let mut rows = Vec::new();
        for load in 0..asked.workloads.len() {
            let sequential = |load| Kind { load, program: Program::Sequential, threads: 1 };
            let reference = sequential(asked.sequential_load(load));
            let own = sequential(load);
            for &mode in &asked.modes {
                let sequential_cost = self.cell(reference, mode, BASELINE).and_then(Cell::cost);
                if let Some(cell) = self.cell(own, mode, BASELINE) {
                    rows.push(self.row(own, mode, BASELINE, cell));
                }
                for &threads in &asked.threads {
                    let kind = Kind { load, program: Program::Parallel, threads };
                    self.add_rows(&mut rows, kind, mode, sequential_cost);
                }
            }
        }
        rows
    }

    /// The rows of all branches in one place.
    fn add_rows(&self, rows: &mut Vec<Row>, kind: Kind, mode: Mode, sequential_cost: Option<f64>) {
        let baseline = self.cell(kind, mode, BASELINE);
        let twin_name = if self.asked.twin { Some(BASELINE + 1) } else { None };
        let twin = twin_name.and_then(|twin| self.cell(kind, mode, twin));
        let band =
            twin.zip(baseline).and_then(|(twin, baseline)| noise_band(&twin.log_ratios(baseline)));
        for name in 0..self.names.len() {
            let Some(cell) = self.cell(kind, mode, name) else { continue };
            let mut row = self.row(kind, mode, name, cell);
            row.speed_up = sequential_cost.zip(cell.cost()).map(|(base, own)| base / own);
            if name != BASELINE {
                let mut ratios = baseline.map(|base| cell.log_ratios(base)).unwrap_or_default();
                let is_judged = ratios.len() >= FEWEST_PAIRS;
                let ratio = median(&mut ratios);
                row.ratio = ratio.map(f64::exp);
                row.verdict = judge(ratio, band.filter(|_| is_judged));
                if twin_name == Some(name) {
                    row.verdict = Verdict::Twin;
                }
            }
            row.band_low = band.map(|band| (-band).exp());
            row.band_high = band.map(f64::exp);
            rows.push(row);
        }
    }

    fn row(&self, kind: Kind, mode: Mode, name: usize, cell: &Cell) -> Row {
        let Kind { load, program, threads } = kind;
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
            mode,
            program,
            threads,
            oversubscribed: cell.oversubscribed,
            branch: self.names[name].clone(),
            trials: cell.timed.len(),
            failed: cell.failed,
            median_ns: cell.median_ns(),
            speed_up: (is_sequential && cell.cost().is_some()).then_some(1.0),
            ratio: None,
            band_low: None,
            band_high: None,
            verdict: if name == BASELINE { Verdict::Reference } else { Verdict::Unknown },
        }
    }
}

fn judge(log_ratio: Option<f64>, band: Option<f64>) -> Verdict {
    match log_ratio.zip(band) {
        None => Verdict::Unknown,
        Some((ratio, band)) if ratio < -band => Verdict::Faster,
        Some((ratio, band)) if ratio > band => Verdict::Slower,
        Some(_) => Verdict::NotDistinguishable,
    }
}

#[cfg(test)]
pub(crate) mod tests;
