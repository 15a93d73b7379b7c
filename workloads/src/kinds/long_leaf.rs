//! `long-leaf`: small jobs behind a long one that neither pushes nor pops.
//!
//! While the jobs are pushed, every other worker is busy; then all of them are idle at once, and
//! the worker that has the jobs is in its leaf. Whoever is idle should take the jobs at once. Where
//! jobs are private until somebody asks, nobody but the thieves themselves can answer.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{
    Description, Lasts, Metric, Parameter, Refusal, Size, SizeOverrides, Term, TimeUnit,
};

use crate::kinds::batch::Batch;
use crate::kinds::latency::Latencies;
use crate::machine::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use crate::machine::{Instant, spin_until, thread};
use crate::workload::{Instance, Mismatch, Setup, Workload};

static DESCRIPTION: Description = Description {
    name: "long-leaf",
    summary: "small jobs behind a long one, which all other workers could run",
    stresses: "how soon jobs of a worker that is busy are taken",
    work_unit: "leaves",
    input: None,
    lasts: Some(Lasts::paced(&[Term::new(
        TimeUnit::Us,
        &["leaves", "leaf-us"],
    )])),
    charge: Some("steps"),
    parameters: &[
        Parameter::whole("leaves", "long jobs per iteration", (1, 1_000_000), "10"),
        Parameter::whole(
            "leaf-us",
            "time that a long job takes in us",
            (1, 60_000_000),
            "5000",
        ),
        Parameter::whole("jobs", "small jobs behind it", (1, 1_000_000), "32"),
        // 7 us.
        Parameter::whole(
            "job-steps",
            "work of a small job, some 3 ns a step",
            (0, 1 << 32),
            "2000",
        ),
    ],
    sizes: &[
        SizeOverrides {
            size: Size::Tiny,
            overrides: &[
                ("leaves", "3"),
                ("leaf-us", "300"),
                ("jobs", "8"),
                ("job-steps", "100"),
            ],
        },
        SizeOverrides {
            size: Size::Small,
            overrides: &[],
        },
        SizeOverrides {
            size: Size::Medium,
            overrides: &[("leaves", "100")],
        },
        SizeOverrides {
            size: Size::Large,
            overrides: &[("leaves", "10"), ("leaf-us", "1000000")],
        },
    ],
};

/// The workload `long-leaf`.
#[derive(Clone, Copy, Debug)]
pub struct LongLeaf;

impl Workload for LongLeaf {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Rounds::new(
            setup.values.count("leaves"),
            Duration::from_micros(setup.values.whole("leaf-us")),
            Batch::new(setup.values.count("jobs"), setup.values.whole("job-steps")),
            setup.threads,
        )))
    }
}

struct Rounds {
    leaves: usize,
    leaf: Duration,
    /// The jobs behind one leaf.
    batch: Batch,
    threads: usize,
    /// Rounds behind which every job ran once, with the right sum.
    right: usize,
    /// From when the leaf began, the others being idle from then on, to when the first of the jobs
    /// began.
    first_jobs: Latencies,
    /// The same to the last one.
    last_jobs: Latencies,
    /// Rounds that had ended when their last job began, in this run and since the warm-up.
    waited: u64,
    waited_in_all: u64,
    leaves_in_all: u64,
}

impl Rounds {
    fn new(leaves: usize, leaf: Duration, batch: Batch, threads: usize) -> Self {
        Self {
            leaves,
            leaf,
            batch,
            threads,
            right: 0,
            first_jobs: Latencies::new("first_job"),
            last_jobs: Latencies::new("last_job"),
            waited: 0,
            waited_in_all: 0,
            leaves_in_all: 0,
        }
    }

    /// `play` gets the number of jobs, and what each does; it returns when the leaf began.
    fn run(&mut self, play: impl Fn(usize, &(dyn Fn(usize) + Sync)) -> Instant) -> u64 {
        for _ in 0..self.leaves {
            self.batch.begin_run();
            let batch = &self.batch;
            let start = Instant::now();
            let begun = play(batch.jobs(), &|job| batch.run(job, start));
            let before = begun.saturating_duration_since(start);
            let [first, last] = self
                .batch
                .first_and_last()
                .map(|moment| moment.saturating_sub(before));
            self.first_jobs.note(first);
            self.last_jobs.note(last);
            self.waited += u64::from(last >= self.leaf);
            self.right += usize::from(self.batch.is_right());
        }
        self.leaves as u64
    }
}

/// Keeps every other worker of the pool busy from when this returns until `is_over`.
fn occupy_others<'s>(
    scope: &rayon::Scope<'s>,
    is_over: &'s AtomicBool,
    others: usize,
    busy: &'s AtomicUsize,
) {
    let place = rayon::current_thread_index();
    scope.spawn_broadcast(move |_, worker| {
        if Some(worker.index()) != place {
            // Relaxed: a count, which carries nothing.
            busy.fetch_add(1, Relaxed);
            // ORDERING: Acquire, pairs with the store after the last push: who is idle now finds
            // the jobs pushed.
            wait_until(|| is_over.load(Acquire));
        }
    });
    wait_until(|| busy.load(Relaxed) == others);
}

fn wait_until(is_done: impl Fn() -> bool) {
    while !is_done() {
        // The thread that is waited for may need this CPU.
        thread::yield_now();
    }
}

impl Instance for Rounds {
    fn reset(&mut self) {
        self.right = 0;
        self.waited = 0;
        self.first_jobs.begin_run(self.leaves);
        self.last_jobs.begin_run(self.leaves);
    }

    fn forget_warmup(&mut self) {
        self.first_jobs.forget();
        self.last_jobs.forget();
        (self.waited_in_all, self.leaves_in_all) = (0, 0);
    }

    fn run_sequential(&mut self) -> u64 {
        let leaf = self.leaf;
        self.run(|jobs, job| {
            let begun = Instant::now();
            spin_until(begun + leaf);
            (0..jobs).for_each(job);
            begun
        })
    }

    fn run_parallel(&mut self) -> u64 {
        let (leaf, others) = (self.leaf, self.threads - 1);
        self.run(|jobs, job| {
            let (is_over, busy) = (AtomicBool::new(false), AtomicUsize::new(0));
            rayon::scope(|scope| {
                occupy_others(scope, &is_over, others, &busy);
                (0..jobs).for_each(|number| scope.spawn(move |_| job(number)));
                // ORDERING: Release, pairs with the load in `occupy_others`.
                is_over.store(true, Release);
                let begun = Instant::now();
                spin_until(begun + leaf);
                begun
            })
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.first_jobs.end_run();
        self.last_jobs.end_run();
        self.waited_in_all += self.waited;
        self.leaves_in_all += self.leaves as u64;
        let describe = |right: usize| {
            format!(
                "behind {right} of {} leaves each job ran once, sum {:016x}",
                self.leaves,
                self.batch.known_sum()
            )
        };
        Mismatch::unless_equal(&describe(self.leaves), &describe(self.right))
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let value = self.waited_in_all as f64 / self.leaves_in_all as f64;
        let waited = Metric {
            value,
            unit: "share of leaves".to_owned(),
        };
        let latencies = [&self.first_jobs, &self.last_jobs]
            .into_iter()
            .flat_map(Latencies::metrics);
        latencies.chain([("waited".to_owned(), waited)]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds() -> Rounds {
        Rounds::new(2, Duration::from_millis(1), Batch::new(4, 2), 1)
    }

    #[test]
    fn a_lost_and_a_doubled_job_are_rejected() {
        for (ran, is_right) in [
            (&[0, 1, 2, 3][..], true),
            (&[1, 2, 3], false),
            (&[0, 1, 2, 3, 0], false),
        ] {
            let mut rounds = rounds();
            rounds.reset();
            rounds.run(|_, job| {
                ran.iter().copied().for_each(job);
                Instant::now()
            });
            assert_eq!(rounds.check().is_ok(), is_right);
        }
    }

    #[test]
    fn jobs_that_began_after_their_leaf_have_waited() {
        for (leaf, share) in [(Duration::ZERO, 1.0), (Duration::MAX, 0.0)] {
            let mut rounds = Rounds { leaf, ..rounds() };
            rounds.reset();
            rounds.run(|jobs, job| {
                let begun = Instant::now();
                (0..jobs).for_each(job);
                begun
            });
            rounds.check().unwrap();
            let metrics = rounds.metrics();
            assert!(
                (metrics["waited"].value - share).abs() < f64::EPSILON,
                "{metrics:?}"
            );
        }
    }
}
