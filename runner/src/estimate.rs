//! How long trials take: from what this host measured before, else from the design of the sizes.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use workloads::protocol::Program;
use workloads::workload::Size;

use crate::manifest::Run;
use crate::plan::{Asked, Load, Plan, Trial};
use crate::record::{Ending, Record};
use crate::stats::median;
use crate::sweep::SETTLE;
use crate::sweep_dir::SweepDir;

/// Start and end of a process, and what it prepares; measured once on 2 virtual CPUs.
const PER_PROCESS: Duration = Duration::from_millis(20);

/// Between two trials on a host that never swept: the pause, the clock measured twice, the disk.
const BETWEEN: Duration = SETTLE.saturating_add(Duration::from_millis(7));

/// An estimate and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Time of all trials.
    pub time: Duration,
    /// Share of the trials whose time was measured before, 0 to 1.
    pub measured_share: f64,
}

/// All that an iteration's time depends on, apart from the branch: a size with another parameter or
/// another input is another program.
type Key = (String, String, BTreeMap<String, String>, Option<String>, Program, usize);

/// Median time of an iteration by workload, parameters and threads, in nanoseconds.
#[derive(Debug, Default)]
pub struct Past {
    iteration_ns: HashMap<Key, f64>,
    /// Longest time that the builds before a sweep took.
    builds: Option<Duration>,
    /// Between two trials, as the newest sweep has it: pause, clock, disk.
    between: Option<Duration>,
}

impl Past {
    /// What the given sweeps measured, later ones preferred; those of other hosts and broken ones are
    /// left out, since an estimate is not worth an error.
    #[must_use]
    pub fn read(sweeps: &[SweepDir], host: &str) -> Self {
        let mut past = Self::default();
        for sweep in sweeps {
            let Ok(manifest) = sweep.manifest() else { continue };
            if manifest.host == host {
                past.learn(&sweep.records().unwrap_or_default());
                manifest.runs.iter().for_each(|run| past.learn_run(run));
            }
        }
        past
    }

    fn learn_run(&mut self, run: &Run) {
        let builds = Duration::from_nanos(run.builds_ns);
        self.builds = self.builds.max((run.builds_ns > 0).then_some(builds));
        if let Some(between) =
            run.wall_ns.saturating_sub(run.in_trials_ns).checked_div(run.trials as u64)
        {
            self.between = Some(Duration::from_nanos(between));
        }
    }

    /// The longest time that builds took on this host before; `None` if it is not known.
    #[must_use]
    pub fn builds(&self) -> Option<Duration> {
        self.builds
    }

    fn learn(&mut self, records: &[Record]) {
        let mut times: HashMap<Key, Vec<f64>> = HashMap::new();
        for record in records.iter().filter(|record| record.outcome == Ending::Ok) {
            let key = (
                record.workload.clone(),
                record.size.clone(),
                record.parameters.clone(),
                record.input.clone(),
                record.program,
                record.threads,
            );
            let own = record.iterations.iter().map(|iteration| iteration.elapsed_ns as f64);
            times.entry(key).or_default().extend(own);
        }
        for (key, mut times) in times {
            if let Some(time) = median(&mut times) {
                self.iteration_ns.insert(key, time);
            }
        }
    }

    fn iteration(&self, load: &Load, trial: &Trial) -> (Duration, bool) {
        let key = (
            load.workload.clone(),
            load.size.clone(),
            load.parameters.clone(),
            load.input.as_ref().map(|input| input.path.clone()),
            trial.program,
            trial.threads,
        );
        match self.iteration_ns.get(&key) {
            Some(time) => (Duration::from_secs_f64(time / 1e9), true),
            None => (by_design(&load.size), false),
        }
    }

    /// The time of a whole plan.
    #[must_use]
    pub fn estimate(&self, asked: &Asked, plan: &Plan) -> Estimate {
        let mut time = Duration::ZERO;
        let mut measured = 0;
        for trial in &plan.trials {
            let (iteration, is_measured) = self.iteration(&asked.workloads[trial.load], trial);
            let iterations = asked.warmup_iterations + asked.iterations;
            time += PER_PROCESS + self.between.unwrap_or(BETWEEN) + iteration * iterations;
            measured += usize::from(is_measured);
        }
        Estimate { time, measured_share: measured as f64 / plan.trials.len().max(1) as f64 }
    }
}

/// What the sizes are made for (see [`Size`]), on one core.
fn by_design(size: &str) -> Duration {
    Duration::from_millis(match Size::find(size) {
        Ok(Size::Tiny) => 1,
        Ok(Size::Small) | Err(_) => 25,
        Ok(Size::Medium) => 250,
        Ok(Size::Large) => 3000,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{self, Mode};

    fn load(elements: &str) -> Load {
        Load {
            workload: "quicksort".to_owned(),
            size: "tiny".to_owned(),
            parameters: BTreeMap::from([("elements".to_owned(), elements.to_owned())]),
            input: None,
        }
    }

    /// One cell of one trial, apart from the sequential one.
    fn asked(load: Load) -> Asked {
        Asked {
            preset: "smoke".to_owned(),
            experiment: None,
            branches: vec!["master".to_owned()],
            baseline: "master".to_owned(),
            twin: false,
            workloads: vec![load],
            threads: vec![1],
            modes: vec![Mode::Dynamic],
            trials: 1,
            warmup_iterations: 0,
            iterations: 1,
            seed: 1,
            timeout_s: 60.0,
            layouts: 1,
            instrument: None,
        }
    }

    fn measured_share(measured: &Load, planned: Load) -> f64 {
        let key = |program| {
            (
                measured.workload.clone(),
                measured.size.clone(),
                measured.parameters.clone(),
                None,
                program,
                1,
            )
        };
        let programs = [Program::Sequential, Program::Parallel];
        let past = Past {
            iteration_ns: programs.map(|program| (key(program), 1e6)).into_iter().collect(),
            ..Past::default()
        };
        let asked = asked(planned);
        let identities = BTreeMap::from([("master".to_owned(), String::new())]);
        past.estimate(&asked, &plan::order(&asked, &identities)).measured_share
    }

    #[test]
    fn a_measured_time_counts_for_the_same_parameters_only() {
        let shares =
            ["1000", "1000000000"].map(|elements| measured_share(&load("1000"), load(elements)));
        assert!(shares[0] > 0.99 && shares[1] < 0.01, "{shares:?}");
    }
}
