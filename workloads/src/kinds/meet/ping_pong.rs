//! `injection-ping-pong`: an external thread spawns one job, and waits for its answer. With
//! `job-steps`, the job works before it answers.
//!
//! With one job in flight, every spawn finds the workers searching, falling asleep or asleep. In a
//! pool of one thread, the workload hangs after a lost wake-up.

use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;

use rayon::ThreadPool;

use crate::kinds::pacing::{chain, chains};
use crate::kinds::series::{Request, Run};
use crate::workload::{Mismatch, Setup};

pub(super) struct PingPong {
    steps: u64,
    known: u64,
    table: Arc<Table>,
}

impl PingPong {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let values = setup.values;
        Self::of(values.whole("jobs"), values.whole("job-steps"))
    }

    fn of(jobs: u64, steps: u64) -> Self {
        Self {
            steps,
            known: chains(1..=jobs, steps),
            table: Arc::default(),
        }
    }
}

#[derive(Default)]
struct Table {
    /// The last job that answered, counted from 1.
    last: AtomicU64,
    /// The sum of the answers, wrapping. Without work, a job answers with its number.
    sum: AtomicU64,
}

impl Table {
    fn answer(&self, number: u64, steps: u64) {
        self.sum.fetch_add(chain(number, steps), Relaxed);
        // ORDERING: Release, pairs with the Acquire in `wait_for`: a thread that saw the last
        // answer then reads a sum that contains this answer.
        self.last.store(number, Release);
    }

    fn wait_for(&self, number: u64) {
        // ORDERING: Acquire, pairs with the Release in `answer`.
        while self.last.load(Acquire) != number {
            // The job unparks this thread after its answer, so this thread misses no answer.
            thread::park();
        }
    }
}

impl Request for PingPong {
    fn begin_run(&mut self, _: usize) {
        // Creates a new table, because a job may still hold the old table after its answer.
        self.table = Arc::default();
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        run.wait_for_each(|number, _| {
            let (number, steps) = (number as u64 + 1, self.steps);
            if let Some(pool) = pool {
                let (table, outside) = (Arc::clone(&self.table), thread::current());
                pool.spawn(move || {
                    table.answer(number, steps);
                    outside.unpark();
                });
            } else {
                self.table.answer(number, steps);
            }
            self.table.wait_for(number);
        });
    }

    fn check(&mut self, jobs: usize) -> Result<String, Mismatch> {
        let describe = |sum: u64| format!("the answers of {jobs} jobs add up to {sum}");
        let sum = self.table.sum.load(Relaxed);
        Mismatch::unless_equal(&describe(self.known), &describe(sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_and_a_doubled_answer_are_rejected() {
        for (answers, is_right) in [
            (&[1, 2, 3][..], true),
            (&[1, 3], false),
            (&[1, 2, 2, 3], false),
            (&[], false),
        ] {
            for steps in [0, 2] {
                let mut ping_pong = PingPong::of(3, steps);
                for &number in answers {
                    ping_pong.table.answer(number, steps);
                }
                assert_eq!(ping_pong.check(3).is_ok(), is_right, "{answers:?}");
            }
        }
    }
}
