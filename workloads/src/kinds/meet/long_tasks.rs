//! `two-long-tasks`: a join of two halves of 5 ms each.
//!
//! If an idle worker takes the second half, the join takes 5 ms, otherwise 10 ms. The metrics need
//! at least two threads and two CPUs, and are left out otherwise.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use protocol::Metric;
use rayon::ThreadPool;

use crate::kinds::pacing::{cores, spin_until};
use crate::kinds::series::{Request, Run};
use crate::usage::nanoseconds;
use crate::workload::{Mismatch, Setup};

pub(super) struct LongTasks {
    task: Duration,
    /// Whether there is a second worker, and a second CPU for it.
    can_share: bool,
    /// How many halves ran.
    ran: AtomicUsize,
    /// The joins of the current run.
    tally: Tally,
    /// The joins of all runs since the warm-up.
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

    /// Calls `join`, which runs both halves and returns whether two threads ran them.
    fn meet(&mut self, join: impl Fn(Duration, &AtomicUsize) -> bool) {
        let begun = Instant::now();
        let is_shared = join(self.task, &self.ran);
        self.tally.count(is_shared, begun.elapsed(), self.task);
    }
}

#[derive(Clone, Copy, Default)]
struct Tally {
    joins: u64,
    /// Joins in which one thread ran both halves.
    unshared: u64,
    /// Joins that took longer than 1.5 times one half.
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

impl Request for LongTasks {
    fn is_inside(&self) -> bool {
        true
    }

    fn begin_run(&mut self, _: usize) {
        *self.ran.get_mut() = 0;
        self.tally = Tally::default();
    }

    fn forget_warmup(&mut self) {
        self.total = Tally::default();
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        run.wait_for_each(|_, _| {
            self.meet(|task, ran| {
                if pool.is_some() {
                    let (one, other) = rayon::join(|| work(task, ran), || work(task, ran));
                    one != other
                } else {
                    work(task, ran) != work(task, ran)
                }
            });
        });
    }

    fn check(&mut self, joins: usize) -> Result<String, Mismatch> {
        self.total.add(self.tally);
        let halves = 2 * joins;
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
    use super::*;
    use crate::kinds::series::tests::{rejects, without_gaps};
    use crate::workload::Instance as _;

    fn of(can_share: bool) -> LongTasks {
        LongTasks::of(Duration::from_micros(10), can_share)
    }

    /// The tally after two joins on one thread, and the number of its metrics.
    fn joined(can_share: bool) -> (Tally, usize) {
        let mut joins = without_gaps(2, of(can_share));
        joins.reset();
        joins.run_sequential();
        joins.check().unwrap();
        let tasks = joins.request();
        (tasks.total, tasks.metrics().len())
    }

    #[test]
    fn a_task_that_was_lost_or_ran_twice_is_rejected() {
        let ran = |tasks| move |it: &mut LongTasks| it.ran = AtomicUsize::new(tasks);
        rejects(of(true), &[&ran(5), &ran(7)]);
    }

    #[test]
    fn joins_on_one_thread_are_unshared_and_double() {
        let values = joined(true).0.metrics(Duration::from_micros(10));
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
        assert_eq!(joined(false).1, 0);
        assert_eq!(joined(true).1, 3);
    }
}
