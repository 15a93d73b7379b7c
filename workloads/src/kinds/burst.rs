//! `burst`: nothing for a while, then some jobs at once, from outside. A grid of gaps and burst
//! sizes is swept by its parameters.
//!
//! What counts is when the first job of a burst begins, when the last one has ended, and the CPU
//! time that it all cost: a short gap is bridged by searching, a long one by sleep.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal};
use rayon::ThreadPool;

use crate::kinds::batch::Batch;
use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, sleep_until};
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `burst`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let gap = Duration::from_micros(setup.values.whole("gap-us"));
    Ok(Box::new(Arrivals::new(
        setup.values.count("bursts"),
        Batch::new(setup.values.count("jobs"), setup.values.whole("job-steps")),
        Gaps::between(setup.seed, gap / 2, gap * 3 / 2),
    )))
}

struct Arrivals {
    bursts: usize,
    /// The jobs of one burst.
    batch: Batch,
    gaps: Gaps,
    /// Bursts whose every job ran once, with the right sum.
    right: usize,
    /// From when a burst was due to when its last job had ended.
    latencies: Latencies,
    /// From when a burst was due to when its first job began.
    first_jobs: Latencies,
    /// From when a burst was due to when it was submitted: the timer's part.
    lateness: Latencies,
}

impl Arrivals {
    fn new(bursts: usize, batch: Batch, gaps: Gaps) -> Self {
        Self {
            bursts,
            batch,
            gaps,
            right: 0,
            latencies: Latencies::new("latency"),
            first_jobs: Latencies::new("first_job"),
            lateness: Latencies::new("lateness"),
        }
    }

    fn run(&mut self, mut submit: impl FnMut(usize, &(dyn Fn(usize) + Sync))) -> u64 {
        for gap in self.gaps.iter().take(self.bursts) {
            self.batch.begin_run();
            // The gap is what this workload is about, so it begins when the last burst has ended.
            let due = Instant::now() + gap;
            sleep_until(due);
            self.lateness.note(due.elapsed());
            let batch = &self.batch;
            submit(batch.jobs(), &|job| batch.run(job, due));
            self.latencies.note(due.elapsed());
            self.first_jobs.note(self.batch.first_began());
            self.right += usize::from(self.batch.is_right());
        }
        self.bursts as u64
    }
}

impl Instance for Arrivals {
    fn reset(&mut self) {
        self.right = 0;
        for latencies in [
            &mut self.latencies,
            &mut self.first_jobs,
            &mut self.lateness,
        ] {
            latencies.begin_run(self.bursts);
        }
    }

    fn forget_warmup(&mut self) {
        for latencies in [
            &mut self.latencies,
            &mut self.first_jobs,
            &mut self.lateness,
        ] {
            latencies.forget();
        }
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(|jobs, job| (0..jobs).for_each(job))
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        self.run(|jobs, job| {
            pool.in_place_scope(|scope| {
                (0..jobs).for_each(|number| scope.spawn(move |_| job(number)));
            });
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        for latencies in [
            &mut self.latencies,
            &mut self.first_jobs,
            &mut self.lateness,
        ] {
            latencies.end_run();
        }
        let describe = |right: usize| {
            format!(
                "{right} of {} bursts ran each job once, sum {:016x}",
                self.bursts,
                self.batch.known_sum()
            )
        };
        Mismatch::unless_equal(&describe(self.bursts), &describe(self.right))
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        [&self.latencies, &self.first_jobs, &self.lateness]
            .into_iter()
            .flat_map(Latencies::metrics)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals() -> Arrivals {
        Arrivals::new(3, Batch::new(4, 2), Gaps::up_to(1, Duration::ZERO))
    }

    #[test]
    fn a_lost_and_a_doubled_job_are_rejected() {
        for (ran, is_right) in [
            (&[0, 1, 2, 3][..], true),
            (&[1, 2, 3], false),
            (&[0, 1, 2, 3, 0], false),
        ] {
            let mut arrivals = arrivals();
            arrivals.reset();
            arrivals.run(|_, job| ran.iter().copied().for_each(job));
            assert_eq!(arrivals.check().is_ok(), is_right);
        }
    }

    #[test]
    fn a_burst_that_never_ran_is_rejected() {
        let mut arrivals = arrivals();
        arrivals.reset();
        assert!(arrivals.check().is_err());
    }

    #[test]
    fn the_first_job_is_noted_apart_from_the_whole_burst() {
        let mut arrivals = arrivals();
        arrivals.reset();
        arrivals.run(|jobs, job| {
            job(0);
            std::thread::sleep(Duration::from_millis(11));
            (1..jobs).for_each(job);
        });
        arrivals.check().unwrap();
        let metrics = arrivals.metrics();
        assert!(
            (metrics["latency_over_10ms"].value - 3.0).abs() < f64::EPSILON,
            "{metrics:?}"
        );
        assert!(
            metrics["first_job_p50"].value < metrics["latency_p50"].value,
            "{metrics:?}"
        );
    }
}
