//! The table at the end of a sweep: each branch's time, its speed-up over the sequential program, and
//! its ratio to the baseline, judged by the A/A twin.

mod answers;
mod conditions;
mod show;

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;
use workloads::protocol::Program;

use crate::plan::{Asked, Mode};
use crate::record::{Ending, Record};
use crate::stats::{FEWEST_PAIRS, median, noise_band};

pub use answers::{Agreement, agreements, answers_table};
pub use conditions::{Conditions, Drift, conditions, foot};
pub use show::table;

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

/// Trials of one branch in one place.
#[derive(Default)]
struct Cell {
    /// Time per unit of work by block.
    cost_by_block: BTreeMap<usize, f64>,
    medians_ns: Vec<f64>,
    failed: usize,
    oversubscribed: bool,
}

impl Cell {
    fn add(&mut self, record: &Record) {
        self.oversubscribed = record.oversubscribed;
        let mut times: Vec<f64> =
            record.iterations.iter().map(|iteration| iteration.elapsed_ns as f64).collect();
        // Programs that run for a given time do more work when they are fast, so times alone would
        // all be alike; per unit of work both kinds compare.
        let mut costs: Vec<f64> = record
            .iterations
            .iter()
            .map(|iteration| iteration.elapsed_ns as f64 / iteration.work_units.max(1) as f64)
            .collect();
        match (record.outcome, median(&mut times), median(&mut costs)) {
            (Ending::Ok, Some(time), Some(cost)) if cost > 0.0 => {
                self.medians_ns.push(time);
                self.cost_by_block.insert(record.block, cost);
            }
            _ => self.failed += 1,
        }
    }

    fn cost(&self) -> Option<f64> {
        median(&mut self.cost_by_block.values().copied().collect::<Vec<_>>())
    }

    /// Logarithms of the ratios to the baseline, block by block; blocks that lack one are left out.
    fn log_ratios(&self, baseline: &Self) -> Vec<f64> {
        let pair = |(block, cost): (&usize, &f64)| {
            baseline.cost_by_block.get(block).map(|base| (cost / base).ln())
        };
        self.cost_by_block.iter().filter_map(pair).collect()
    }
}

/// Index into [`Asked::workloads`], and what else tells cells apart.
type Place<'a> = (usize, Mode, Program, usize, &'a str);

/// One row for each cell, in the order workload, mode, threads, branch.
#[must_use]
pub fn rows(asked: &Asked, records: &[Record]) -> Vec<Row> {
    let mut cells: HashMap<Place<'_>, Cell> = HashMap::new();
    for record in records {
        let Some(load) = asked.load_of(record) else { continue };
        let place = (load, record.mode, record.program, record.threads, record.branch.as_str());
        cells.entry(place).or_default().add(record);
    }
    let twin_name = asked.twin_name();
    let mut names = vec![asked.baseline.clone()];
    names.extend(twin_name.clone());
    names.extend(asked.branches.iter().filter(|name| **name != asked.baseline).cloned());
    let mut rows = Vec::new();
    for load in 0..asked.workloads.len() {
        for &mode in &asked.modes {
            let at = |program, threads, branch| cells.get(&(load, mode, program, threads, branch));
            let sequential = at(Program::Sequential, 1, asked.baseline.as_str());
            let reference = asked.sequential_load(load);
            let sequential_cost = cells
                .get(&(reference, mode, Program::Sequential, 1, asked.baseline.as_str()))
                .and_then(Cell::cost);
            if let Some(cell) = sequential {
                rows.push(row(asked, load, mode, Program::Sequential, 1, &asked.baseline, cell));
            }
            for &threads in &asked.threads {
                let baseline = at(Program::Parallel, threads, asked.baseline.as_str());
                let twin =
                    twin_name.as_deref().and_then(|twin| at(Program::Parallel, threads, twin));
                let band = twin
                    .zip(baseline)
                    .and_then(|(twin, baseline)| noise_band(&twin.log_ratios(baseline)));
                for name in &names {
                    let Some(cell) = at(Program::Parallel, threads, name) else { continue };
                    let mut row = row(asked, load, mode, Program::Parallel, threads, name, cell);
                    row.speed_up = sequential_cost.zip(cell.cost()).map(|(base, own)| base / own);
                    if *name != asked.baseline {
                        let mut ratios =
                            baseline.map(|base| cell.log_ratios(base)).unwrap_or_default();
                        let is_judged = ratios.len() >= FEWEST_PAIRS;
                        let ratio = median(&mut ratios);
                        row.ratio = ratio.map(f64::exp);
                        row.verdict = judge(ratio, band.filter(|_| is_judged));
                        if twin_name.as_ref() == Some(name) {
                            row.verdict = Verdict::Twin;
                        }
                    }
                    row.band_low = band.map(|band| (-band).exp());
                    row.band_high = band.map(f64::exp);
                    rows.push(row);
                }
            }
        }
    }
    rows
}

fn row(
    asked: &Asked,
    load: usize,
    mode: Mode,
    program: Program,
    threads: usize,
    branch: &str,
    cell: &Cell,
) -> Row {
    let is_sequential = program == Program::Sequential;
    let parameters: Vec<String> = asked
        .differing_parameters(load)
        .into_iter()
        .filter(|(name, _)| !(is_sequential && asked.is_ignored_by_sequential(name)))
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let load = &asked.workloads[load];
    Row {
        workload: load.workload.clone(),
        size: load.size.clone(),
        parameters: parameters.join(" "),
        mode,
        program,
        threads,
        oversubscribed: cell.oversubscribed,
        branch: branch.to_owned(),
        trials: cell.medians_ns.len(),
        failed: cell.failed,
        median_ns: median(&mut cell.medians_ns.clone()),
        speed_up: (is_sequential && cell.cost().is_some()).then_some(1.0),
        ratio: None,
        band_low: None,
        band_high: None,
        verdict: if is_sequential || branch == asked.baseline {
            Verdict::Reference
        } else {
            Verdict::Unknown
        },
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
