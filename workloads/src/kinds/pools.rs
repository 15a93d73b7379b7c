//! `pools`: pools that are built, asked for one small job, and dropped, one after the other.
//!
//! Programs and tests that want a pool of their own for a moment do this. Each pool starts its
//! threads, wakes one that has hardly begun to search, and tells all of them to end; nobody waits
//! until they have.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{Description, Metric, Parameter, Refusal, SizeOverrides};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, call_after_gaps, chain, chains};
use crate::workload::{Instance, Mismatch, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "pools",
    summary: "pools built, given one small install each, and dropped",
    stresses: "starting and ending workers, and the first wake-up of a pool",
    work_unit: "pools",
    input: None,
    lasts: None,
    charge: None,
    parameters: &[
        Parameter::whole("pools", "pools, one after the other", (1, 1_000_000), "200"),
        // 1 us.
        Parameter::whole(
            "job-steps",
            "work of an install, some 3 ns a step",
            (0, 1 << 32),
            "250",
        ),
    ],
    sizes: &SizeOverrides::all(
        &[("pools", "5")],
        &[],
        &[("pools", "1000")],
        &[("pools", "10000")],
    ),
};

/// The workload `pools`.
#[derive(Clone, Copy, Debug)]
pub struct Pools;

impl Workload for Pools {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Visits::new(
            setup.threads,
            setup.values.count("pools"),
            setup.values.whole("job-steps"),
            setup.seed,
        )))
    }
}

struct Visits {
    /// Workers of each pool.
    threads: usize,
    pools: usize,
    job_steps: u64,
    /// The jobs' seeds begin here.
    first_seed: u64,
    known: u64,
    sum: u64,
    /// From asking for a pool to having dropped it.
    latencies: Latencies,
}

impl Visits {
    fn new(threads: usize, pools: usize, job_steps: u64, first_seed: u64) -> Self {
        let seeds = (0..pools as u64).map(|number| first_seed.wrapping_add(number));
        let known = chains(seeds, job_steps);
        let latencies = Latencies::new("latency");
        Self {
            threads,
            pools,
            job_steps,
            first_seed,
            known,
            sum: 0,
            latencies,
        }
    }

    fn run(&mut self, job: impl Fn(u64, u64) -> u64) -> u64 {
        let Self {
            pools,
            job_steps,
            first_seed,
            sum,
            latencies,
            ..
        } = self;
        let at_once = Gaps::up_to(0, Duration::ZERO);
        call_after_gaps(*pools, &at_once, latencies, |number| {
            *sum = sum.wrapping_add(job(first_seed.wrapping_add(number as u64), *job_steps));
        })
    }
}

impl Instance for Visits {
    fn reset(&mut self) {
        self.sum = 0;
        self.latencies.begin_run(self.pools);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(chain)
    }

    /// The trial's own pool sleeps meanwhile. Workers are never pinned, and their events are not
    /// counted.
    fn run_on(&mut self, _: &ThreadPool) -> u64 {
        let threads = self.threads;
        self.run(|seed, steps| {
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            pool.expect("the host starts a pool's threads")
                .install(|| chain(seed, steps))
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.latencies.end_run();
        let describe = |sum: u64| format!("{} pools add up to {sum:016x}", self.pools);
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
    fn a_pool_whose_job_is_lost_or_done_twice_is_rejected() {
        let mut visits = Visits::new(2, 3, 2, 1);
        for (seeds, is_right) in [
            (&[1, 2, 3][..], true),
            (&[1, 3], false),
            (&[1, 2, 3, 3], false),
        ] {
            visits.sum = chains(seeds.iter().copied(), 2);
            assert_eq!(visits.check().is_ok(), is_right, "{seeds:?}");
        }
    }
}
