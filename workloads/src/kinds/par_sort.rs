//! `par-sort`: the facade's own parallel sorts.
//!
//! What most programs use when they sort: the algorithm is the library's, so that what differs
//! between branches is the pool beneath it.

use protocol::{Description, Parameter, Refusal, SizeOverrides};
use rayon::prelude::*;

use crate::kinds::fingerprint::fingerprint;
use crate::machine::charge;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "par-sort",
    summary: "the facade's stable or unstable parallel sort of random keys with positions",
    stresses: "a library's recursive joins with its own cutoffs, memory traffic",
    work_unit: "elements",
    input: None,
    lasts: None,
    charge: Some("par-sort"),
    parameters: &[
        // A position has 32 bits.
        Parameter::whole("elements", "elements of 8 bytes to sort", (1, 1 << 30), "4000"),
        Parameter::one_of("sort", "which of the two sorts", &["stable", "unstable"], "stable"),
    ],
    sizes: &SizeOverrides::all(
        &[],
        &[("elements", "1000000")],
        &[("elements", "10000000")],
        &[("elements", "50000000")],
    ),
};

/// The workload `par-sort`.
#[derive(Clone, Copy, Debug)]
pub struct ParSort;

impl Workload for ParSort {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let elements = setup.values.whole("elements");
        let original: Vec<u64> = Random::new(setup.seed).keys_with_positions(elements).collect();
        Ok(Box::new(Sort {
            fingerprint: fingerprint(original.iter().copied()),
            values: original.clone(),
            original,
            is_stable: setup.values.word("sort") == "stable",
        }))
    }
}

/// Key in the upper half of an element, position in the input in the lower. As every stable sort
/// puts equal keys in the order of their positions, its result is ascending in the whole word.
struct Sort {
    original: Vec<u64>,
    fingerprint: u64,
    is_stable: bool,
    values: Vec<u64>,
}

/// Charges of a key in the facade's stable sort. In the sequential one, another algorithm, a key is one charge. Measured
/// with one thread: 2.2 to 3.1, the less the busier the host. Unstable sorts are near one.
const STABLE_COST: u64 = 3;

fn key(element: u64) -> u64 {
    key_for(1, element)
}

fn key_for(cost: u64, element: u64) -> u64 {
    charge(cost);
    element >> 32
}

impl Instance for Sort {
    fn reset(&mut self) {
        self.values.copy_from_slice(&self.original);
    }

    fn run_sequential(&mut self) -> u64 {
        if self.is_stable {
            self.values.sort_by_key(|&element| key(element));
        } else {
            self.values.sort_unstable_by_key(|&element| key(element));
        }
        self.values.len() as u64
    }

    fn run_parallel(&mut self) -> u64 {
        if self.is_stable {
            self.values.par_sort_by_key(|&element| key_for(STABLE_COST, element));
        } else {
            self.values.par_sort_unstable_by_key(|&element| key(element));
        }
        self.values.len() as u64
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let are_in_order = |low: u64, high: u64| {
            if self.is_stable { low < high } else { key(low) <= key(high) }
        };
        let contents = |fingerprint| format!("contents {fingerprint:016x}");
        let expected = format!("sorted, {}", contents(self.fingerprint));
        let actual = contents(fingerprint(self.values.iter().copied()));
        let actual = match self.values.windows(2).position(|pair| !are_in_order(pair[0], pair[1])) {
            None => format!("sorted, {actual}"),
            Some(index) => format!("unsorted or unstable at index {index}, {actual}"),
        };
        Mismatch::unless_equal(&expected, &actual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the check accepts these values as the sorted keys 2, 1, 1 with positions 0, 1, 2.
    fn is_accepted(is_stable: bool, values: [u64; 3]) -> bool {
        let original: Vec<u64> = vec![2 << 32, 1 << 32 | 1, 1 << 32 | 2];
        let fingerprint = fingerprint(original.iter().copied());
        Sort { original, fingerprint, is_stable, values: values.to_vec() }.check().is_ok()
    }

    #[test]
    fn only_the_stable_sort_must_keep_the_order_of_equal_keys() {
        let [two, one, other_one] = [2 << 32, 1 << 32 | 1, 1 << 32 | 2];
        assert!(is_accepted(true, [one, other_one, two]));
        assert!(!is_accepted(true, [other_one, one, two]));
        assert!(is_accepted(false, [other_one, one, two]));
    }

    #[test]
    fn unsorted_and_incomplete_answers_are_rejected() {
        let [two, one, other_one] = [2 << 32, 1 << 32 | 1, 1 << 32 | 2];
        for is_stable in [true, false] {
            assert!(!is_accepted(is_stable, [one, two, other_one]), "unsorted");
            assert!(!is_accepted(is_stable, [one, other_one, 9 << 32]), "replaced");
        }
    }
}
