//! `map-collect`: computed pairs are collected into a hash map.
//!
//! Computing a pair is cheap. Inserting a pair is expensive, and one thread inserts all pairs, so
//! little of the work scales.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use protocol::Refusal;
use rayon::prelude::*;

use crate::kinds::fingerprint::fingerprint;
use crate::machine::add_cost;
use crate::random::mix;
use crate::workload::{Instance, Mismatch, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(Pairs {
        count: setup.values.whole("pairs"),
        seed: setup.seed,
        map: Map::default(),
    }))
}

/// Hashes with fixed keys; the default hasher draws new keys for each process.
type Map = HashMap<u64, u64, BuildHasherDefault<DefaultHasher>>;

struct Pairs {
    count: u64,
    seed: u64,
    map: Map,
}

/// The cost of inserting a pair in the sequential program, in units. Computing a pair costs 1 unit.
/// A guess.
const INSERTION_COST: u64 = 16;

/// The cost in units of inserting a pair in the parallel program, which first collects a list of
/// vectors. Computed from the times of one thread and of the sequential program in sweep
/// 2026-11-23T015755Z.
const COLLECTED_COST: u64 = 22;

/// Different indices give different keys, because mixing is a bijection.
fn pair(seed: u64, index: u64) -> (u64, u64) {
    add_cost(1);
    (mix(seed ^ mix(index)), index)
}

fn collect(seed: u64, count: u64) -> Map {
    let map = (0..count)
        .into_par_iter()
        .map(|index| pair(seed, index))
        .collect();
    add_cost(COLLECTED_COST * count);
    map
}

impl Instance for Pairs {
    fn reset(&mut self) {
        self.map = Map::default();
    }

    fn run_sequential(&mut self) -> u64 {
        self.map = (0..self.count)
            .map(|index| pair(self.seed, index))
            .collect();
        add_cost(INSERTION_COST * self.count);
        self.count
    }

    fn run_parallel(&mut self) -> u64 {
        self.map = collect(self.seed, self.count);
        self.count
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe =
            |pairs: u64, fingerprint| format!("{pairs} pairs, contents {fingerprint:016x}");
        let expected = fingerprint((0..self.count).map(|index| word(pair(self.seed, index))));
        let actual = fingerprint(self.map.iter().map(|(&key, &value)| word((key, value))));
        Mismatch::unless_equal(
            &describe(self.count, expected),
            &describe(self.map.len() as u64, actual),
        )
    }
}

fn word((key, value): (u64, u64)) -> u64 {
    key ^ mix(value.wrapping_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_pair_and_a_wrong_value_are_rejected() {
        let mut pairs = Pairs {
            count: 100,
            seed: 3,
            map: collect(3, 100),
        };
        assert!(pairs.check().is_ok());
        let (key, value) = pair(3, 50);
        pairs.map.insert(key, value + 1);
        assert!(pairs.check().is_err(), "wrong");
        pairs.map.remove(&key);
        assert!(pairs.check().is_err(), "missing");
    }
}
