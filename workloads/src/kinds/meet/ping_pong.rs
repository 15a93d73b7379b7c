//! `injection-ping-pong`: an external thread spawns one job, and waits for its answer.
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

use crate::kinds::series::{Request, Run};
use crate::workload::Mismatch;

#[derive(Default)]
pub(super) struct PingPong {
    table: Arc<Table>,
}

#[derive(Default)]
struct Table {
    /// The last job that answered, counted from 1.
    last: AtomicU64,
    /// The sum of the answers: 1 + 2 + … of the jobs.
    sum: AtomicU64,
}

impl Table {
    fn answer(&self, number: u64) {
        self.sum.fetch_add(number, Relaxed);
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
            let number = number as u64 + 1;
            if let Some(pool) = pool {
                let (table, outside) = (Arc::clone(&self.table), thread::current());
                pool.spawn(move || {
                    table.answer(number);
                    outside.unpark();
                });
            } else {
                self.table.answer(number);
            }
            self.table.wait_for(number);
        });
    }

    fn check(&mut self, jobs: usize) -> Result<String, Mismatch> {
        let jobs = jobs as u64;
        let describe = |sum: u64| format!("the numbers of {jobs} jobs add up to {sum}");
        let known = jobs * (jobs + 1) / 2;
        Mismatch::unless_equal(&describe(known), &describe(self.table.sum.load(Relaxed)))
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
            let mut ping_pong = PingPong::default();
            for &number in answers {
                ping_pong.table.answer(number);
            }
            assert_eq!(ping_pong.check(3).is_ok(), is_right, "{answers:?}");
        }
    }
}
