//! Jobs that a thread spawns when they are due, without waiting for earlier jobs. Each job records
//! its own latency.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use rayon::ThreadPool;

use crate::kinds::jobs::Moments;
use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{chain, chains};
use crate::kinds::series::{Request, Run};
use crate::workload::Mismatch;

pub(super) struct Spawned {
    ended: Moments,
    /// The work of each job; `None` for empty jobs.
    work: Option<Work>,
}

struct Work {
    steps: u64,
    known: u64,
    sum: AtomicU64,
}

impl Spawned {
    pub(super) fn empty() -> Self {
        Self {
            ended: Moments::default(),
            work: None,
        }
    }

    pub(super) fn adding_up(jobs: u64, steps: u64) -> Self {
        Self {
            ended: Moments::default(),
            work: Some(Work {
                steps,
                known: chains(0..jobs, steps),
                sum: AtomicU64::new(0),
            }),
        }
    }

    fn job(&self, number: usize, due: Instant) {
        if let Some(work) = &self.work {
            // Relaxed: the sum is read when all jobs have ended.
            work.sum
                .fetch_add(chain(number as u64, work.steps), Relaxed);
        }
        self.ended.note(number, due);
    }
}

impl Request for Spawned {
    fn begin_run(&mut self, jobs: usize) {
        self.ended.begin_run(jobs);
        if let Some(work) = &mut self.work {
            *work.sum.get_mut() = 0;
        }
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        let jobs = &*self;
        match pool {
            Some(pool) => pool.in_place_scope(|scope| {
                run.each(|number, due, _| scope.spawn(move |_| jobs.job(number, due)));
            }),
            None => run.each(|number, due, _| jobs.job(number, due)),
        }
    }

    fn note_others(&self, latencies: &mut Latencies) {
        self.ended
            .noted()
            .for_each(|latency| latencies.note(latency));
    }

    fn check(&mut self, jobs: usize) -> Result<String, Mismatch> {
        if let Some(work) = &mut self.work {
            let describe = |sum: u64| format!("{jobs} installs add up to {sum:016x}");
            return Mismatch::unless_equal(&describe(work.known), &describe(*work.sum.get_mut()));
        }
        let describe = |ran: usize| format!("{ran} of {jobs} jobs ran once");
        Mismatch::unless_equal(&describe(jobs), &describe(self.ended.ran_once()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::series::tests::rejects;

    #[test]
    fn a_lost_and_a_doubled_job_are_rejected() {
        let lose = |jobs: &mut Spawned| {
            jobs.begin_run(3);
            for job in [0, 1] {
                jobs.job(job, Instant::now());
            }
        };
        let double = |jobs: &mut Spawned| jobs.job(1, Instant::now());
        rejects(Spawned::empty(), &[&lose, &double]);
        rejects(Spawned::adding_up(3, 1), &[&lose, &double]);
    }
}
