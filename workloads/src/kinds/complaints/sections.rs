//! `nested-sections`: thousands of tiny parallel sections inside a parallel loop.
//!
//! With as many items as workers, the outer loop keeps each worker busy. Each item splits a
//! microsecond or two of work many times, although then no worker is free to help. In
//! `pool-per-call` and `pools-in-turn`, each call is one tiny parallel section.

use rayon::prelude::*;

use crate::kinds::one_number::Problem;
use crate::kinds::pacing::{chain, chains};
use crate::workload::Setup;

pub(super) struct Sections {
    seed: u64,
    items: usize,
    per_item: u64,
    jobs: usize,
    job_steps: u64,
}

impl Sections {
    pub(super) fn nested(setup: &Setup<'_>) -> Self {
        Self {
            items: setup.values.count("items"),
            per_item: setup.values.whole("sections"),
            ..Self::one(setup)
        }
    }

    pub(super) fn one(setup: &Setup<'_>) -> Self {
        Self {
            seed: setup.seed,
            items: 1,
            per_item: 1,
            jobs: setup.values.count("jobs"),
            job_steps: setup.values.whole("job-steps"),
        }
    }

    fn job(&self, job: usize) -> u64 {
        chain(self.seed ^ job as u64, self.job_steps)
    }

    fn section(&self) -> u64 {
        (0..self.jobs)
            .into_par_iter()
            .with_max_len(1)
            .map(|job| self.job(job))
            .reduce(|| 0, u64::wrapping_add)
    }

    fn item(&self, section: impl Fn() -> u64) -> u64 {
        (0..self.per_item).fold(0, |sum, _| sum.wrapping_add(section()))
    }
}

impl Problem for Sections {
    fn sequential(&self) -> u64 {
        let section = || (0..self.jobs).fold(0, |sum: u64, job| sum.wrapping_add(self.job(job)));
        (0..self.items).fold(0, |sum, _| sum.wrapping_add(self.item(section)))
    }

    fn parallel(&self) -> u64 {
        (0..self.items)
            .into_par_iter()
            .with_max_len(1)
            .map(|_| self.item(|| self.section()))
            .reduce(|| 0, u64::wrapping_add)
    }

    /// All sections have the same result.
    fn known(&self) -> u64 {
        let seeds = (0..self.jobs as u64).map(|job| self.seed ^ job);
        let section = chains(seeds, self.job_steps);
        section.wrapping_mul(self.items as u64 * self.per_item)
    }
}
