//! A fold whose parts count into arrays of their own, as histograms and word counts do.

use rayon::prelude::*;

use crate::kinds::one_number::Problem;
use crate::kinds::sum::shuffled;
use crate::machine::add_cost;
use crate::workload::Setup;

/// Counts the numbers 0, 1, … by their remainders. The more parts a pool makes, the more arrays are
/// filled with zeros, and added up at the end.
pub(super) struct Counting {
    values: Vec<u32>,
    counters: usize,
}

impl Counting {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        Self {
            values: shuffled(setup),
            counters: setup.values.count("counters"),
        }
    }

    fn zeros(&self) -> Vec<u32> {
        add_cost(self.counters as u64);
        vec![0; self.counters]
    }

    fn count(&self, mut counts: Vec<u32>, value: u32) -> Vec<u32> {
        add_cost(1);
        counts[value as usize % self.counters] += 1;
        counts
    }

    fn add(mut sums: Vec<u32>, counts: &[u32]) -> Vec<u32> {
        add_cost(sums.len() as u64);
        for (sum, count) in sums.iter_mut().zip(counts) {
            *sum += count;
        }
        sums
    }
}

/// Returns one number that depends on every count.
fn mixed(counts: impl IntoIterator<Item = u32>) -> u64 {
    let weighed = (1..)
        .zip(counts)
        .map(|(weight, count)| weight * u64::from(count));
    weighed.sum()
}

impl Problem for Counting {
    fn sequential(&self) -> u64 {
        let values = self.values.iter();
        mixed(values.fold(self.zeros(), |counts, &value| self.count(counts, value)))
    }

    fn parallel(&self) -> u64 {
        let values = self.values.par_iter();
        let counts = values.fold(|| self.zeros(), |counts, &value| self.count(counts, value));
        mixed(counts.reduce(|| self.zeros(), |sums, counts| Self::add(sums, &counts)))
    }

    fn known(&self) -> u64 {
        let (each, more) = (
            self.values.len() / self.counters,
            self.values.len() % self.counters,
        );
        let count = |counter| u32::try_from(each + usize::from(counter < more));
        mixed((0..self.counters).map(|counter| count(counter).expect("at most 2^30 elements")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(counters: usize) -> Counting {
        let values = (0..10).rev().collect();
        Counting { values, counters }
    }

    #[test]
    fn all_three_ways_to_count_agree_and_the_answer_depends_on_the_remainders() {
        let answers = [1, 3, 16].map(|counters| {
            let counting = counting(counters);
            assert_eq!(counting.sequential(), counting.known());
            assert_eq!(counting.parallel(), counting.known());
            counting.known()
        });
        assert_eq!(answers, [10, 4 + 2 * 3 + 3 * 3, 55]);
    }

    #[test]
    fn an_element_that_is_left_out_changes_the_answer() {
        let mut counting = counting(3);
        let known = counting.known();
        counting.values.pop();
        assert_ne!(counting.sequential(), known);
    }
}
