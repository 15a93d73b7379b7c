//! `two-long-tasks`: a join of two halves of 5 ms each.
//!
//! If an idle worker takes the second half, the join takes 5 ms, and otherwise 10: the direct
//! measure of whether the second of two tasks gets a worker of its own. Its times say something
//! only with two threads or more on two CPUs or more, and are left out otherwise.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use protocol::Metric;
use rayon::ThreadPool;

use super::meeting::Meeting;
use crate::kinds::pacing::{cores, spin_until};
use crate::usage::nanoseconds;
use crate::workload::{Mismatch, Setup};

pub(super) struct LongTasks {
    task: Duration,
    /// There is a second worker, and a second CPU for it.
    can_share: bool,
    /// Halves that ran.
    ran: AtomicUsize,
    /// The current run's.
    tally: Tally,
    /// All runs' since the warm-up.
    total: Tally,
}

impl LongTasks {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        Self::of(
            Duration::from_micros(setup.values.whole("task-us")),
            setup.threads >= 2 && cores() >= 2,
        )
    }

    fn of(task: Duration, can_share: bool) -> Self {
        Self {
            task,
            can_share,
            ran: AtomicUsize::new(0),
            tally: Tally::default(),
            total: Tally::default(),
        }
    }

    /// `join` runs both halves with what they need and says whether two threads did.
    fn meet(&mut self, join: impl Fn(Duration, &AtomicUsize) -> bool) {
        let begun = Instant::now();
        let is_shared = join(self.task, &self.ran);
        self.tally.count(is_shared, begun.elapsed(), self.task);
    }
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

/// One half.
fn work(task: Duration, ran: &AtomicUsize) -> impl PartialEq {
    spin_until(Instant::now() + task);
    // Relaxed: read after the join, which orders it.
    ran.fetch_add(1, Relaxed);
    thread::current().id()
}

impl Meeting for LongTasks {
    const IS_INSIDE: bool = true;

    fn begin_run(&mut self) {
        *self.ran.get_mut() = 0;
        self.tally = Tally::default();
    }

    fn forget_warmup(&mut self) {
        self.total = Tally::default();
    }

    fn alone(&mut self, _: usize) {
        self.meet(|task, ran| work(task, ran) != work(task, ran));
    }

    fn together(&mut self, _: &ThreadPool, _: usize) {
        self.meet(|task, ran| {
            let (one, other) = rayon::join(|| work(task, ran), || work(task, ran));
            one != other
        });
    }

    fn check(&mut self, meetings: usize) -> Result<String, Mismatch> {
        self.total.add(self.tally);
        let halves = 2 * meetings;
        let describe = |ran: usize| format!("{ran} of {halves} tasks ran");
        Mismatch::unless_equal(&describe(halves), &describe(*self.ran.get_mut()))
    }

    fn metrics(&self) -> Vec<(String, Metric)> {
        let sharing = self.can_share.then(|| self.total.metrics(self.task));
        sharing.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::meeting::tests::rejects;
    use super::*;

    /// After two joins on one thread.
    fn long_tasks(can_share: bool) -> LongTasks {
        let mut tasks = LongTasks::of(Duration::from_micros(10), can_share);
        tasks.alone(0);
        tasks.alone(1);
        tasks.check(2).unwrap();
        tasks
    }

    #[test]
    fn a_task_that_was_lost_or_ran_twice_is_rejected() {
        let ran = |tasks| move |it: &mut LongTasks| it.ran = AtomicUsize::new(tasks);
        rejects(long_tasks(true), &[&ran(5), &ran(7)]);
    }

    #[test]
    fn joins_on_one_thread_are_unshared_and_double() {
        let values = long_tasks(true).total.metrics(Duration::from_micros(10));
        let [unshared, doubled, wall_ratio] = values.map(|(_, metric)| metric.value);
        assert!((unshared - 1.0).abs() < f64::EPSILON, "{unshared}");
        assert!((doubled - 1.0).abs() < f64::EPSILON, "{doubled}");
        assert!(wall_ratio >= 2.0, "{wall_ratio}");
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
        assert!(long_tasks(false).metrics().is_empty());
        assert_eq!(long_tasks(true).metrics().len(), 3);
    }
}
