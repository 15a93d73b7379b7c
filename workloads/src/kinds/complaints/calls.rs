//! Many calls with the same problem, by one of several ways to enter a pool.

use std::time::{Duration, Instant};

use protocol::{Metric, Placement, Refusal};
use rayon::ThreadPool;

use crate::kinds::one_number::Problem;
use crate::kinds::series::{Request, Run};
use crate::placement;
use crate::workload::{Mismatch, Setup};

pub(super) enum Entry {
    Inside,
    Outside,
    /// For each call, an external thread builds a pool with as many workers as the trial's pool,
    /// and drops the new pool after the call.
    NewPool,
    /// An external thread calls the trial's pool and these pools in turn.
    InTurn(Vec<ThreadPool>),
}

impl Entry {
    pub(super) fn from(setup: &Setup<'_>) -> Self {
        match setup.values.word("from") {
            "inside" => Self::Inside,
            _ => Self::Outside,
        }
    }

    pub(super) fn in_turn(pools: usize, threads: usize) -> Result<Self, Refusal> {
        let others = (1..pools).map(|_| placement::build(threads, Placement::Free));
        others.collect::<Result<_, _>>().map(Self::InTurn)
    }

    fn solve(&self, number: usize, pool: &ThreadPool, problem: &impl Problem) -> u64 {
        let outside = |pool: &ThreadPool| pool.install(|| problem.parallel());
        match self {
            Self::Inside => problem.parallel(),
            Self::Outside => outside(pool),
            Self::NewPool => {
                let threads = pool.current_num_threads();
                let own = placement::build(threads, Placement::Free);
                outside(&own.expect("the trial's pool has as many workers"))
            }
            Self::InTurn(others) => match number % (others.len() + 1) {
                0 => outside(pool),
                turn => outside(&others[turn - 1]),
            },
        }
    }
}

pub(super) struct Calls<P> {
    problem: P,
    entry: Entry,
    known: u64,
    right: usize,
    /// The longest time that a call may take from the moment when it is due.
    deadline: Option<Duration>,
    /// Calls that missed the deadline, in all runs since the warm-up.
    missed: u64,
}

impl<P: Problem> Calls<P> {
    pub(super) fn new(problem: P, entry: Entry) -> Self {
        Self {
            known: problem.known(),
            problem,
            entry,
            right: 0,
            deadline: None,
            missed: 0,
        }
    }

    pub(super) fn with_deadline(self, deadline: Duration) -> Self {
        Self {
            deadline: Some(deadline),
            ..self
        }
    }
}

impl<P: Problem> Request for Calls<P> {
    fn is_inside(&self) -> bool {
        matches!(self.entry, Entry::Inside)
    }

    fn begin_run(&mut self, _: usize) {
        self.right = 0;
    }

    fn run(&mut self, pool: Option<&ThreadPool>, run: Run<'_>) {
        run.each(|number, due, latencies| {
            let begun = self.deadline.map_or_else(Instant::now, |_| due);
            let answer = match pool {
                Some(pool) => self.entry.solve(number, pool, &self.problem),
                None => self.problem.sequential(),
            };
            let took = begun.elapsed();
            latencies.note(took);
            self.right += usize::from(answer == self.known);
            self.missed += u64::from(self.deadline.is_some_and(|deadline| took > deadline));
        });
    }

    fn check(&mut self, calls: usize) -> Result<String, Mismatch> {
        let describe = |right| format!("{right} of {calls} calls gave {:016x}", self.known);
        Mismatch::unless_equal(&describe(calls), &describe(self.right))
    }

    fn forget_warmup(&mut self) {
        self.missed = 0;
    }

    fn metrics(&self) -> Vec<(String, Metric)> {
        let missed = |_| Metric {
            value: self.missed as f64,
            unit: "times".to_owned(),
        };
        let missed = self.deadline.map(missed);
        let named = missed.map(|missed| ("missed_deadlines".to_owned(), missed));
        named.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::Mutex;
    use std::thread::{self, ThreadId};

    use super::*;
    use crate::kinds::series::tests::{rejects, without_gaps};
    use crate::workload::Instance as _;

    #[derive(Default)]
    struct Seven {
        takes: Duration,
        solved_by: Mutex<Vec<ThreadId>>,
    }

    impl Problem for Seven {
        fn sequential(&self) -> u64 {
            thread::sleep(self.takes);
            self.solved_by.lock().unwrap().push(thread::current().id());
            7
        }

        fn parallel(&self) -> u64 {
            self.sequential()
        }

        fn known(&self) -> u64 {
            7
        }
    }

    #[test]
    fn a_wrong_call_is_rejected() {
        rejects(
            Calls::new(Seven::default(), Entry::Outside),
            &[&|calls| {
                calls.right -= 1;
            }],
        );
    }

    fn solved_by(entry: Entry) -> Vec<ThreadId> {
        let mut calls = without_gaps(6, Calls::new(Seven::default(), entry));
        let pool = placement::build(1, Placement::Free).unwrap();
        calls.reset();
        calls.run_on(&pool);
        assert!(calls.check().is_ok());
        calls.request().problem.solved_by.lock().unwrap().clone()
    }

    #[test]
    fn pools_in_turn_are_called_in_turn_and_a_new_pool_is_called_once() {
        let pools = |threads: &[ThreadId]| threads.iter().collect::<HashSet<_>>().len();
        let turns = solved_by(Entry::in_turn(3, 1).unwrap());
        assert_eq!(turns[..3], turns[3..]);
        assert_eq!(pools(&turns), 3);
        assert_eq!(pools(&solved_by(Entry::NewPool)), 6);
        assert_eq!(pools(&solved_by(Entry::Outside)), 1);
    }

    fn missed(takes: Duration, deadline: Duration) -> f64 {
        let seven = Seven {
            takes,
            ..Seven::default()
        };
        let calls = Calls::new(seven, Entry::Outside).with_deadline(deadline);
        let mut calls = without_gaps(3, calls);
        for is_warmup in [true, false] {
            calls.reset();
            calls.run_sequential();
            assert!(calls.check().is_ok());
            if is_warmup {
                calls.forget_warmup();
            }
        }
        calls.metrics()["missed_deadlines"].value
    }

    #[test]
    fn only_deadlines_that_passed_after_the_warm_up_are_missed() {
        let (short, long) = (Duration::from_millis(1), Duration::from_mins(1));
        assert!((missed(short, Duration::from_micros(10)) - 3.0).abs() < f64::EPSILON);
        assert!(missed(short, long).abs() < f64::EPSILON);
    }
}
