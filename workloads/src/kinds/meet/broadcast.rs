//! `broadcast-dozing`: broadcasts to all workers, microseconds apart, while some workers are just
//! falling asleep.
//!
//! A broadcast must reach each worker separately, in any state. The shares take different times, so
//! that the workers fall asleep at different moments.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rayon::ThreadPool;

use crate::kinds::pacing::chain;
use crate::kinds::series::{Request, Run};
use crate::random::mix;
use crate::workload::{Mismatch, Setup};

pub(super) struct Broadcast {
    longest_part: u64,
    /// The number of broadcasts that reached each worker. Relaxed: read after the last broadcast,
    /// which orders it.
    reached: Vec<AtomicU64>,
}

impl Broadcast {
    pub(super) fn new(setup: &Setup<'_>) -> Self {
        Self {
            longest_part: setup.values.whole("part-steps"),
            reached: (0..setup.threads).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    /// Runs the share of broadcast `number` on one worker.
    fn part(&self, worker: usize, number: usize) -> u64 {
        self.reached[worker].fetch_add(1, Relaxed);
        let word = mix((number * self.reached.len() + worker) as u64);
        black_box(chain(word, word % self.longest_part))
    }
}

impl Request for Broadcast {
    fn begin_run(&mut self, _: usize) {
        for count in &mut self.reached {
            *count.get_mut() = 0;
        }
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        let broadcast = &*self;
        run.wait_for_each(|number, _| match pool {
            Some(pool) => {
                pool.broadcast(|worker| broadcast.part(worker.index(), number));
            }
            None => {
                for worker in 0..broadcast.reached.len() {
                    broadcast.part(worker, number);
                }
            }
        });
    }

    fn check(&mut self, broadcasts: usize) -> Result<String, Mismatch> {
        let known = broadcasts as u64;
        let mut counts = self.reached.iter_mut().map(|count| *count.get_mut());
        match counts.position(|count| count != known) {
            None => Ok(format!(
                "each of {known} broadcasts reached every worker once"
            )),
            Some(worker) => Err(Mismatch {
                expected: format!("{known} broadcasts reach every worker"),
                actual: format!(
                    "worker {worker} was reached {} times",
                    self.reached[worker].get_mut()
                ),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_was_left_out_or_reached_twice_is_rejected() {
        for (counts, is_right) in [([2, 2], true), ([2, 1], false), ([3, 2], false)] {
            let mut broadcast = Broadcast {
                longest_part: 1,
                reached: counts.map(AtomicU64::new).into(),
            };
            assert_eq!(broadcast.check(2).is_ok(), is_right, "{counts:?}");
        }
    }
}
