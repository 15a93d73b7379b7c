//! `two-long-tasks`: a join of two halves that take `task-us` each, by default 5 ms.
//!
//! With the default, the latency of the join is 5 ms if an idle worker takes the second half, and
//! otherwise 10 ms.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use crate::kinds::pacing::spin_until;
use crate::kinds::series::{Request, Run};
use crate::workload::{Mismatch, Setup};

pub(super) struct LongTasks {
    task: Duration,
    ran: AtomicUsize,
}

impl LongTasks {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        Self {
            task: Duration::from_micros(setup.values.whole("task-us")),
            ran: AtomicUsize::new(0),
        }
    }

    fn run_half(&self) {
        spin_until(Instant::now() + self.task);
        // Relaxed: the count is read after the join.
        self.ran.fetch_add(1, Relaxed);
    }
}

impl Request for LongTasks {
    fn is_inside(&self) -> bool {
        true
    }

    fn begin_run(&mut self, _: usize) {
        *self.ran.get_mut() = 0;
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        run.wait_for_each(|_, _| {
            if pool.is_some() {
                rayon::join(|| self.run_half(), || self.run_half());
            } else {
                self.run_half();
                self.run_half();
            }
        });
    }

    fn check(&mut self, joins: usize) -> Result<String, Mismatch> {
        let halves = 2 * joins;
        let describe = |ran: usize| format!("{ran} of {halves} tasks ran");
        Mismatch::unless_equal(&describe(halves), &describe(*self.ran.get_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::series::tests::rejects;

    #[test]
    fn a_task_that_was_lost_or_ran_twice_is_rejected() {
        let ran = |tasks| move |it: &mut LongTasks| it.ran = AtomicUsize::new(tasks);
        let tasks = LongTasks {
            task: Duration::from_micros(10),
            ran: AtomicUsize::new(0),
        };
        rejects(tasks, &[&ran(5), &ran(7)]);
    }
}
