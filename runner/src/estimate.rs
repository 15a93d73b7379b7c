//! How long trials take: from what this host measured before, else from the design of the sizes.

use std::collections::HashMap;
use std::time::Duration;

use workloads::protocol::Program;
use workloads::workload::Size;

use crate::plan::{Asked, Load, Plan, Trial};
use crate::record::{Ending, Record};
use crate::stats::median;
use crate::sweep::SETTLE;
use crate::sweep_dir::SweepDir;

/// Start and end of a process, settling and syncing included; measured once on 2 virtual CPUs.
const PER_TRIAL: Duration = Duration::from_millis(25);

/// An estimate and where it is from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Time of all trials.
    pub time: Duration,
    /// Share of the trials whose time was measured before, 0 to 1.
    pub measured_share: f64,
}

type Key = (String, String, Program, usize);

/// Median time of an iteration, by workload, size, program and threads, in nanoseconds.
#[derive(Debug, Default)]
pub struct Past {
    iteration_ns: HashMap<Key, f64>,
}

impl Past {
    /// What the given sweeps measured, later ones preferred; those of other hosts and broken ones are
    /// left out, since an estimate is not worth an error.
    #[must_use]
    pub fn read(sweeps: &[SweepDir], host: &str) -> Self {
        let mut past = Self::default();
        for sweep in sweeps {
            if sweep.manifest().is_ok_and(|manifest| manifest.host == host) {
                past.learn(&sweep.records().unwrap_or_default());
            }
        }
        past
    }

    fn learn(&mut self, records: &[Record]) {
        let mut times: HashMap<Key, Vec<f64>> = HashMap::new();
        for record in records.iter().filter(|record| record.outcome == Ending::Ok) {
            let key =
                (record.workload.clone(), record.size.clone(), record.program, record.threads);
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
        let key = (load.workload.clone(), load.size.clone(), trial.program, trial.threads);
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
            time += PER_TRIAL + SETTLE + iteration * iterations;
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
