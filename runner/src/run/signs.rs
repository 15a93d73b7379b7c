//! Drops branches whose sign has turned over a box of machines. The analysis calls such a branch
//! undecided.
//!
//! With one seed, no later trial can make the analysis state a sign. With several seeds, the analysis
//! averages a machine's seeds, so later seeds may turn machines back, and a branch may be dropped that
//! all trials would have given a sign. The rule never adds a sign. To wait for all seeds of a machine
//! would save trials in the last round only.

use std::collections::HashMap;

use protocol::Program;

use crate::plan::{Plan, SweepRequest, Trial};
use crate::record::Done;

/// If a tenth of the machines disagree, the analysis can state no sign (`SHARE` in
/// `stats/boxes.py`).
const DISAGREEING: usize = 10;

/// Fewest machines of each sign before a branch is dropped, so that a small box has all its trials.
const FEWEST: usize = 6;

/// A workload's index without the machine, and the number of threads.
type Place = (usize, usize);

/// A machine and a replicate.
type Run = (usize, u32);

/// The signs of the branches of a sweep over a box, as far as its trials have ended.
pub(super) struct Signs<'a> {
    asked: &'a SweepRequest,
    machines: usize,
    /// Logarithms of the times, by place and branch.
    times: HashMap<Place, HashMap<String, HashMap<Run, f64>>>,
}

impl<'a> Signs<'a> {
    /// Returns the signs of the trials in `done`; None if the sweep is not over a box.
    pub(super) fn new(asked: &'a SweepRequest, plan: &Plan, done: &Done) -> Option<Self> {
        let points = &asked.machine.as_ref()?.points;
        let mut signs = Self {
            asked,
            machines: points.len(),
            times: HashMap::new(),
        };
        if points.is_empty() {
            return None;
        }
        for trial in plan.trials() {
            signs.add(&trial, done.get(&trial.id).copied().flatten());
        }
        Some(signs)
    }

    /// Adds a trial that ended, with its time if it succeeded.
    pub(super) fn add(&mut self, trial: &Trial<'_>, elapsed_ns: Option<u64>) {
        if let Some(time) = elapsed_ns.filter(|_| trial.kind.program == Program::Parallel) {
            let (place, run) = self.place(trial);
            let branches = self.times.entry(place).or_default();
            let times = branches.entry(trial.branch.to_owned()).or_default();
            times.insert(run, (time as f64).ln());
        }
    }

    /// Returns why `trial` need not run: the sign of its branch has turned on too many machines. The
    /// baseline and its A/A control run until all other branches are dropped.
    pub(super) fn why_dropped(&self, trial: &Trial<'_>) -> Option<String> {
        let (place, _) = self.place(trial);
        let baseline = self.asked.baseline.as_str();
        if self.asked.binary_of(trial.branch) != baseline {
            let [faster, slower] = self.turned(place, trial.branch)?;
            return Some(format!(
                "dropped: faster on {faster} machines, slower on {slower}"
            ));
        }
        let mut others = self.asked.branches.iter().filter(|it| *it != baseline);
        let all = others.all(|it| self.turned(place, it).is_some());
        (all && self.asked.branches.len() > 1).then(|| "dropped: all branches are".to_owned())
    }

    fn place(&self, trial: &Trial<'_>) -> (Place, Run) {
        // `machine_box::with_points` puts the machines of a workload one after another.
        let [load, machine] = [
            trial.kind.load / self.machines,
            trial.kind.load % self.machines,
        ];
        ((load, trial.kind.threads), (machine, trial.replicate))
    }

    /// Returns on how many machines a branch is faster, and on how many slower, if its sign has
    /// turned.
    fn turned(&self, place: Place, branch: &str) -> Option<[usize; 2]> {
        let times = self.times.get(&place)?;
        let (own, base) = (times.get(branch)?, times.get(&self.asked.baseline)?);
        let mut differences: HashMap<usize, f64> = HashMap::new();
        for (run, time) in own {
            if let Some(base) = base.get(run) {
                *differences.entry(run.0).or_default() += time - base;
            }
        }
        let signs = [-1.0, 1.0].map(|sign| {
            let has = differences.values().filter(|it| **it * sign > 0.0);
            has.count()
        });
        let is_turned = |on: &usize| *on >= FEWEST.max(self.machines.div_ceil(DISAGREEING));
        signs.iter().all(is_turned).then_some(signs)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan::tests::{asked, identities};
    use crate::plan::{MachineSpec, Point, machine_box, order};

    const MACHINES: usize = 20;

    fn over_a_box() -> SweepRequest {
        let asked = asked();
        let point = Point {
            topology: String::new(),
            cpus: 64,
            prices: BTreeMap::new(),
        };
        let workloads = asked.workloads.iter().map(|it| it.workload.clone());
        let machine = MachineSpec {
            name: "box".to_owned(),
            title: String::new(),
            cores: 64,
            hardware_threads: None,
            sha256: String::new(),
            charges_ns: workloads.map(|it| (it, 1.0)).collect(),
            own_cycles: BTreeMap::new(),
            points: vec![point; MACHINES],
        };
        SweepRequest {
            workloads: machine_box::with_points(&asked.workloads, MACHINES),
            machine: Some(machine),
            ..asked
        }
    }

    /// `packed` is faster than `master` on `faster` machines, and `split` on all.
    fn time_of(trial: &Trial<'_>, faster: usize) -> u64 {
        match trial.branch {
            "packed" if trial.kind.load % MACHINES < faster => 90,
            "packed" => 110,
            "split" => 50,
            _ => 100,
        }
    }

    #[test]
    fn a_branch_is_dropped_as_soon_as_its_sign_has_turned_on_six_of_twenty_machines_each_way() {
        let asked = over_a_box();
        let plan = order(&asked, &identities());
        let mut signs = Signs::new(&asked, &plan, &Done::new()).unwrap();
        let mut seen: HashMap<Place, [usize; 2]> = HashMap::new();
        let mut dropped = 0;
        for trial in plan.trials() {
            let (place, (machine, _)) = signs.place(&trial);
            if let Some(reason) = signs.why_dropped(&trial) {
                assert_eq!(trial.branch, "packed", "{reason}");
                dropped += 1;
                assert!(seen[&place].iter().all(|it| *it >= 6));
                assert!(reason.starts_with("dropped: faster on "), "{reason}");
                continue;
            }
            signs.add(&trial, Some(time_of(&trial, 9)));
            if trial.branch == "packed" && trial.replicate == 0 {
                seen.entry(place).or_default()[usize::from(machine >= 9)] += 1;
            }
        }
        // In the later replicates, `packed` runs nowhere: 2 workloads, 3 thread counts.
        assert!(dropped >= 2 * 2 * 3 * MACHINES, "{dropped}");
    }

    #[test]
    fn a_branch_of_one_sign_keeps_its_trials_and_without_other_branches_the_baseline_runs() {
        let asked = over_a_box();
        let plan = order(&asked, &identities());
        let mut signs = Signs::new(&asked, &plan, &Done::new()).unwrap();
        for trial in plan.trials() {
            assert_eq!(signs.why_dropped(&trial), None);
            signs.add(&trial, Some(time_of(&trial, 15)));
        }
        let alone = SweepRequest {
            branches: vec!["master".to_owned()],
            ..asked
        };
        let plan = order(&alone, &identities());
        let signs = Signs::new(&alone, &plan, &Done::new()).unwrap();
        assert!(plan.trials().all(|it| signs.why_dropped(&it).is_none()));
    }

    #[test]
    fn a_resumed_sweep_drops_the_same_branches_and_the_baseline_after_all_others() {
        let mut asked = over_a_box();
        asked.branches.retain(|it| it != "split");
        let plan = order(&asked, &identities());
        let first = plan.trials().filter(|it| it.replicate == 0);
        let done = first.map(|it| (it.id, Some(time_of(&it, 9)))).collect();
        let signs = Signs::new(&asked, &plan, &done).unwrap();
        for trial in plan.trials() {
            let reason = signs.why_dropped(&trial).unwrap();
            let is_packed = trial.branch == "packed";
            assert_eq!(reason.contains("all branches"), !is_packed, "{reason}");
        }
    }
}
