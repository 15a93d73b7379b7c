//! `two-long-tasks`: a join of two halves of 5 ms each, after a random idle gap.
//!
//! If an idle worker takes the second half, the join takes 5 ms, and otherwise 10: the direct
//! measure of whether the second of two tasks gets a worker of its own. Its times say something
//! only with two threads or more on two CPUs or more, and are left out otherwise.

use std::collections::BTreeMap;
use std::time::Duration;

use protocol::{Metric, Refusal};

use crate::kinds::latency::Latencies;
use crate::kinds::pacing::{Gaps, call_after_gaps};
use crate::machine::atomic::{AtomicUsize, Ordering::Relaxed};
use crate::machine::{self, Instant, spin_until};
use crate::usage::nanoseconds;
use crate::workload::{Instance, Mismatch, Setup};

/// Prepares the workload `two-long-tasks`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let microseconds = |name| Duration::from_micros(setup.values.whole(name));
    Ok(Box::new(LongTasks {
        joins: setup.values.count("joins"),
        task: microseconds("task-us"),
        gaps: Gaps::up_to(setup.seed, microseconds("gap-us")),
        can_share: setup.threads >= 2 && machine::cores() >= 2,
        ran: AtomicUsize::new(0),
        latencies: Latencies::new("latency"),
        tally: Tally::default(),
        total: Tally::default(),
    }))
}

struct LongTasks {
    joins: usize,
    task: Duration,
    gaps: Gaps,
    /// There is a second worker, and a second CPU for it.
    can_share: bool,
    /// Halves that ran.
    ran: AtomicUsize,
    latencies: Latencies,
    /// The current run's.
    tally: Tally,
    /// All runs' since the warm-up.
    total: Tally,
}

/// How joins went.
#[derive(Clone, Copy, Default)]
struct Tally {
    joins: u64,
    /// Both halves ran on one thread.
    unshared: u64,
    /// Took longer than one and a half times one half.
    doubled: u64,
    elapsed_ns: u64,
}

impl Tally {
    fn count(&mut self, is_shared: bool, elapsed: Duration, task: Duration) {
        self.joins += 1;
        self.unshared += u64::from(!is_shared);
        self.doubled += u64::from(elapsed > task * 3 / 2);
        self.elapsed_ns += nanoseconds(elapsed);
    }

    fn add(&mut self, other: Self) {
        self.joins += other.joins;
        self.unshared += other.unshared;
        self.doubled += other.doubled;
        self.elapsed_ns += other.elapsed_ns;
    }

    fn metrics(self, task: Duration) -> [(String, Metric); 3] {
        let metric = |name: &str, value: f64, unit: &str| {
            (
                name.to_owned(),
                Metric {
                    value,
                    unit: unit.to_owned(),
                },
            )
        };
        let joins = self.joins as f64;
        [
            metric("unshared", self.unshared as f64 / joins, "share of joins"),
            metric("doubled", self.doubled as f64 / joins, "share of joins"),
            metric(
                "wall_ratio",
                self.elapsed_ns as f64 / joins / nanoseconds(task) as f64,
                "times one task",
            ),
        ]
    }
}

impl LongTasks {
    /// `join` runs both halves with what they need and says whether two threads did.
    fn run(&mut self, join: impl Fn(Duration, &AtomicUsize) -> bool) -> u64 {
        let Self {
            joins,
            task,
            gaps,
            ran,
            latencies,
            tally,
            ..
        } = self;
        call_after_gaps(*joins, gaps, latencies, |_| {
            let begun = Instant::now();
            let is_shared = join(*task, ran);
            tally.count(is_shared, begun.elapsed(), *task);
        })
    }
}

/// One half.
fn work(task: Duration, ran: &AtomicUsize) -> impl PartialEq {
    spin_until(Instant::now() + task);
    // Relaxed: read after the join, which orders it.
    ran.fetch_add(1, Relaxed);
    machine::thread_id()
}

impl Instance for LongTasks {
    fn reset(&mut self) {
        *self.ran.get_mut() = 0;
        self.tally = Tally::default();
        self.latencies.begin_run(self.joins);
    }

    fn forget_warmup(&mut self) {
        self.latencies.forget();
        self.total = Tally::default();
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(|task, ran| work(task, ran) != work(task, ran))
    }

    fn run_parallel(&mut self) -> u64 {
        self.run(|task, ran| {
            let (one, other) = rayon::join(|| work(task, ran), || work(task, ran));
            one != other
        })
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        self.latencies.end_run();
        self.total.add(self.tally);
        let halves = 2 * self.joins;
        let ran = *self.ran.get_mut();
        let describe = |ran: usize| format!("{ran} of {halves} tasks ran");
        Mismatch::unless_equal(&describe(halves), &describe(ran))
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let sharing = self.can_share.then(|| self.total.metrics(self.task));
        self.latencies
            .metrics()
            .into_iter()
            .chain(sharing.into_iter().flatten())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn long_tasks(can_share: bool) -> LongTasks {
        LongTasks {
            joins: 2,
            task: Duration::from_micros(10),
            gaps: Gaps::up_to(1, Duration::ZERO),
            can_share,
            ran: AtomicUsize::new(0),
            latencies: Latencies::new("latency"),
            tally: Tally::default(),
            total: Tally::default(),
        }
    }

    #[test]
    fn a_task_that_was_lost_or_ran_twice_is_rejected() {
        let mut tasks = long_tasks(true);
        tasks.reset();
        tasks.run_sequential();
        assert!(tasks.check().is_ok());
        for ran in [3, 5] {
            tasks.ran = AtomicUsize::new(ran);
            assert!(tasks.check().is_err(), "{ran}");
        }
    }

    #[test]
    fn joins_on_one_thread_are_unshared_and_double() {
        let mut tasks = long_tasks(true);
        tasks.reset();
        tasks.run_sequential();
        tasks.check().unwrap();
        let metrics = tasks.metrics();
        assert!(
            (metrics["unshared"].value - 1.0).abs() < f64::EPSILON,
            "{metrics:?}"
        );
        assert!(
            (metrics["doubled"].value - 1.0).abs() < f64::EPSILON,
            "{metrics:?}"
        );
        assert!(metrics["wall_ratio"].value >= 2.0, "{metrics:?}");
    }

    #[test]
    fn shared_joins_and_double_ones_are_counted_apart() {
        let mut tally = Tally::default();
        let task = Duration::from_millis(2);
        for (is_shared, milliseconds) in [(true, 2), (true, 4), (false, 4), (true, 3)] {
            tally.count(is_shared, Duration::from_millis(milliseconds), task);
        }
        let values = tally.metrics(task).map(|(_, metric)| metric.value);
        let known = [0.25, 0.5, 13.0 / 4.0 / 2.0];
        assert!(
            values
                .iter()
                .zip(known)
                .all(|(value, known)| (value - known).abs() < 1e-12)
        );
    }

    #[test]
    fn without_a_second_worker_nothing_is_said_about_sharing() {
        let mut tasks = long_tasks(false);
        tasks.reset();
        tasks.run_sequential();
        tasks.check().unwrap();
        assert!(!tasks.metrics().contains_key("doubled"));
    }
}
