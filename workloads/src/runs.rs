//! Counts how often each job ran. That is a check and not a workload's work. So this lies outside
//! `kinds/`, where a simulated machine would add its cost.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The number of runs of each job.
pub(crate) struct Runs(Vec<AtomicU8>);

impl Runs {
    /// Creates counters for `jobs` jobs, none of which has run.
    pub(crate) fn of(jobs: usize) -> Self {
        Self((0..jobs).map(|_| AtomicU8::new(0)).collect())
    }

    /// Resets all counters.
    pub(crate) fn forget(&self) {
        // Relaxed: between runs, when no thread counts.
        self.0.iter().for_each(|ran| ran.store(0, Relaxed));
    }

    /// Counts a run of job `job`.
    pub(crate) fn count(&self, job: usize) {
        let ran = &self.0[job];
        // Relaxed, and not in one step: a job has one runner, and the thread that checks has waited
        // for all of them.
        ran.store(ran.load(Relaxed).saturating_add(1), Relaxed);
    }

    pub(crate) fn jobs(&self) -> usize {
        self.0.len()
    }

    /// Returns how many jobs ran exactly once.
    pub(crate) fn once(&self) -> usize {
        self.0.iter().filter(|ran| ran.load(Relaxed) == 1).count()
    }
}
