//! `broadcast-dozing`: broadcasts to all workers, microseconds apart, so that some of them are just
//! dozing off.
//!
//! A broadcast must reach each worker by itself, whatever it is doing. Its parts take different
//! times, so that the workers doze off at different moments.

use std::collections::BTreeMap;
use std::hint::black_box;
use std::time::Duration;

use protocol::{Metric, Refusal};
use rayon::ThreadPool;

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, call_after_gaps, chain};
use crate::machine::atomic::{AtomicU64, Ordering::Relaxed};
use crate::random::mix;
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `broadcast-dozing`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let longest = Duration::from_micros(setup.values.whole("gap-us"));
    Ok(Box::new(Caller {
        broadcasts: setup.values.count("broadcasts"),
        gaps: Gaps::up_to(setup.seed, longest),
        longest_part: setup.values.whole("part-steps"),
        reached: (0..setup.threads).map(|_| AtomicU64::new(0)).collect(),
        latencies: Latencies::new("latency"),
    }))
}

struct Caller {
    broadcasts: usize,
    gaps: Gaps,
    longest_part: u64,
    /// Caller that each worker saw. Relaxed: read after the last broadcast, which orders it.
    reached: Vec<AtomicU64>,
    latencies: Latencies,
}

/// What broadcast `number` does on one worker.
fn part(reached: &[AtomicU64], worker: usize, number: usize, longest: u64) -> u64 {
    reached[worker].fetch_add(1, Relaxed);
    let word = mix((number * reached.len() + worker) as u64);
    black_box(chain(word, word % longest))
}

impl Instance for Caller {
    fn reset(&mut self) {
        self.reached
            .iter_mut()
            .for_each(|count| *count.get_mut() = 0);
        self.latencies.begin_run(self.broadcasts);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
    }

    fn run_sequential(&mut self) -> u64 {
        let Self {
            broadcasts,
            gaps,
            longest_part,
            reached,
            latencies,
        } = self;
        call_after_gaps(*broadcasts, gaps, latencies, |number| {
            for worker in 0..reached.len() {
                part(reached, worker, number, *longest_part);
            }
        })
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let Self {
            broadcasts,
            gaps,
            longest_part,
            reached,
            latencies,
        } = self;
        let (reached, longest) = (&*reached, *longest_part);
        call_after_gaps(*broadcasts, gaps, latencies, |number| {
            pool.broadcast(|worker| part(reached, worker.index(), number, longest));
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.latencies.end_run();
        let known = self.broadcasts as u64;
        let fault = self
            .reached
            .iter_mut()
            .map(|count| *count.get_mut())
            .enumerate();
        match fault.into_iter().find(|&(_, count)| count != known) {
            None => Ok(format!(
                "each of {known} broadcasts reached every worker once"
            )),
            Some((worker, count)) => Err(Mismatch {
                expected: format!("{known} broadcasts reach every worker"),
                actual: format!("worker {worker} was reached {count} times"),
            }),
        }
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        self.latencies.metrics().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_was_left_out_or_reached_twice_is_rejected() {
        for (counts, is_right) in [([2, 2], true), ([2, 1], false), ([3, 2], false)] {
            let mut caller = Caller {
                broadcasts: 2,
                gaps: Gaps::up_to(1, Duration::ZERO),
                longest_part: 1,
                reached: counts.map(AtomicU64::new).into(),
                latencies: Latencies::new("latency"),
            };
            assert_eq!(caller.check().is_ok(), is_right, "{counts:?}");
        }
    }
}
