//! `ticks`: a control loop. Each tick is a dozen bursts of small jobs with serial stretches between
//! them, and until the next tick there is nothing to do.
//!
//! Work per tick is `bursts` x (`jobs` x `job-steps` + `serial-steps`), the span `bursts` x
//! (`job-steps` + `serial-steps`). What counts is how late a tick ends and what CPU time it cost:
//! workers that go on searching in the stretches are quick to hand and burn CPU, workers that sleep
//! must be woken for every burst. The shape is that of a benchmark proposed for rayon (pull request
//! 1318).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal};
use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{chain, sleep_until};
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `ticks`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    Ok(Box::new(ControlLoop::new(
        values.word("mode") == "install",
        values.count("ticks"),
        Duration::from_micros(values.whole("period-us")),
        Tick {
            seed: setup.seed,
            bursts: values.count("bursts"),
            jobs: values.count("jobs"),
            job_steps: values.whole("job-steps"),
            serial_steps: values.whole("serial-steps"),
        },
    )))
}

/// What one tick does; the same each time.
#[derive(Clone, Copy)]
struct Tick {
    seed: u64,
    bursts: usize,
    jobs: usize,
    job_steps: u64,
    serial_steps: u64,
}

impl Tick {
    /// All bursts, each by `burst`, and the stretches after them.
    fn run(self, mut burst: impl FnMut(usize) -> u64) -> u64 {
        (0..self.bursts).fold(self.seed, |word, number| {
            chain(word.wrapping_add(burst(number)), self.serial_steps)
        })
    }

    fn job(self, burst: usize, job: usize) -> u64 {
        chain(self.seed ^ (burst * self.jobs + job) as u64, self.job_steps)
    }

    fn burst(self, burst: usize) -> u64 {
        (0..self.jobs).fold(0, |sum, job| sum.wrapping_add(self.job(burst, job)))
    }

    /// Each job by itself, since a caller with so few of them would not want them lumped together.
    fn burst_on_current_pool(self, burst: usize) -> u64 {
        (0..self.jobs)
            .into_par_iter()
            .with_max_len(1)
            .map(|job| self.job(burst, job))
            .reduce(|| 0, u64::wrapping_add)
    }
}

struct ControlLoop {
    is_one_install: bool,
    ticks: usize,
    period: Duration,
    tick: Tick,
    /// What every tick gives.
    known: u64,
    /// From when a tick was due to when it was done.
    latencies: Latencies,
    /// From when a tick was due to when it began: the timer's part, and that of ticks that took
    /// longer than the period.
    lateness: Latencies,
    answers: Vec<u64>,
}

impl ControlLoop {
    fn new(is_one_install: bool, ticks: usize, period: Duration, tick: Tick) -> Self {
        Self {
            is_one_install,
            ticks,
            period,
            tick,
            known: tick.run(|burst| tick.burst(burst)),
            latencies: Latencies::new("latency"),
            lateness: Latencies::new("lateness"),
            answers: Vec::new(),
        }
    }

    fn run(&mut self, mut tick: impl FnMut(Tick) -> u64) -> u64 {
        let start = Instant::now();
        let mut due = start;
        for _ in 0..self.ticks {
            sleep_until(due);
            self.lateness.note(due.elapsed());
            self.answers.push(tick(self.tick));
            self.latencies.note(due.elapsed());
            // Due is due: a tick that ends late does not put off the next one.
            due = if self.period.is_zero() {
                Instant::now()
            } else {
                due + self.period
            };
        }
        self.ticks as u64
    }
}

impl Instance for ControlLoop {
    fn reset(&mut self) {
        self.latencies.begin_run(self.ticks);
        self.lateness.begin_run(self.ticks);
        self.answers.clear();
        self.answers.reserve(self.ticks);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
        self.lateness.forget();
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(|tick| tick.run(|burst| tick.burst(burst)))
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        if self.is_one_install {
            self.run(|tick| pool.install(|| tick.run(|burst| tick.burst_on_current_pool(burst))))
        } else {
            self.run(|tick| tick.run(|burst| pool.install(|| tick.burst_on_current_pool(burst))))
        }
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.latencies.end_run();
        self.lateness.end_run();
        let describe = |right: usize, ticks: usize| {
            format!("{right} of {ticks} ticks gave {:016x}", self.known)
        };
        let right = self
            .answers
            .iter()
            .filter(|&&answer| answer == self.known)
            .count();
        Mismatch::unless_equal(
            &describe(self.ticks, self.ticks),
            &describe(right, self.answers.len()),
        )
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

    fn control_loop(jobs: usize) -> ControlLoop {
        let tick = Tick {
            seed: 1,
            bursts: 2,
            jobs,
            job_steps: 3,
            serial_steps: 1,
        };
        ControlLoop::new(false, 2, Duration::from_micros(10), tick)
    }

    #[test]
    fn a_wrong_a_missing_and_an_extra_tick_are_rejected() {
        let mut control_loop = control_loop(3);
        let known = control_loop.known;
        for (answers, is_right) in [
            (vec![known, known], true),
            (vec![known, known ^ 1], false),
            (vec![known], false),
            (vec![known; 3], false),
        ] {
            control_loop.answers = answers;
            assert_eq!(
                control_loop.check().is_ok(),
                is_right,
                "{:?}",
                control_loop.answers
            );
        }
    }

    #[test]
    fn every_job_has_a_part_in_the_answer() {
        let answers: Vec<u64> = (0..4).map(|jobs| control_loop(jobs).known).collect();
        assert!(
            answers
                .iter()
                .enumerate()
                .all(|(i, one)| !answers[..i].contains(one))
        );
    }

    #[test]
    fn a_late_tick_makes_the_next_one_later_than_its_work_unless_there_is_no_period() {
        for (period, slow) in [(Duration::from_micros(10), 2.0), (Duration::ZERO, 1.0)] {
            let mut control_loop = ControlLoop {
                period,
                ..control_loop(1)
            };
            control_loop.reset();
            let mut is_first = true;
            control_loop.run(|_| {
                if std::mem::take(&mut is_first) {
                    std::thread::sleep(Duration::from_millis(20));
                }
                1
            });
            control_loop.latencies.end_run();
            let metrics = control_loop.metrics();
            // The second tick does nothing, but was due 10 us after the first began.
            let counted = metrics["latency_over_10ms"].value;
            assert!(
                (counted - slow).abs() < f64::EPSILON,
                "{period:?}: {metrics:?}"
            );
        }
    }
}
