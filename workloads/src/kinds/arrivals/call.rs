//! Small installs, one after the other: the submitter waits for each install.

use rayon::ThreadPool;

use crate::kinds::pacing::{chain, chains};
use crate::kinds::series::{Request, Run};
use crate::workload::Mismatch;

/// Returns the text of an answer, given the number of installs and their sum.
type Describe = fn(usize, u64) -> String;

pub(super) fn sum(_: usize, sum: u64) -> String {
    format!("{sum:x}")
}

pub(super) fn installs(installs: usize, sum: u64) -> String {
    format!("{installs} installs add up to {sum:016x}")
}

pub(super) struct Call {
    first_seed: u64,
    steps: u64,
    known: u64,
    sum: u64,
    describe: Describe,
}

impl Call {
    pub(super) fn new(first_seed: u64, installs: u64, steps: u64, describe: Describe) -> Self {
        let seeds = (0..installs).map(|number| first_seed.wrapping_add(number));
        Self {
            first_seed,
            steps,
            known: chains(seeds, steps),
            sum: 0,
            describe,
        }
    }
}

impl Request for Call {
    fn begin_run(&mut self, _: usize) {
        self.sum = 0;
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        run.wait_for_each(|number, _| {
            let (seed, steps) = (self.first_seed.wrapping_add(number as u64), self.steps);
            let word = match pool {
                Some(pool) => pool.install(|| chain(seed, steps)),
                None => chain(seed, steps),
            };
            self.sum = self.sum.wrapping_add(word);
        });
    }

    fn check(&mut self, installs: usize) -> Result<String, Mismatch> {
        let [known, actual] = [self.known, self.sum].map(|sum| (self.describe)(installs, sum));
        Mismatch::unless_equal(&known, &actual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::series::tests::rejects;

    #[test]
    fn a_wrong_sum_is_rejected_however_it_is_described() {
        for describe in [sum, installs] {
            rejects(Call::new(1, 3, 2, describe), &[&|call| call.sum ^= 1]);
        }
    }

    #[test]
    fn calls_of_two_submitters_do_other_work() {
        let [one, other] = [1, 4].map(|first_seed| Call::new(first_seed, 3, 1, sum).known);
        assert_ne!(one, other);
    }
}
