//! The shared part of workloads whose answer is one number that is known beforehand.

use std::hint::black_box;

use rayon::ThreadPool;

use crate::workload::{Instance, Mismatch};

pub(super) trait Problem: Send + Sync {
    fn sequential(&self) -> u64;

    fn parallel(&self) -> u64;

    fn entering(&self, pool: &ThreadPool) -> u64 {
        pool.install(|| self.parallel())
    }

    fn work_units(&self) -> u64 {
        1
    }

    /// The answer, computed differently from both the sequential and the parallel program.
    fn known(&self) -> u64;
}

pub(super) struct OneNumber<P> {
    problem: P,
    known: u64,
    answer: Option<u64>,
}

impl<P: Problem> OneNumber<P> {
    pub(super) fn new(problem: P) -> Self {
        Self {
            known: problem.known(),
            answer: None,
            problem,
        }
    }
}

impl<P: Problem> Instance for OneNumber<P> {
    fn reset(&mut self) {
        self.answer = None;
    }

    fn run_sequential(&mut self) -> u64 {
        // `black_box` hides the problem from the optimiser, which could otherwise compute the
        // answer only once for all iterations.
        self.answer = Some(black_box(&self.problem).sequential());
        self.problem.work_units()
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        self.answer = Some(black_box(&self.problem).entering(pool));
        self.problem.work_units()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let actual = self
            .answer
            .map_or_else(|| "none".to_owned(), |answer| answer.to_string());
        Mismatch::unless_equal(&self.known.to_string(), &actual)
    }
}

/// Adds the results of `repeats` runs of `work`, which the optimiser cannot merge.
pub(super) fn repeat<T: ?Sized>(repeats: u64, input: &T, work: impl Fn(&T) -> u64) -> u64 {
    (0..repeats).map(|_| work(black_box(input))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Six;

    impl Problem for Six {
        fn sequential(&self) -> u64 {
            6
        }

        fn parallel(&self) -> u64 {
            7
        }

        fn work_units(&self) -> u64 {
            1
        }

        fn known(&self) -> u64 {
            6
        }
    }

    #[test]
    fn a_wrong_a_missing_and_a_forgotten_answer_are_rejected() {
        let mut instance = OneNumber::new(Six);
        assert!(instance.check().is_err(), "missing");
        instance.run_sequential();
        assert_eq!(instance.check().unwrap(), "6");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        instance.run_on(&pool.unwrap());
        assert_eq!(instance.check().unwrap_err().actual, "7");
        instance.run_sequential();
        instance.reset();
        assert!(instance.check().is_err(), "forgotten");
    }
}
