//! A tick of a control loop: bursts of small jobs, by default a dozen, with serial work after each.
//! Until the next tick the pool is idle. The shape is that of a benchmark proposed for rayon (pull
//! request 1318).

use rayon::ThreadPool;
use rayon::prelude::*;

use crate::kinds::pacing::chain;
use crate::kinds::series::{Request, Run};
use crate::workload::{Mismatch, Setup};

#[derive(Clone, Copy)]
struct Tick {
    seed: u64,
    bursts: usize,
    jobs: usize,
    job_steps: u64,
    serial_steps: u64,
}

impl Tick {
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

    /// Each job is a separate task of the parallel loop.
    fn burst_on_current_pool(self, burst: usize) -> u64 {
        (0..self.jobs)
            .into_par_iter()
            .with_max_len(1)
            .map(|job| self.job(burst, job))
            .reduce(|| 0, u64::wrapping_add)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// An external thread enters the pool for each burst.
    Regions,
    /// An external thread enters the pool for each tick.
    Install,
    /// A worker runs all ticks, and sleeps between them.
    Worker,
}

pub(super) struct Ticks {
    mode: Mode,
    tick: Tick,
    known: u64,
    answers: Vec<u64>,
}

impl Ticks {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let values = setup.values;
        let tick = Tick {
            seed: setup.seed,
            bursts: values.count("bursts"),
            jobs: values.count("jobs"),
            job_steps: values.whole("job-steps"),
            serial_steps: values.whole("serial-steps"),
        };
        let mode = match values.word("mode") {
            "install" => Mode::Install,
            "worker" => Mode::Worker,
            _ => Mode::Regions,
        };
        Self::of(mode, tick)
    }

    fn of(mode: Mode, tick: Tick) -> Self {
        Self {
            mode,
            tick,
            known: tick.run(|burst| tick.burst(burst)),
            answers: Vec::new(),
        }
    }
}

impl Request for Ticks {
    fn is_inside(&self) -> bool {
        self.mode == Mode::Worker
    }

    fn begin_run(&mut self, ticks: usize) {
        self.answers.clear();
        self.answers.reserve(ticks);
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        let Self {
            tick,
            answers,
            mode,
            ..
        } = self;
        let on_pool = |burst| tick.burst_on_current_pool(burst);
        run.wait_for_each(|_, _| {
            answers.push(match (pool, *mode) {
                (Some(pool), Mode::Regions) => tick.run(|burst| pool.install(|| on_pool(burst))),
                (Some(pool), Mode::Install) => pool.install(|| tick.run(on_pool)),
                (Some(_), Mode::Worker) => tick.run(on_pool),
                (None, _) => tick.run(|burst| tick.burst(burst)),
            });
        });
    }

    fn check(&mut self, ticks: usize) -> Result<String, Mismatch> {
        let describe = |right: usize, ticks: usize| {
            format!("{right} of {ticks} ticks gave {:016x}", self.known)
        };
        let right = self.answers.iter().filter(|&&it| it == self.known).count();
        Mismatch::unless_equal(
            &describe(ticks, ticks),
            &describe(right, self.answers.len()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::series::tests::rejects;

    fn ticks(jobs: usize) -> Ticks {
        let tick = Tick {
            seed: 1,
            bursts: 2,
            jobs,
            job_steps: 3,
            serial_steps: 1,
        };
        Ticks::of(Mode::Regions, tick)
    }

    #[test]
    fn a_wrong_a_missing_and_an_extra_tick_are_rejected() {
        let wrong = |ticks: &mut Ticks| ticks.answers[1] ^= 1;
        let missing = |ticks: &mut Ticks| ticks.answers.truncate(2);
        let extra = |ticks: &mut Ticks| ticks.answers.push(ticks.known);
        rejects(ticks(3), &[&wrong, &missing, &extra]);
    }

    #[test]
    fn every_job_has_a_part_in_the_answer() {
        let answers: Vec<u64> = (0..4).map(|jobs| ticks(jobs).known).collect();
        assert!(
            answers
                .iter()
                .enumerate()
                .all(|(i, one)| !answers[..i].contains(one))
        );
    }
}
