//! How often each of some jobs ran. It is no part of a program's work, so it lies outside `kinds/`:
//! a simulated machine does not see it.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A place for each job.
pub(crate) struct Runs(Vec<AtomicU8>);

impl Runs {
    /// None of so many jobs has run.
    pub(crate) fn of(jobs: usize) -> Self {
        Self((0..jobs).map(|_| AtomicU8::new(0)).collect())
    }

    /// None of them has run.
    pub(crate) fn forget(&self) {
        // Relaxed: between runs, when no thread counts.
        self.0.iter().for_each(|ran| ran.store(0, Relaxed));
    }

    /// Job `job` runs.
    pub(crate) fn count(&self, job: usize) {
        let ran = &self.0[job];
        // Relaxed, and not in one step: a job has one runner, and the thread that checks has waited
        // for all of them.
        ran.store(ran.load(Relaxed).saturating_add(1), Relaxed);
    }

    pub(crate) fn jobs(&self) -> usize {
        self.0.len()
    }

    /// How many jobs ran exactly once.
    pub(crate) fn once(&self) -> usize {
        self.0.iter().filter(|ran| ran.load(Relaxed) == 1).count()
    }
}
