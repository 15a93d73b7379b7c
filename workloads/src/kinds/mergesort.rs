//! `mergesort`: a stable sort that sorts the halves by joins, and also merges by joins.
//!
//! There is ample parallelism, in tasks of very different sizes, and more memory traffic than in
//! `quicksort`.

use protocol::Refusal;

use crate::kinds::sorted::Sorted;
use crate::machine::add_cost;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup};

/// Below this length insertion sort is faster. A guess from textbooks (10 to 30).
const INSERTION_LENGTH: usize = 20;

/// The cost of an element that insertion sort places, in units; merging an element costs 1 unit. A
/// guess.
const INSERTION_COST: u64 = 4;

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let elements = setup.values.whole("elements");
    let original: Vec<u64> = Random::new(setup.seed)
        .keys_with_positions(elements)
        .collect();
    Ok(Box::new(Sort {
        known: Sorted::of("sorted and stable", original.iter().copied(), true),
        values: original.clone(),
        scratch: original.clone(),
        original,
        cutoff: setup.values.count("cutoff"),
    }))
}

fn key(element: u64) -> u64 {
    element >> 32
}

struct Sort {
    original: Vec<u64>,
    known: Sorted,
    cutoff: usize,
    values: Vec<u64>,
    scratch: Vec<u64>,
}

impl Instance for Sort {
    fn reset(&mut self) {
        self.values.copy_from_slice(&self.original);
    }

    fn run_sequential(&mut self) -> u64 {
        sort_sequential(&mut self.values, &mut self.scratch, Target::Values);
        self.values.len() as u64
    }

    fn run_parallel(&mut self) -> u64 {
        sort_parallel(
            &mut self.values,
            &mut self.scratch,
            Target::Values,
            self.cutoff,
        );
        self.values.len() as u64
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.known.check(self.values.iter().copied())
    }
}

/// Which of the two buffers gets the sorted elements. The target alternates from level to level, so
/// that a merge never has to copy back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Target {
    Values,
    Scratch,
}

impl Target {
    fn other(self) -> Self {
        match self {
            Self::Values => Self::Scratch,
            Self::Scratch => Self::Values,
        }
    }
}

fn sort_sequential(values: &mut [u64], scratch: &mut [u64], target: Target) {
    if values.len() <= INSERTION_LENGTH {
        insertion_sort(values);
        if target == Target::Scratch {
            scratch.copy_from_slice(values);
        }
        return;
    }
    let middle = values.len() / 2;
    let (values_low, values_high) = values.split_at_mut(middle);
    let (scratch_low, scratch_high) = scratch.split_at_mut(middle);
    sort_sequential(values_low, scratch_low, target.other());
    sort_sequential(values_high, scratch_high, target.other());
    match target {
        Target::Values => merge_sequential(scratch_low, scratch_high, values),
        Target::Scratch => merge_sequential(values_low, values_high, scratch),
    }
}

fn sort_parallel(values: &mut [u64], scratch: &mut [u64], target: Target, cutoff: usize) {
    if values.len() <= cutoff.max(INSERTION_LENGTH) {
        sort_sequential(values, scratch, target);
        return;
    }
    let middle = values.len() / 2;
    let (values_low, values_high) = values.split_at_mut(middle);
    let (scratch_low, scratch_high) = scratch.split_at_mut(middle);
    rayon::join(
        || sort_parallel(values_low, scratch_low, target.other(), cutoff),
        || sort_parallel(values_high, scratch_high, target.other(), cutoff),
    );
    match target {
        Target::Values => merge_parallel(scratch_low, scratch_high, values, cutoff),
        Target::Scratch => merge_parallel(values_low, values_high, scratch, cutoff),
    }
}

/// Among equal keys, those of `low` come first.
fn merge_sequential(low: &[u64], high: &[u64], merged: &mut [u64]) {
    add_cost(merged.len() as u64);
    let (mut of_low, mut of_high) = (0, 0);
    while of_low < low.len() && of_high < high.len() {
        // The code selects the element without a branch, because the processor could not predict
        // the branch.
        let takes_low = key(low[of_low]) <= key(high[of_high]);
        merged[of_low + of_high] = if takes_low {
            low[of_low]
        } else {
            high[of_high]
        };
        of_low += usize::from(takes_low);
        of_high += usize::from(!takes_low);
    }
    let rest = &mut merged[of_low + of_high..];
    let (rest_of_low, rest_of_high) = rest.split_at_mut(low.len() - of_low);
    rest_of_low.copy_from_slice(&low[of_low..]);
    rest_of_high.copy_from_slice(&high[of_high..]);
}

/// Cuts the longer input in half and the other input at the same key, and merges the two parts in
/// parallel.
fn merge_parallel(low: &[u64], high: &[u64], merged: &mut [u64], cutoff: usize) {
    if merged.len() <= cutoff.max(2) {
        merge_sequential(low, high, merged);
        return;
    }
    let (low_middle, high_middle) = if low.len() >= high.len() {
        let middle = low.len() / 2;
        // Equal keys of `high` follow those of `low`, so the cut in `high` is before them.
        (
            middle,
            high.partition_point(|&element| key(element) < key(low[middle])),
        )
    } else {
        let middle = high.len() / 2;
        (
            low.partition_point(|&element| key(element) <= key(high[middle])),
            middle,
        )
    };
    let (merged_low, merged_high) = merged.split_at_mut(low_middle + high_middle);
    rayon::join(
        || merge_parallel(&low[..low_middle], &high[..high_middle], merged_low, cutoff),
        || {
            merge_parallel(
                &low[low_middle..],
                &high[high_middle..],
                merged_high,
                cutoff,
            );
        },
    );
}

fn insertion_sort(values: &mut [u64]) {
    add_cost(INSERTION_COST * values.len() as u64);
    for next in 1..values.len() {
        let value = values[next];
        let mut hole = next;
        while hole > 0 && key(values[hole - 1]) > key(value) {
            values[hole] = values[hole - 1];
            hole -= 1;
        }
        values[hole] = value;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn both_programs_sort_as_the_standard_stable_sort_does(
            keys in prop::collection::vec(0_u64..20, 0..300), cutoff in 1_usize..40
        ) {
            let original: Vec<u64> = (0..).zip(keys).map(|(at, key)| key << 32 | at).collect();
            let mut expected = original.clone();
            expected.sort_by_key(|&element| key(element));
            let (mut sequential, mut parallel) = (original.clone(), original.clone());
            let mut scratch = original;
            sort_sequential(&mut sequential, &mut scratch, Target::Values);
            sort_parallel(&mut parallel, &mut scratch, Target::Values, cutoff);
            prop_assert_eq!(&sequential, &expected);
            prop_assert_eq!(&parallel, &expected);
        }
    }
}
