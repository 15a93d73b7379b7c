//! `par-sort`: rayon's own parallel sorts, stable or unstable.

use protocol::Refusal;
use rayon::prelude::*;

use crate::kinds::sorted::Sorted;
use crate::machine::add_cost;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let elements = setup.values.whole("elements");
    let original: Vec<u64> = Random::new(setup.seed)
        .keys_with_positions(elements)
        .collect();
    let is_stable = setup.values.word("sort") == "stable";
    Ok(Box::new(Sort {
        known: Sorted::of("sorted", original.iter().copied(), is_stable),
        values: original.clone(),
        original,
    }))
}

struct Sort {
    original: Vec<u64>,
    known: Sorted,
    values: Vec<u64>,
}

/// The cost of a key in rayon's stable sort, in units. In the other sorts, a key costs about 1
/// unit. On one thread, the measured cost in the stable sort was 2.2 to 3.1 units.
const STABLE_COST: u64 = 3;

fn key(element: u64) -> u64 {
    key_for(1, element)
}

fn key_for(cost: u64, element: u64) -> u64 {
    add_cost(cost);
    element >> 32
}

impl Instance for Sort {
    fn reset(&mut self) {
        self.values.copy_from_slice(&self.original);
    }

    fn run_sequential(&mut self) -> u64 {
        if self.known.is_stable {
            self.values.sort_by_key(|&element| key(element));
        } else {
            self.values.sort_unstable_by_key(|&element| key(element));
        }
        self.values.len() as u64
    }

    fn run_parallel(&mut self) -> u64 {
        if self.known.is_stable {
            self.values
                .par_sort_by_key(|&element| key_for(STABLE_COST, element));
        } else {
            self.values
                .par_sort_unstable_by_key(|&element| key(element));
        }
        self.values.len() as u64
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.known.check(self.values.iter().copied())
    }
}
