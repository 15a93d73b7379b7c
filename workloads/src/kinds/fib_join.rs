//! `fib-join`: the naive Fibonacci recursion, one join per addition; nothing but the cost of join
//! itself.
//!
//! Work is about 1.6^n calls, the span n, so the parallelism is practically unlimited. Two branches
//! whose push costs differ by one atomic operation differ here first. Its sizes are set so that the
//! *parallel* program takes the nominal time on one thread; the sequential one is six times faster.

use std::hint::black_box;

use protocol::Refusal;

use crate::machine::charge;
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `fib-join`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(Fibonacci {
        n: setup.values.whole("n"),
        answer: None,
    }))
}

struct Fibonacci {
    n: u64,
    answer: Option<u64>,
}

impl Instance for Fibonacci {
    fn reset(&mut self) {
        self.answer = None;
    }

    fn run_sequential(&mut self) -> u64 {
        // Hidden from the optimiser, which could otherwise specialise the recursion for this n.
        self.answer = Some(recurse(black_box(self.n)));
        calls(self.n)
    }

    fn run_parallel(&mut self) -> u64 {
        self.answer = Some(recurse_with_join(black_box(self.n)));
        calls(self.n)
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let actual = self
            .answer
            .map_or_else(|| "none".to_owned(), |answer| answer.to_string());
        Mismatch::unless_equal(&iterate(self.n).to_string(), &actual)
    }
}

fn recurse(n: u64) -> u64 {
    charge(1);
    if n < 2 {
        n
    } else {
        recurse(n - 1) + recurse(n - 2)
    }
}

fn recurse_with_join(n: u64) -> u64 {
    charge(1);
    if n < 2 {
        return n;
    }
    let (one_less, two_less) =
        rayon::join(|| recurse_with_join(n - 1), || recurse_with_join(n - 2));
    one_less + two_less
}

/// The known answer: n additions instead of a tree of them.
fn iterate(n: u64) -> u64 {
    (0..n)
        .fold((0, 1), |(current, next), _| (next, current + next))
        .0
}

fn calls(n: u64) -> u64 {
    2 * iterate(n + 1) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_iteration_gives_the_published_fibonacci_numbers() {
        assert_eq!(
            [0, 1, 2, 10, 60].map(iterate),
            [0, 1, 1, 55, 1_548_008_755_920]
        );
    }

    #[test]
    fn the_number_of_calls_is_that_of_the_recursion() {
        fn count(n: u64) -> u64 {
            if n < 2 {
                1
            } else {
                1 + count(n - 1) + count(n - 2)
            }
        }
        for n in 0..15 {
            assert_eq!(calls(n), count(n));
        }
    }

    #[test]
    fn a_wrong_or_missing_answer_is_rejected() {
        assert!(
            Fibonacci {
                n: 10,
                answer: Some(55)
            }
            .check()
            .is_ok()
        );
        assert!(
            Fibonacci {
                n: 10,
                answer: Some(54)
            }
            .check()
            .is_err()
        );
        assert!(
            Fibonacci {
                n: 10,
                answer: None
            }
            .check()
            .is_err()
        );
    }
}
