//! `fib-join`: the naive Fibonacci recursion, one join per addition. The program measures the cost
//! of a join.
//!
//! This workload is the most sensitive to one more atomic operation in a push. At each size, the
//! parallel program takes the nominal time on one thread; the sequential program is six times
//! faster.

use protocol::Refusal;

use crate::kinds::one_number::{OneNumber, Problem};
use crate::machine::add_cost;
use crate::workload::{Instance, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(OneNumber::new(Fibonacci(setup.values.whole("n")))))
}

struct Fibonacci(u64);

impl Problem for Fibonacci {
    fn sequential(&self) -> u64 {
        recurse(self.0)
    }

    fn parallel(&self) -> u64 {
        recurse_with_join(self.0)
    }

    fn work_units(&self) -> u64 {
        2 * iterate(self.0 + 1) - 1
    }

    fn known(&self) -> u64 {
        iterate(self.0)
    }
}

fn recurse(n: u64) -> u64 {
    add_cost(1);
    if n < 2 {
        n
    } else {
        recurse(n - 1) + recurse(n - 2)
    }
}

fn recurse_with_join(n: u64) -> u64 {
    add_cost(1);
    if n < 2 {
        return n;
    }
    let (one_less, two_less) =
        rayon::join(|| recurse_with_join(n - 1), || recurse_with_join(n - 2));
    one_less + two_less
}

/// Computes the number by a loop of `n` additions, instead of the recursion.
fn iterate(n: u64) -> u64 {
    (0..n)
        .fold((0, 1), |(current, next), _| (next, current + next))
        .0
}
