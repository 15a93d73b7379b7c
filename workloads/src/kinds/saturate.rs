//! `saturate`: folds over an array that no cache holds, submitted back to back.
//!
//! Memory bandwidth is the limit, and all workers are busy except between two folds. A sleep
//! protocol should have no effect on this workload, so its time must never regress.

use protocol::Refusal;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::machine::add_moving_cost;
use crate::random::Random;
use crate::workload::{Instance, Mismatch, Setup};

/// Elements of one task: 128 KiB, some 10 us at 10 GB/s. A guess.
const CHUNK: usize = 16 * 1024;

/// Prepares the workload `saturate`.
///
/// # Errors
/// If the workload cannot run with these parameters.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let (elements, folds) = (setup.values.count("elements"), setup.values.count("folds"));
    let mut random = Random::new(setup.seed);
    let mut known = 0_u64;
    let array = std::iter::repeat_with(|| random.word())
        .take(elements)
        .inspect(|word| known = known.wrapping_add(*word))
        .collect();
    Ok(Box::new(Bandwidth {
        array,
        known,
        folds,
        answers: Vec::new(),
    }))
}

struct Bandwidth {
    array: Vec<u64>,
    /// The array's sum, computed while the array was filled.
    known: u64,
    folds: usize,
    answers: Vec<u64>,
}

fn sum(words: &[u64]) -> u64 {
    add_moving_cost(words.len() as u64, size_of_val(words) as u64);
    words.iter().fold(0, |sum, word| sum.wrapping_add(*word))
}

impl Bandwidth {
    fn run(&mut self, fold: impl Fn(&[u64]) -> u64) -> u64 {
        for _ in 0..self.folds {
            self.answers.push(fold(&self.array));
        }
        (self.folds * self.array.len()) as u64
    }
}

impl Instance for Bandwidth {
    fn reset(&mut self) {
        self.answers.clear();
        self.answers.reserve(self.folds);
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(|array| std::hint::black_box(sum(array)))
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        self.run(|array| {
            pool.install(|| {
                array
                    .par_chunks(CHUNK)
                    .map(sum)
                    .reduce(|| 0, u64::wrapping_add)
            })
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe =
            |right: usize, folds: usize| format!("{right} of {folds} sums are {:016x}", self.known);
        let right = self
            .answers
            .iter()
            .filter(|&&answer| answer == self.known)
            .count();
        Mismatch::unless_equal(
            &describe(self.folds, self.folds),
            &describe(right, self.answers.len()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_and_a_missing_sum_are_rejected() {
        for (answers, is_right) in [
            (vec![6, 6], true),
            (vec![6, 5], false),
            (vec![6], false),
            (vec![6; 3], false),
        ] {
            let mut bandwidth = Bandwidth {
                array: vec![1, 2, 3],
                known: 6,
                folds: 2,
                answers,
            };
            assert_eq!(
                bandwidth.check().is_ok(),
                is_right,
                "{:?}",
                bandwidth.answers
            );
        }
    }
}
