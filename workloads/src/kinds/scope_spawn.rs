//! `scope-spawn`: a worker spawns very many tiny jobs into one scope.
//!
//! Other workers steal the jobs one by one. A pool that counts idle workers may update its counters
//! for every stolen job.

use std::hint::black_box;

use protocol::Refusal;

use crate::machine::add_cost;
use crate::workload::{Instance, Mismatch, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let slots = vec![0; setup.values.count("spawns")];
    Ok(Box::new(Jobs {
        slots,
        repeats: setup.values.whole("repeats"),
    }))
}

/// One slot per job of a scope. The job with number i adds i to its slot, so that the check finds
/// jobs that were lost or ran twice.
struct Jobs {
    slots: Vec<u64>,
    repeats: u64,
}

impl Jobs {
    fn numbered(&mut self) -> impl Iterator<Item = (u64, &mut u64)> {
        (1..).zip(&mut self.slots)
    }

    fn work_units(&self) -> u64 {
        self.repeats * self.slots.len() as u64
    }
}

fn work(number: u64, slot: &mut u64) {
    add_cost(1);
    *slot += number;
}

impl Instance for Jobs {
    fn reset(&mut self) {
        self.slots.fill(0);
    }

    fn run_sequential(&mut self) -> u64 {
        for _ in 0..self.repeats {
            for (number, slot) in black_box(&mut *self).numbered() {
                work(number, slot);
            }
        }
        self.work_units()
    }

    fn run_parallel(&mut self) -> u64 {
        for _ in 0..self.repeats {
            rayon::scope(|scope| {
                for (number, slot) in self.numbered() {
                    scope.spawn(move |_| work(number, slot));
                }
            });
        }
        self.work_units()
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let repeats = self.repeats;
        let expected = format!("{} jobs ran {repeats} times", self.slots.len());
        let fault = self
            .numbered()
            .find(|(number, slot)| **slot != repeats * number);
        let actual = match fault {
            None => expected.clone(),
            Some((number, slot)) => format!("job {number} ran {} times", *slot / number),
        };
        Mismatch::unless_equal(&expected, &actual)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_is_lost_or_runs_twice_is_named() {
        let check = |slots: &[u64]| {
            Jobs {
                slots: slots.to_vec(),
                repeats: 2,
            }
            .check()
        };
        assert_eq!(check(&[2, 2, 6]).unwrap_err().actual, "job 2 ran 1 times");
        assert_eq!(check(&[2, 4, 9]).unwrap_err().actual, "job 3 ran 3 times");
        assert_eq!(check(&[2, 4, 6]).unwrap(), "3 jobs ran 2 times");
    }
}
