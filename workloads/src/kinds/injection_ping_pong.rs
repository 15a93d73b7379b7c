//! `injection-ping-pong`: a thread outside the pool spawns one job, waits for its answer, and after
//! a short random gap spawns the next.
//!
//! With one job in flight every spawn finds the workers searching, dozing off or asleep. In a pool
//! of one thread nobody else can come to the rescue: a wake-up that gets lost is a hang.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::thread;
use std::time::Duration;

use protocol::{Metric, Refusal};
use rayon::ThreadPool;

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, call_after_gaps};
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `injection-ping-pong`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let longest = Duration::from_micros(setup.values.whole("gap-us"));
    Ok(Box::new(PingPong {
        jobs: setup.values.count("jobs"),
        gaps: Gaps::up_to(setup.seed, longest),
        table: Arc::new(Table::default()),
        latencies: Latencies::new("latency"),
    }))
}

struct PingPong {
    jobs: usize,
    gaps: Gaps,
    table: Arc<Table>,
    latencies: Latencies,
}

/// Where jobs leave their answers.
#[derive(Default)]
struct Table {
    /// Number of the last job that answered, counted from 1.
    last: AtomicU64,
    /// The answers added up: 1 + 2 + … of the jobs.
    sum: AtomicU64,
}

impl Table {
    fn answer(&self, number: u64) {
        self.sum.fetch_add(number, Relaxed);
        // ORDERING: Release, pairs with the Acquire in `wait_for`. Who saw the last answer goes on
        // to read the sum, which must then have it.
        self.last.store(number, Release);
    }

    fn wait_for(&self, number: u64) {
        // ORDERING: Acquire, pairs with the Release in `answer`.
        while self.last.load(Acquire) != number {
            // The job unparks this thread after its answer, so none is missed.
            thread::park();
        }
    }
}

impl Instance for PingPong {
    fn reset(&mut self) {
        // Anew, since a job may still hold the old one after its answer.
        self.table = Arc::new(Table::default());
        self.latencies.begin_run(self.jobs);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
    }

    fn run_sequential(&mut self) -> u64 {
        let Self {
            jobs,
            gaps,
            table,
            latencies,
        } = self;
        call_after_gaps(*jobs, gaps, latencies, |number| {
            let number = number as u64 + 1;
            table.answer(number);
            table.wait_for(number);
        })
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let Self {
            jobs,
            gaps,
            table,
            latencies,
        } = self;
        let outside = thread::current();
        call_after_gaps(*jobs, gaps, latencies, |number| {
            let number = number as u64 + 1;
            let (table_of_job, outside) = (Arc::clone(table), outside.clone());
            pool.spawn(move || {
                table_of_job.answer(number);
                outside.unpark();
            });
            table.wait_for(number);
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.latencies.end_run();
        let jobs = self.jobs as u64;
        let describe = |sum: u64| format!("the numbers of {jobs} jobs add up to {sum}");
        let known = jobs * (jobs + 1) / 2;
        Mismatch::unless_equal(&describe(known), &describe(self.table.sum.load(Relaxed)))
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        self.latencies.metrics().into_iter().collect()
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
            let mut ping_pong = PingPong {
                jobs: 3,
                gaps: Gaps::up_to(1, Duration::ZERO),
                table: Arc::new(Table::default()),
                latencies: Latencies::new("latency"),
            };
            for &number in answers {
                ping_pong.table.answer(number);
            }
            assert_eq!(ping_pong.check().is_ok(), is_right, "{answers:?}");
        }
    }
}
