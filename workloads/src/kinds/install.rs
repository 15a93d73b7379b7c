//! `install`: small installs from outside, into a pool that is idle or into one that is busy.
//!
//! Into an idle pool, an install is a wake-up there and a wake-up back; gaps let the workers fall
//! asleep. Into a busy pool (another thread outside keeps it summing an array in parallel), it
//! waits for a worker that finds nothing of its own any more. With an open load they are requests
//! to a server beside that batch: each comes when it is due, whatever is under way, and nobody
//! waits for it.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::latency::Latencies;
use crate::kinds::moments::Moments;
use crate::kinds::pacing::{Gaps, call_after_gaps, chain, chains, sleep_until};
use crate::workload::{Instance, Mismatch, Setup};

/// The busy pool's load: so many tasks of so many steps in each region, some 1 ms in all.
const BUSY_TASKS: u64 = 64;
const BUSY_STEPS: u64 = 4_000;

/// Prepares the workload `install`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    let is_pool_busy = values.word("pool") == "busy";
    let longest = Duration::from_micros(values.whole("gap-us"));
    Ok(Box::new(Visits::new(
        is_pool_busy,
        values.word("load") == "open",
        values.count("installs"),
        values.whole("job-steps"),
        Gaps::up_to(setup.seed, longest),
    )))
}

struct Visits {
    is_pool_busy: bool,
    is_open: bool,
    installs: usize,
    job_steps: u64,
    gaps: Gaps,
    known: u64,
    sum: AtomicU64,
    /// When each request was answered, if the load is open.
    answered: Moments,
    latencies: Latencies,
    /// From when a request was due to when it was spawned.
    lateness: Latencies,
    /// What the pool did meanwhile, and for how long.
    regions: u64,
    busy: Duration,
}

/// One of an open load.
struct Request<'a> {
    number: usize,
    due: Instant,
    steps: u64,
    sum: &'a AtomicU64,
    answered: &'a Moments,
}

impl Request<'_> {
    fn answer(self) {
        // Relaxed: read when all requests have been answered.
        self.sum
            .fetch_add(chain(self.number as u64, self.steps), Relaxed);
        self.answered.note(self.number, self.due);
    }
}

impl Visits {
    fn new(is_pool_busy: bool, is_open: bool, installs: usize, job_steps: u64, gaps: Gaps) -> Self {
        Self {
            is_pool_busy,
            is_open,
            installs,
            job_steps,
            gaps,
            known: chains(0..installs as u64, job_steps),
            sum: AtomicU64::new(0),
            answered: Moments::default(),
            latencies: Latencies::new("latency"),
            lateness: Latencies::new("lateness"),
            regions: 0,
            busy: Duration::ZERO,
        }
    }

    /// One after the other.
    fn call(&mut self, install: impl Fn(u64, u64) -> u64) -> u64 {
        let Self {
            installs,
            job_steps,
            gaps,
            sum,
            latencies,
            ..
        } = self;
        let sum = sum.get_mut();
        call_after_gaps(*installs, gaps, latencies, |number| {
            *sum = sum.wrapping_add(install(number as u64, *job_steps));
        })
    }

    /// Hands on each request when it is due.
    fn send<'a>(&'a mut self, mut hand_on: impl FnMut(Request<'a>)) -> u64 {
        let Self {
            installs,
            job_steps,
            gaps,
            sum,
            answered,
            lateness,
            ..
        } = self;
        let mut due = Instant::now();
        for (number, gap) in (0..*installs).zip(gaps.iter()) {
            due += gap;
            sleep_until(due);
            lateness.note(due.elapsed());
            hand_on(Request {
                number,
                due,
                steps: *job_steps,
                sum,
                answered,
            });
        }
        *installs as u64
    }

    fn visit(&mut self, pool: &ThreadPool) -> u64 {
        if self.is_open {
            // Ends with the last answer; this thread stays outside the pool.
            let visits = self;
            pool.in_place_scope(move |scope| {
                visits.send(|request| scope.spawn(|_| request.answer()))
            })
        } else {
            self.call(|seed, steps| pool.install(|| chain(seed, steps)))
        }
    }
}

/// Keeps the pool busy, one parallel region after the other, until told to stop; returns how many
/// there were.
fn keep_busy(pool: &ThreadPool, is_over: &AtomicBool) -> u64 {
    let mut regions = 0;
    // Relaxed: an old value costs one region more, and nothing else hangs on it.
    while !is_over.load(Relaxed) {
        pool.install(|| {
            (0..BUSY_TASKS).into_par_iter().for_each(|seed| {
                black_box(chain(seed, BUSY_STEPS));
            });
        });
        regions += 1;
    }
    regions
}

impl Instance for Visits {
    fn reset(&mut self) {
        *self.sum.get_mut() = 0;
        self.answered
            .begin_run(if self.is_open { self.installs } else { 0 });
        self.latencies.begin_run(self.installs);
        self.lateness.begin_run(self.installs);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
        self.lateness.forget();
        (self.regions, self.busy) = (0, Duration::ZERO);
    }

    fn run_sequential(&mut self) -> u64 {
        if self.is_open {
            self.send(Request::answer)
        } else {
            self.call(chain)
        }
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        if !self.is_pool_busy {
            return self.visit(pool);
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let begun = Instant::now();
            let batch = scope.spawn(|| keep_busy(pool, &is_over));
            let installs = self.visit(pool);
            is_over.store(true, Relaxed);
            self.regions += batch.join().expect("chains do not panic");
            self.busy += begun.elapsed();
            installs
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.answered
            .noted()
            .for_each(|latency| self.latencies.note(latency));
        self.latencies.end_run();
        self.lateness.end_run();
        let describe = |sum: u64| format!("{} installs add up to {sum:016x}", self.installs);
        Mismatch::unless_equal(&describe(self.known), &describe(*self.sum.get_mut()))
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let batch = (!self.busy.is_zero()).then(|| {
            let value = self.regions as f64 / self.busy.as_secs_f64();
            (
                "batch_per_second".to_owned(),
                Metric {
                    value,
                    unit: "regions/s".to_owned(),
                },
            )
        });
        self.latencies
            .metrics()
            .into_iter()
            .chain(self.lateness.metrics())
            .chain(batch)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn visits(is_open: bool) -> Visits {
        Visits::new(false, is_open, 3, 1, Gaps::up_to(1, Duration::ZERO))
    }

    #[test]
    fn a_wrong_sum_is_rejected() {
        for is_open in [false, true] {
            let mut visits = visits(is_open);
            assert!(visits.check().is_err(), "nothing ran");
            visits.reset();
            visits.run_sequential();
            assert!(visits.check().is_ok());
            *visits.sum.get_mut() ^= 1;
            assert!(visits.check().is_err());
        }
    }

    #[test]
    fn a_request_of_an_open_load_that_waits_for_another_is_charged_with_it() {
        let mut visits = visits(true);
        visits.reset();
        visits.send(|request| {
            thread::sleep(Duration::from_millis(11));
            request.answer();
        });
        visits.check().unwrap();
        let metrics = visits.metrics();
        assert!(
            (metrics["latency_over_10ms"].value - 3.0).abs() < f64::EPSILON,
            "{metrics:?}"
        );
        // The third was due at once, and its turn came when the other two were done.
        assert!(metrics["latency_max"].value > 30e6, "{metrics:?}");
        assert!(
            (metrics["lateness_over_10ms"].value - 2.0).abs() < f64::EPSILON,
            "{metrics:?}"
        );
    }
}
