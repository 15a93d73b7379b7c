//! `quicksort`: a sort whose partition is sequential, so that there is little parallelism at first.
//!
//! With parts of equal size, the work is about n log2(n) comparisons, and the span about 2 n. So
//! the parallelism is only about log2(n) / 2. On a large pool most threads are idle, and every
//! wake-up lies on the critical path.

use protocol::Refusal;

use crate::kinds::fingerprint::fingerprint;
use crate::machine::add_cost;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup};

/// Below this length insertion sort is faster. A guess from textbooks (10 to 30).
const INSERTION_LENGTH: usize = 20;

/// The cost of an element in insertion sort, relative to its cost in a partition. A guess.
const INSERTION_COST: u64 = 3;

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let mut random = Random::new(setup.seed);
    let original: Vec<u32> = (0..setup.values.count("elements"))
        .map(|_| (random.word() >> 32) as u32)
        .collect();
    Ok(Box::new(Sort {
        fingerprint: fingerprint(original.iter().copied().map(u64::from)),
        values: original.clone(),
        original,
        cutoff: setup.values.count("cutoff"),
    }))
}

struct Sort {
    original: Vec<u32>,
    fingerprint: u64,
    cutoff: usize,
    values: Vec<u32>,
}

impl Instance for Sort {
    fn reset(&mut self) {
        self.values.copy_from_slice(&self.original);
    }

    fn run_sequential(&mut self) -> u64 {
        sort_sequential(&mut self.values);
        self.values.len() as u64
    }

    fn run_parallel(&mut self) -> u64 {
        sort_parallel(&mut self.values, self.cutoff);
        self.values.len() as u64
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let actual = fingerprint(self.values.iter().copied().map(u64::from));
        let unsorted = self.values.windows(2).position(|pair| pair[0] > pair[1]);
        let describe = |fingerprint: u64, unsorted: Option<usize>| match unsorted {
            None => format!("sorted, contents {fingerprint:016x}"),
            Some(index) => format!("unsorted at index {index}, contents {fingerprint:016x}"),
        };
        Mismatch::unless_equal(
            &describe(self.fingerprint, None),
            &describe(actual, unsorted),
        )
    }
}

fn sort_sequential(values: &mut [u32]) {
    if values.len() <= INSERTION_LENGTH {
        insertion_sort(values);
        return;
    }
    let middle = partition(values);
    let (low, high) = values.split_at_mut(middle);
    sort_sequential(low);
    sort_sequential(high);
}

fn sort_parallel(values: &mut [u32], cutoff: usize) {
    if values.len() <= cutoff.max(INSERTION_LENGTH) {
        sort_sequential(values);
        return;
    }
    let middle = partition(values);
    let (low, high) = values.split_at_mut(middle);
    rayon::join(
        || sort_parallel(low, cutoff),
        || sort_parallel(high, cutoff),
    );
}

/// Reorders `values` so that no element before the returned index is greater than any element from
/// that index on. Both sides are then non-empty. Equal elements are spread over both sides, so that
/// inputs with many equal elements do not take quadratic time. `values` must have at least two
/// elements.
fn partition(values: &mut [u32]) -> usize {
    add_cost(values.len() as u64);
    let pivot = median_of_three(values);
    let (mut left, mut right) = (0, values.len() - 1);
    loop {
        while values[left] < pivot {
            left += 1;
        }
        while values[right] > pivot {
            right -= 1;
        }
        if left >= right {
            // `right` has moved down, either by the first swap or because the median is not the
            // last element. So the upper side is not empty.
            return right + 1;
        }
        values.swap(left, right);
        left += 1;
        right -= 1;
    }
}

/// Orders the first, the middle and the last element, and returns their median.
fn median_of_three(values: &mut [u32]) -> u32 {
    let (middle, last) = ((values.len() - 1) / 2, values.len() - 1);
    for (lower, upper) in [(0, middle), (middle, last), (0, middle)] {
        if values[lower] > values[upper] {
            values.swap(lower, upper);
        }
    }
    values[middle]
}

fn insertion_sort(values: &mut [u32]) {
    add_cost(INSERTION_COST * values.len() as u64);
    for next in 1..values.len() {
        let value = values[next];
        let mut hole = next;
        while hole > 0 && values[hole - 1] > value {
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

    fn sorted(values: &[u32]) -> Vec<u32> {
        let mut expected = values.to_vec();
        expected.sort_unstable();
        expected
    }

    proptest! {
        #[test]
        fn both_programs_sort_as_the_standard_library_does(
            values in prop::collection::vec(0_u32..50, 0..300), cutoff in 1_usize..40
        ) {
            let (mut sequential, mut parallel) = (values.clone(), values.clone());
            sort_sequential(&mut sequential);
            sort_parallel(&mut parallel, cutoff);
            prop_assert_eq!(&sequential, &sorted(&values));
            prop_assert_eq!(&parallel, &sorted(&values));
        }

        #[test]
        fn partition_leaves_neither_side_empty(mut values in prop::collection::vec(0_u32..9, 2..50)) {
            let middle = partition(&mut values);
            prop_assert!(middle > 0 && middle < values.len());
            prop_assert!(values[..middle].iter().max() <= values[middle..].iter().min());
        }
    }

    #[test]
    fn sorted_reversed_and_constant_inputs_are_no_worse_than_random_ones() {
        // If the sort took quadratic time, or its recursion were as deep as the input is long, this
        // test would hang or overflow the stack.
        let length = 200_000;
        for mut values in [
            (0..length).collect::<Vec<u32>>(),
            (0..length).rev().collect(),
            vec![7; length as usize],
        ] {
            let expected = sorted(&values);
            sort_sequential(&mut values);
            assert_eq!(values, expected);
        }
    }

    #[test]
    fn an_unsorted_answer_and_one_with_other_contents_are_rejected() {
        let is_accepted = |values: [u32; 4]| {
            let sort = Sort {
                original: Vec::new(),
                fingerprint: fingerprint([3, 1, 2, 2].into_iter()),
                cutoff: 1,
                values: values.to_vec(),
            };
            { sort }.check().is_ok()
        };
        assert!(is_accepted([1, 2, 2, 3]));
        assert!(!is_accepted([1, 2, 3, 2]));
        assert!(!is_accepted([1, 2, 3, 3]));
    }
}
