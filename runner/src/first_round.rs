//! A first comparison while a sweep goes on: after one trial of each cell, long before anything can be judged.

use std::collections::{BTreeMap, HashMap, HashSet};

use protocol::Program;

use crate::id::Id;
use crate::plan::{Asked, Plan};
use crate::record::Record;
use crate::stats::median;
use crate::table::{Column, Format, Terminal, TextTable};

/// More columns than these do not fit into a terminal.
const MOST_WORKLOADS: usize = 5;

/// Times of the sweep's first round, in which every block is visited once.
#[derive(Debug)]
pub(crate) struct FirstRound {
    baseline: String,
    /// Branches in the order of the sweep, the twin last.
    names: Vec<String>,
    rounds: u32,
    /// Trials of the round that did not end yet.
    missing: HashSet<Id>,
    /// Workload and times in nanoseconds by branch, for each block.
    blocks: HashMap<usize, (String, HashMap<String, f64>)>,
}

impl FirstRound {
    /// Of a plan with several rounds of times to compare, unless some of the first were run earlier.
    pub(crate) fn of(asked: &Asked, plan: &Plan, done: &HashSet<Id>) -> Option<Self> {
        let names: Vec<String> = asked.branches.iter().cloned().chain(asked.twin_name()).collect();
        if asked.trials < 2 || names.len() < 2 || asked.is_about_answers() {
            return None;
        }
        let missing: HashSet<Id> = plan
            .trials()
            .filter(|trial| trial.replicate == 0 && names.iter().any(|name| name == trial.branch))
            .map(|trial| trial.id)
            .collect();
        let is_new = !missing.is_empty() && missing.is_disjoint(done);
        is_new.then(|| Self {
            baseline: asked.baseline.clone(),
            names,
            rounds: asked.trials,
            missing,
            blocks: HashMap::new(),
        })
    }

    /// Takes a trial in; the comparison, if it was the last of the round.
    pub(crate) fn add(&mut self, record: &Record) -> Option<String> {
        if !self.missing.remove(&record.trial) {
            return None;
        }
        let times = record.iterations.iter().map(|iteration| iteration.elapsed_ns as f64);
        if let (Some(time), Program::Parallel) =
            (median(&mut times.collect::<Vec<_>>()), record.program)
        {
            let new = || (record.workload.clone(), HashMap::new());
            let (_, times) = self.blocks.entry(record.block).or_insert_with(new);
            times.insert(record.branch.clone(), time);
        }
        self.missing.is_empty().then(|| self.text())
    }

    fn text(&self) -> String {
        // By workload, then by branch: time relative to the baseline in the same block.
        let mut ratios: BTreeMap<&str, HashMap<&str, Vec<f64>>> = BTreeMap::new();
        let is_many = self.blocks.values().map(|(name, _)| name).collect::<HashSet<_>>().len()
            > MOST_WORKLOADS;
        for (workload, times) in self.blocks.values() {
            let Some(baseline) = times.get(&self.baseline) else { continue };
            let column = if is_many { "all workloads" } else { workload };
            for (branch, time) in times {
                let branches = ratios.entry(column).or_default();
                branches.entry(branch).or_default().push(time / baseline);
            }
        }
        let titles = ratios.keys().map(|title| Column::number((*title).to_owned()));
        let mut sheet =
            TextTable::new([Column::text("branch")].into_iter().chain(titles).collect::<Vec<_>>());
        for name in self.names.iter().filter(|name| **name != self.baseline) {
            let ratio = |of: &HashMap<&str, Vec<f64>>| {
                let middle = of.get(name.as_str()).and_then(|of| median(&mut of.clone()));
                middle.map_or_else(String::new, |ratio| format!("{ratio:.2}"))
            };
            let cells = ratios.values().map(ratio);
            sheet.push([name.clone()].into_iter().chain(cells), None);
        }
        format!(
            "round 1 of {}: time relative to {}, the median over thread counts of one trial each; nothing is judged yet\n{}",
            self.rounds,
            self.baseline,
            sheet.text(Format::Table, Terminal::default())
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan;
    use crate::summary::tests::{asked, record};

    #[test]
    fn the_first_round_ends_with_times_relative_to_the_baseline_and_no_later_trial_says_more() {
        let asked = asked();
        let identities = asked.branches.iter().map(|name| (name.clone(), name.clone())).collect();
        let plan = plan::order(&asked, &identities);
        let mut round = FirstRound::of(&asked, &plan, &HashSet::new()).unwrap();
        let ended = |trial: &plan::Trial<'_>| {
            let time = if trial.branch == "slow" { 1_500_000 } else { 1_000_000 };
            let kind = trial.kind;
            let ended = record(trial.branch, kind.program, kind.threads, trial.block, time);
            Record { trial: trial.id, replicate: trial.replicate, ..ended }
        };
        let said: Vec<(u32, String)> = plan
            .trials()
            .filter_map(|trial| Some((trial.replicate, round.add(&ended(&trial))?)))
            .collect();
        let [(0, text)] = &said[..] else { panic!("said {said:?}") };
        let rows: Vec<Vec<&str>> =
            text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(
            rows,
            [["branch", "quicksort"], ["slow", "1.50"], ["same", "1.00"], ["master-again", "1.00"]]
        );
    }

    #[test]
    fn a_sweep_that_goes_on_and_one_of_a_single_round_have_no_first_round() {
        let asked = Asked { trials: 1, ..asked() };
        let identities = asked.branches.iter().map(|name| (name.clone(), name.clone())).collect();
        let plan = plan::order(&asked, &identities);
        assert!(FirstRound::of(&asked, &plan, &HashSet::new()).is_none());
        let asked = Asked { trials: 2, ..asked };
        let plan = plan::order(&asked, &identities);
        let done = plan.trials().take(1).map(|trial| trial.id).collect();
        assert!(FirstRound::of(&asked, &plan, &done).is_none());
    }
}
