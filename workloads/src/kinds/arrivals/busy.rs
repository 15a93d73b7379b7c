//! Requests to a pool that another external thread keeps busy with one fork-join region after the
//! other.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use protocol::Metric;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::pacing::chain;
use crate::workload::{Instance, Mismatch};

/// Number of tasks in each region, and of steps in each task. A region has some 1 ms of work.
const TASKS: u64 = 64;
const STEPS: u64 = 4_000;

pub(super) struct Busy(pub(super) Box<dyn Instance>);

fn keep_busy(pool: &ThreadPool, is_over: &AtomicBool) {
    // Relaxed: a stale value costs one region more.
    while !is_over.load(Relaxed) {
        pool.install(|| {
            (0..TASKS).into_par_iter().for_each(|seed| {
                black_box(chain(seed, STEPS));
            });
        });
    }
}

impl Instance for Busy {
    fn reset(&mut self) {
        self.0.reset();
    }

    fn forget_warmup(&mut self) {
        self.0.forget_warmup();
    }

    fn run_sequential(&mut self) -> u64 {
        self.0.run_sequential()
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| keep_busy(pool, &is_over));
            let requests = self.0.run_on(pool);
            is_over.store(true, Relaxed);
            requests
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.0.check()
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        self.0.metrics()
    }
}
