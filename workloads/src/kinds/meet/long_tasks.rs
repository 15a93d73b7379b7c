//! `two-long-tasks`: a join of two halves of equal work, by default some 5 ms.
//!
//! With the default, the latency of the join is some 5 ms if an idle worker takes the second half
//! and has a CPU of its own, and otherwise some 10 ms. The work is a number of steps. If each half
//! ran for a given time, two halves that share a CPU would cost less than two on CPUs of their own.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::ThreadPool;

use crate::kinds::pacing::chain;
use crate::kinds::series::{Request, Run};
use crate::workload::{Mismatch, Setup};

pub(super) struct LongTasks {
    seed: u64,
    steps: u64,
    /// The sum of the words of all halves, wrapping.
    sum: AtomicU64,
}

impl LongTasks {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        Self {
            seed: setup.seed,
            steps: setup.values.whole("task-steps"),
            sum: AtomicU64::new(0),
        }
    }

    fn half(&self, number: u64) -> u64 {
        // The first word is odd, because a chain from 0 would stay 0.
        chain((self.seed ^ number << 32) | 1, self.steps)
    }

    fn run_half(&self, number: u64) {
        // Relaxed: the sum is read after the join.
        self.sum.fetch_add(self.half(number), Relaxed);
    }
}

impl Request for LongTasks {
    fn is_inside(&self) -> bool {
        true
    }

    fn begin_run(&mut self, _: usize) {
        *self.sum.get_mut() = 0;
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        run.wait_for_each(|_, _| {
            if pool.is_some() {
                rayon::join(|| self.run_half(0), || self.run_half(1));
            } else {
                self.run_half(0);
                self.run_half(1);
            }
        });
    }

    fn check(&mut self, joins: usize) -> Result<String, Mismatch> {
        let once = self.half(0).wrapping_add(self.half(1));
        let describe = |sum: u64| format!("{joins} joins gave {sum:016x}");
        Mismatch::unless_equal(
            &describe(once.wrapping_mul(joins as u64)),
            &describe(*self.sum.get_mut()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::series::tests::rejects;

    #[test]
    fn a_task_that_was_lost_or_ran_twice_is_rejected() {
        let halves = |first: u64, second: u64| {
            move |it: &mut LongTasks| {
                *it.sum.get_mut() = 0;
                (0..first).for_each(|_| it.run_half(0));
                (0..second).for_each(|_| it.run_half(1));
            }
        };
        let tasks = LongTasks {
            seed: 1,
            steps: 3,
            sum: AtomicU64::new(0),
        };
        rejects(tasks, &[&halves(3, 2), &halves(3, 4), &halves(4, 2)]);
    }
}
