//! `idle`: one empty spawn every millisecond, or every ten, and nothing else.
//!
//! There is no work to share; what counts is the CPU time that a pool burns meanwhile
//! (`cpu_per_second`) and how soon a job that was due has begun. This is issue 642 of rayon: with
//! the scheduler of 2019 a spawn each 10 ms cost 30 % of a CPU, and each 1 ms 200 %.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal};
use rayon::ThreadPool;

use crate::kinds::latency::Latencies;
use crate::kinds::moments::Moments;
use crate::kinds::pacing::sleep_until;
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `idle`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(Heartbeat {
        spawns: setup.values.count("spawns"),
        period: Duration::from_micros(setup.values.whole("period-us")),
        jobs: Moments::default(),
        latencies: Latencies::new("latency"),
        lateness: Latencies::new("lateness"),
    }))
}

struct Heartbeat {
    spawns: usize,
    period: Duration,
    jobs: Moments,
    /// From when a spawn was due to when its job began.
    latencies: Latencies,
    /// From when a spawn was due to when it was made: the timer's part.
    lateness: Latencies,
}

/// Calls `spawn` with each number at its time, and with the start of time.
fn pace(
    spawns: usize,
    period: Duration,
    lateness: &mut Latencies,
    mut spawn: impl FnMut(usize, Instant),
) -> u64 {
    let start = Instant::now();
    let mut due = start;
    for number in 0..spawns {
        sleep_until(due);
        lateness.note(due.elapsed());
        spawn(number, start);
        due += period;
    }
    spawns as u64
}

/// From when each job was due to when it began; both times since the start.
fn waits(
    began: impl Iterator<Item = Duration>,
    period: Duration,
) -> impl Iterator<Item = Duration> {
    let due = std::iter::successors(Some(Duration::ZERO), move |due| Some(*due + period));
    began.zip(due).map(|(began, due)| began.saturating_sub(due))
}

impl Instance for Heartbeat {
    fn reset(&mut self) {
        self.jobs.begin_run(self.spawns);
        self.latencies.begin_run(self.spawns);
        self.lateness.begin_run(self.spawns);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
        self.lateness.forget();
    }

    fn run_sequential(&mut self) -> u64 {
        let Self {
            spawns,
            period,
            jobs,
            lateness,
            ..
        } = self;
        pace(*spawns, *period, lateness, |number, start| {
            jobs.note(number, start);
        })
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let Self {
            spawns,
            period,
            jobs,
            lateness,
            ..
        } = self;
        let jobs = &*jobs;
        // Ends with the last job; this thread stays outside the pool.
        pool.in_place_scope(|scope| {
            pace(*spawns, *period, lateness, |number, start| {
                scope.spawn(move |_| jobs.note(number, start));
            })
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe = |ran: usize| format!("{ran} of {} jobs ran once", self.spawns);
        let answer =
            Mismatch::unless_equal(&describe(self.spawns), &describe(self.jobs.ran_once()))?;
        waits(self.jobs.noted(), self.period).for_each(|wait| self.latencies.note(wait));
        self.latencies.end_run();
        self.lateness.end_run();
        Ok(answer)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        self.latencies
            .metrics()
            .into_iter()
            .chain(self.lateness.metrics())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_was_lost_or_ran_twice_is_rejected() {
        let mut heartbeat = Heartbeat {
            spawns: 3,
            period: Duration::from_micros(1),
            jobs: Moments::default(),
            latencies: Latencies::new("latency"),
            lateness: Latencies::new("lateness"),
        };
        for (ran, is_right) in [
            (&[0, 1, 2][..], true),
            (&[0, 1], false),
            (&[0, 1, 1], false),
            (&[0, 1, 1, 2], false),
        ] {
            heartbeat.reset();
            for &job in ran {
                heartbeat.jobs.note(job, Instant::now());
            }
            assert_eq!(heartbeat.check().is_ok(), is_right, "{ran:?}");
        }
    }

    #[test]
    fn latency_counts_from_when_a_job_was_due() {
        let [begun, period] = [&[1, 12, 23][..], &[10]].map(|ms| {
            ms.iter()
                .map(|&ms| Duration::from_millis(ms))
                .collect::<Vec<_>>()
        });
        let waits: Vec<u128> = waits(begun.into_iter(), period[0])
            .map(|wait| wait.as_millis())
            .collect();
        assert_eq!(waits, [1, 2, 3]);
    }
}
