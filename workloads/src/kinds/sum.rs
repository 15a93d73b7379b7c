//! `sum`: rayon's sum over a slice that fits the cache, again and again.
//!
//! One pass takes microseconds, so the time depends on the depth of the splits and on the speed of
//! wake-ups.

use protocol::Refusal;
use rayon::prelude::*;

use crate::kinds::one_number::{OneNumber, Problem, repeat};
use crate::machine::add_cost;
use crate::random::Random;
use crate::workload::{Instance, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let repeats = setup.values.whole("repeats");
    Ok(Box::new(OneNumber::new(Passes::new(setup, repeats))))
}

/// The numbers 0, 1, … in random order.
pub(super) struct Passes {
    values: Vec<u32>,
    repeats: u64,
}

impl Passes {
    pub(super) fn new(setup: &Setup<'_>, repeats: u64) -> Self {
        let values = shuffled(setup);
        Self { values, repeats }
    }
}

/// Returns the numbers 0, 1, … in random order.
pub(super) fn shuffled(setup: &Setup<'_>) -> Vec<u32> {
    let elements = u32::try_from(setup.values.whole("elements")).expect("at most 2^30 elements");
    let mut values: Vec<u32> = (0..elements).collect();
    Random::new(setup.seed).shuffle(&mut values);
    values
}

/// The slice fits the caches, so this function adds no cost of memory bandwidth.
fn added(value: u32) -> u64 {
    add_cost(1);
    u64::from(value)
}

impl Problem for Passes {
    fn sequential(&self) -> u64 {
        repeat(self.repeats, &self.values, |values| {
            values.iter().map(|&v| added(v)).sum()
        })
    }

    fn parallel(&self) -> u64 {
        repeat(self.repeats, &self.values, |values| {
            values.par_iter().map(|&v| added(v)).sum()
        })
    }

    fn work_units(&self) -> u64 {
        self.repeats * self.values.len() as u64
    }

    fn known(&self) -> u64 {
        let elements = self.values.len() as u64;
        self.repeats * (elements * (elements - 1) / 2)
    }
}
