//! Keeps the pool busy meanwhile: another external thread runs one fork-join region after the
//! other.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use protocol::Metric;
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::pacing::chain;
use crate::workload::{Instance, Mismatch};

/// Tasks of each region, and steps of each task: some 1 ms together.
const TASKS: u64 = 64;
const STEPS: u64 = 4_000;

pub(super) struct Busy {
    requests: Box<dyn Instance>,
    /// The regions that the pool ran meanwhile, and their total time.
    regions: u64,
    elapsed: Duration,
}

impl Busy {
    pub(super) fn new(requests: Box<dyn Instance>) -> Self {
        Self {
            requests,
            regions: 0,
            elapsed: Duration::ZERO,
        }
    }
}

/// Runs regions until the flag stops it; returns their number.
fn keep_busy(pool: &ThreadPool, is_over: &AtomicBool) -> u64 {
    let mut regions = 0;
    // Relaxed: an old value costs one region more.
    while !is_over.load(Relaxed) {
        pool.install(|| {
            (0..TASKS).into_par_iter().for_each(|seed| {
                black_box(chain(seed, STEPS));
            });
        });
        regions += 1;
    }
    regions
}

impl Instance for Busy {
    fn reset(&mut self) {
        self.requests.reset();
    }

    fn forget_warmup(&mut self) {
        self.requests.forget_warmup();
        (self.regions, self.elapsed) = (0, Duration::ZERO);
    }

    fn run_sequential(&mut self) -> u64 {
        self.requests.run_sequential()
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let begun = Instant::now();
            let batch = scope.spawn(|| keep_busy(pool, &is_over));
            let requests = self.requests.run_on(pool);
            is_over.store(true, Relaxed);
            self.regions += batch.join().expect("chains do not panic");
            self.elapsed += begun.elapsed();
            requests
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.requests.check()
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let mut metrics = self.requests.metrics();
        if !self.elapsed.is_zero() {
            let batch = Metric {
                value: self.regions as f64 / self.elapsed.as_secs_f64(),
                unit: "regions/s".to_owned(),
            };
            metrics.insert("batch_per_second".to_owned(), batch);
        }
        metrics
    }
}
