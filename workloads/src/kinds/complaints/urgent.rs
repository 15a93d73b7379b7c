//! `urgent-call`: one small call from an external thread, behind a flood of background jobs.
//!
//! If a worker spawns the flood, the jobs are on that worker's deque, and another worker may take
//! the call. If the external thread spawns the flood, the call queues behind the flood.
//!
//! The latency of a call counts from the start of its flood, so that a pool gains nothing by
//! blocking the thread that spawns the flood.

use std::time::Instant;

use rayon::ThreadPool;

use crate::kinds::jobs::Batch;
use crate::kinds::pacing::{chain, chains};
use crate::kinds::series::{Request, Run};
use crate::workload::{Mismatch, Setup};

pub(super) struct Urgent {
    is_flood_inside: bool,
    flood: Batch,
    steps: u64,
    known: u64,
    sum: u64,
    right: usize,
}

impl Urgent {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        let values = setup.values;
        let steps = values.whole("call-steps");
        Self {
            is_flood_inside: values.word("flood-from") == "inside",
            flood: Batch::new(values.count("jobs"), values.whole("job-steps")),
            steps,
            known: chains(0..values.whole("calls"), steps),
            sum: 0,
            right: 0,
        }
    }
}

impl Request for Urgent {
    fn begin_run(&mut self, _: usize) {
        (self.sum, self.right) = (0, 0);
        self.flood.begin_run();
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        run.each(|number, due, latencies| {
            let (flood, steps) = (&self.flood, self.steps);
            let urgent = || chain(number as u64, steps);
            let mut answer = 0;
            let begun = Instant::now();
            let mut call = |pool: Option<&ThreadPool>| {
                answer = pool.map_or_else(urgent, |pool| pool.install(urgent));
                latencies.note(begun.elapsed());
            };
            if let Some(pool) = pool {
                pool.in_place_scope(|scope| {
                    let spawn_all = || {
                        (0..flood.jobs()).for_each(|job| scope.spawn(move |_| flood.run(job, due)));
                    };
                    if self.is_flood_inside {
                        pool.install(spawn_all);
                    } else {
                        spawn_all();
                    }
                    call(Some(pool));
                });
            } else {
                (0..flood.jobs()).for_each(|job| flood.run(job, due));
                call(None);
            }
            self.sum = self.sum.wrapping_add(answer);
            self.right += usize::from(self.flood.is_right());
            self.flood.begin_run();
        });
    }

    fn check(&mut self, calls: usize) -> Result<String, Mismatch> {
        let describe = |sum: u64, right: usize| {
            format!("{calls} calls add up to {sum:016x}, {right} floods ran each job once")
        };
        Mismatch::unless_equal(
            &describe(self.known, calls),
            &describe(self.sum, self.right),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::series::tests::rejects;

    #[test]
    fn a_wrong_call_and_a_flood_that_lost_a_job_are_rejected() {
        let urgent = Urgent {
            is_flood_inside: true,
            flood: Batch::new(4, 2),
            steps: 5,
            known: chains(0..3, 5),
            sum: 0,
            right: 0,
        };
        rejects(urgent, &[&|it| it.sum ^= 1, &|it| it.right -= 1]);
    }
}
