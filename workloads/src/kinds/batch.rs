//! Small jobs: each notes when it ran and adds to a sum, so that a lost or doubled job shows.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::kinds::moments::Moments;
use crate::kinds::pacing::{chain, chains};

/// Jobs of equal work that are run together, again and again.
pub(super) struct Batch {
    jobs: usize,
    steps: u64,
    moments: Moments,
    sum: AtomicU64,
    known_sum: u64,
}

impl Batch {
    /// `jobs` jobs of `steps` steps each; none has run.
    pub(super) fn new(jobs: usize, steps: u64) -> Self {
        let mut batch = Self {
            jobs,
            steps,
            moments: Moments::default(),
            sum: AtomicU64::new(0),
            known_sum: chains(0..jobs as u64, steps),
        };
        batch.begin_run();
        batch
    }

    /// Forgets the last run.
    pub(super) fn begin_run(&mut self) {
        self.moments.begin_run(self.jobs);
        *self.sum.get_mut() = 0;
    }

    /// Number of jobs.
    pub(super) fn jobs(&self) -> usize {
        self.jobs
    }

    /// Runs job `job`, which begins so long after `start`.
    pub(super) fn run(&self, job: usize, start: Instant) {
        self.moments.note(job, start);
        // Relaxed: read after the scope of all jobs, which orders it.
        self.sum.fetch_add(chain(job as u64, self.steps), Relaxed);
    }

    /// When the first job of this run began.
    pub(super) fn first_began(&self) -> Duration {
        self.moments.noted().min().unwrap_or_default()
    }

    /// Whether every job of this run ran once, with the right sum.
    pub(super) fn is_right(&mut self) -> bool {
        self.moments.ran_once() == self.jobs && *self.sum.get_mut() == self.known_sum
    }

    /// The sum of all jobs of a run, known beforehand.
    pub(super) fn known_sum(&self) -> u64 {
        self.known_sum
    }
}
