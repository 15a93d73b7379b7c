//! `two-busy-workers`: a pool in which a few workers are busy, and all others are idle.
//!
//! A busy worker works alone for a while, then pushes a job that is too small to share. Each push
//! may wake a worker, whose search costs CPU time.

use rayon::prelude::*;

use crate::kinds::one_number::Problem;
use crate::kinds::pacing::chain;
use crate::workload::Setup;

pub(super) struct Busy {
    seed: u64,
    workers: usize,
    /// How many stretches of work each busy worker does. With each stretch, the worker offers a
    /// small job to other workers.
    stretches: u64,
    stretch_steps: u64,
    offer_steps: u64,
}

impl Busy {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let values = setup.values;
        Self {
            seed: setup.seed,
            workers: values.count("busy"),
            stretches: values.whole("stretches"),
            stretch_steps: values.whole("stretch-steps"),
            offer_steps: values.whole("offer-steps"),
        }
    }

    fn stretch(&self) -> u64 {
        chain(self.seed, self.stretch_steps)
    }

    fn offer(&self) -> u64 {
        chain(!self.seed, self.offer_steps)
    }

    fn work(&self, both: impl Fn() -> (u64, u64)) -> u64 {
        (0..self.stretches).fold(0, |sum, _| {
            let (stretch, offer) = both();
            sum.wrapping_add(stretch).wrapping_add(offer)
        })
    }
}

impl Problem for Busy {
    fn sequential(&self) -> u64 {
        let works = (0..self.workers).map(|_| self.work(|| (self.stretch(), self.offer())));
        works.fold(0, u64::wrapping_add)
    }

    fn parallel(&self) -> u64 {
        let offered = || rayon::join(|| self.stretch(), || self.offer());
        (0..self.workers)
            .into_par_iter()
            .with_max_len(1)
            .map(|_| self.work(offered))
            .reduce(|| 0, u64::wrapping_add)
    }

    /// All stretches have the same result, and so have all offered jobs.
    fn known(&self) -> u64 {
        let one = self.stretch().wrapping_add(self.offer());
        one.wrapping_mul(self.workers as u64 * self.stretches)
    }
}
