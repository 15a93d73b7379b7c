//! `inject`: several threads outside the pool each submit small installs, one after the other.
//!
//! All jobs pass through the one injector and each submitter sleeps until its answer is there. What
//! counts is time per install, latency, and how both grow with `submitters`.

use std::collections::BTreeMap;
use std::thread;
use std::time::Instant;

use protocol::{Metric, Refusal};
use rayon::ThreadPool;

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{chain, chains};
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `inject`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    Ok(Box::new(Injection::new(
        values.whole("submitters"),
        values.whole("installs"),
        values.whole("job-steps"),
        setup.seed,
    )))
}

struct Injection {
    installs: u64,
    job_steps: u64,
    submitters: Vec<Submitter>,
}

struct Submitter {
    /// The jobs' seeds begin here.
    first_seed: u64,
    known_sum: u64,
    sum: u64,
    latencies: Latencies,
}

impl Submitter {
    fn run(&mut self, installs: u64, mut install: impl FnMut(u64) -> u64) {
        for number in 0..installs {
            let begun = Instant::now();
            self.sum = self
                .sum
                .wrapping_add(install(self.first_seed.wrapping_add(number)));
            self.latencies.note(begun.elapsed());
        }
    }
}

impl Injection {
    fn new(submitters: u64, installs: u64, job_steps: u64, seed: u64) -> Self {
        let submitters = (0..submitters)
            .map(|number| {
                let first_seed = seed.wrapping_add(number * installs);
                let seeds = (0..installs).map(|install| first_seed.wrapping_add(install));
                Submitter {
                    first_seed,
                    known_sum: chains(seeds, job_steps),
                    sum: 0,
                    latencies: Latencies::new("latency"),
                }
            })
            .collect();
        Self {
            installs,
            job_steps,
            submitters,
        }
    }

    fn total(&self) -> u64 {
        self.installs * self.submitters.len() as u64
    }
}

impl Instance for Injection {
    fn reset(&mut self) {
        for submitter in &mut self.submitters {
            submitter.sum = 0;
            submitter
                .latencies
                .begin_run(usize::try_from(self.installs).unwrap_or(usize::MAX));
        }
    }

    fn forget_warmup(&mut self) {
        self.submitters
            .iter_mut()
            .for_each(|submitter| submitter.latencies.forget());
    }

    fn run_sequential(&mut self) -> u64 {
        let (installs, steps) = (self.installs, self.job_steps);
        for submitter in &mut self.submitters {
            submitter.run(installs, |seed| chain(seed, steps));
        }
        self.total()
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let (installs, steps) = (self.installs, self.job_steps);
        // Starting the threads is timed: some 20 us each, against some 10 us for each install.
        thread::scope(|scope| {
            for submitter in &mut self.submitters {
                scope.spawn(move || {
                    submitter.run(installs, |seed| pool.install(|| chain(seed, steps)));
                });
            }
        });
        self.total()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let join = |sums: Vec<String>| sums.join(" ");
        let known = join(
            self.submitters
                .iter()
                .map(|it| format!("{:x}", it.known_sum))
                .collect(),
        );
        let sums = join(
            self.submitters
                .iter()
                .map(|it| format!("{:x}", it.sum))
                .collect(),
        );
        self.submitters
            .iter_mut()
            .for_each(|submitter| submitter.latencies.end_run());
        Mismatch::unless_equal(&known, &sums)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let mut all = Latencies::new("latency");
        self.submitters
            .iter()
            .for_each(|submitter| all.absorb(&submitter.latencies));
        all.metrics().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_sum_of_any_submitter_is_rejected() {
        let mut injection = Injection::new(3, 4, 2, 1);
        for wrong in 0..3 {
            injection.reset();
            assert!(injection.check().is_err(), "nothing ran");
            injection.run_sequential();
            assert!(injection.check().is_ok());
            injection.submitters[wrong].sum ^= 1;
            assert!(injection.check().is_err(), "{wrong}");
        }
    }

    #[test]
    fn no_two_installs_do_the_same_work() {
        let injection = Injection::new(2, 3, 1, 1);
        let sums: Vec<u64> = injection
            .submitters
            .iter()
            .map(|submitter| submitter.known_sum)
            .collect();
        assert_ne!(sums[0], sums[1]);
    }
}
