//! Bursts of jobs. Metrics tell how soon the first job of a burst begins, and when the last job has
//! ended.

use protocol::Metric;
use rayon::ThreadPool;

use crate::kinds::jobs::Batch;
use crate::kinds::latency::Latencies;
use crate::kinds::series::{Request, Run};
use crate::workload::Mismatch;

pub(super) struct Burst {
    batch: Batch,
    right: usize,
    /// Times from the moment when a burst was due until its first job began.
    first_jobs: Latencies,
}

impl Burst {
    pub(super) fn new(batch: Batch) -> Self {
        Self {
            batch,
            right: 0,
            first_jobs: Latencies::new("first_job"),
        }
    }
}

impl Request for Burst {
    fn begin_run(&mut self, bursts: usize) {
        self.right = 0;
        self.first_jobs.begin_run(bursts);
        self.batch.begin_run();
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        let Self {
            batch,
            right,
            first_jobs,
        } = self;
        run.each(|_, due, latencies| {
            let (jobs, job) = (batch.jobs(), &|job| batch.run(job, due));
            match pool {
                Some(pool) => pool.in_place_scope(|scope| {
                    (0..jobs).for_each(|number| scope.spawn(move |_| job(number)));
                }),
                None => (0..jobs).for_each(job),
            }
            latencies.note(due.elapsed());
            first_jobs.note(batch.first_began());
            *right += usize::from(batch.is_right());
            batch.begin_run();
        });
    }

    fn check(&mut self, bursts: usize) -> Result<String, Mismatch> {
        self.first_jobs.end_run();
        let sum = self.batch.known_sum();
        let describe =
            |right: usize| format!("{right} of {bursts} bursts ran each job once, sum {sum:016x}");
        Mismatch::unless_equal(&describe(bursts), &describe(self.right))
    }

    fn forget_warmup(&mut self) {
        self.first_jobs.forget();
    }

    fn metrics(&self) -> Vec<(String, Metric)> {
        self.first_jobs.metrics()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::kinds::series::tests::{rejects, without_gaps};
    use crate::workload::Instance as _;

    #[test]
    fn a_lost_and_a_doubled_job_are_rejected() {
        let mut batch = Batch::new(4, 2);
        for (ran, is_right) in [
            (&[0, 1, 2, 3][..], true),
            (&[1, 2, 3], false),
            (&[0, 1, 2, 3, 0], false),
        ] {
            batch.begin_run();
            for &job in ran {
                batch.run(job, Instant::now());
            }
            assert_eq!(batch.is_right(), is_right, "{ran:?}");
        }
        rejects(Burst::new(batch), &[&|burst| burst.right -= 1]);
    }

    #[test]
    fn the_first_job_is_noted_apart_from_the_whole_burst() {
        let mut bursts = without_gaps(3, Burst::new(Batch::new(2, 100_000)));
        bursts.reset();
        bursts.run_sequential();
        bursts.check().unwrap();
        let metrics = bursts.metrics();
        let [first, last] = ["first_job_p50", "latency_p50"].map(|name| metrics[name].value);
        assert!(first < last, "{metrics:?}");
    }
}
