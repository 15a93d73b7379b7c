//! `install`: small installs from outside, into a pool that is idle or into one that is busy.
//!
//! Into an idle pool, an install is a wake-up there and a wake-up back; gaps let the workers fall
//! asleep. Into a busy pool (another thread outside keeps it summing an array in parallel), it waits
//! for a worker that finds nothing of its own any more.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use protocol::{
    Description, Lasts, Metric, Parameter, Refusal, Size, SizeOverrides, Term, TimeUnit,
};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, call_after_gaps, chain, chains};
use crate::machine::atomic::{AtomicBool, Ordering::Relaxed};
use crate::machine::{check_cores, thread};
use crate::workload::{Instance, Mismatch, Setup, Workload};

/// The busy pool's load: so many tasks of so many steps in each region, some 1 ms in all.
const BUSY_TASKS: u64 = 64;
const BUSY_STEPS: u64 = 4_000;

static DESCRIPTION: Description = Description {
    name: "install",
    summary: "small installs from outside, into an idle or a busy pool",
    stresses: "the way into a pool and back; figure of merit: latency",
    work_unit: "installs",
    input: None,
    lasts: Some(Lasts::paced(&[Term::new(TimeUnit::Us, &["installs", "gap-us"]).over("2")])),
    charge: Some("steps"),
    parameters: &[
        Parameter::one_of("pool", "what the pool does meanwhile", &["idle", "busy"], "idle"),
        Parameter::whole("installs", "installs per iteration", (1, 10_000_000), "250"),
        Parameter::whole("gap-us", "longest gap before an install in us", (0, 60_000_000), "200"),
        Parameter::whole("job-steps", "work of an install, some 3 ns a step", (0, 1 << 32), "250"),
    ],
    sizes: &[
        SizeOverrides { size: Size::Tiny, overrides: &[("installs", "20"), ("gap-us", "50")] },
        SizeOverrides { size: Size::Small, overrides: &[] },
        SizeOverrides { size: Size::Medium, overrides: &[("installs", "2500")] },
        SizeOverrides { size: Size::Large, overrides: &[("installs", "25000")] },
    ],
};

/// The workload `install`.
#[derive(Clone, Copy, Debug)]
pub struct Install;

impl Workload for Install {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        let values = setup.values;
        let installs = values.count("installs");
        let job_steps = values.whole("job-steps");
        let is_pool_busy = values.word("pool") == "busy";
        check_cores(setup.threads, usize::from(is_pool_busy))?;
        let longest = Duration::from_micros(values.whole("gap-us"));
        Ok(Box::new(Visits {
            is_pool_busy,
            installs,
            job_steps,
            gaps: Gaps::up_to(setup.seed, longest),
            known: chains(0..installs as u64, job_steps),
            sum: 0,
            latencies: Latencies::new("latency"),
        }))
    }
}

struct Visits {
    is_pool_busy: bool,
    installs: usize,
    job_steps: u64,
    gaps: Gaps,
    known: u64,
    sum: u64,
    latencies: Latencies,
}

impl Visits {
    fn run(&mut self, install: impl Fn(u64, u64) -> u64) -> u64 {
        let Self { installs, job_steps, gaps, sum, latencies, .. } = self;
        call_after_gaps(*installs, gaps, latencies, |number| {
            *sum = sum.wrapping_add(install(number as u64, *job_steps));
        })
    }

    fn visit(&mut self, pool: &ThreadPool) -> u64 {
        self.run(|seed, steps| pool.install(|| chain(seed, steps)))
    }
}

/// Keeps the pool busy, one parallel region after the other, until told to stop.
fn keep_busy(pool: &ThreadPool, is_over: &AtomicBool) {
    // Relaxed: an old value costs one region more, and nothing else hangs on it.
    while !is_over.load(Relaxed) {
        pool.install(|| {
            (0..BUSY_TASKS).into_par_iter().for_each(|seed| {
                black_box(chain(seed, BUSY_STEPS));
            });
        });
    }
}

impl Instance for Visits {
    fn reset(&mut self) {
        self.sum = 0;
        self.latencies.begin_run(self.installs);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(chain)
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        if !self.is_pool_busy {
            return self.visit(pool);
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| keep_busy(pool, &is_over));
            let installs = self.visit(pool);
            is_over.store(true, Relaxed);
            installs
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.latencies.end_run();
        let describe = |sum: u64| format!("{} installs add up to {sum:016x}", self.installs);
        Mismatch::unless_equal(&describe(self.known), &describe(self.sum))
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        self.latencies.metrics().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_sum_is_rejected() {
        let mut visits = Visits {
            is_pool_busy: false,
            installs: 3,
            job_steps: 1,
            gaps: Gaps::up_to(1, Duration::ZERO),
            known: chains(0..3, 1),
            sum: 0,
            latencies: Latencies::new("latency"),
        };
        assert!(visits.check().is_err(), "nothing ran");
        visits.reset();
        visits.run_sequential();
        assert!(visits.check().is_ok());
        visits.sum = visits.sum.wrapping_add(1);
        assert!(visits.check().is_err());
    }
}
