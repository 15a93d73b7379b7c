use std::cell::Cell;
use std::collections::BTreeMap;

use protocol::{Outcome, Program, Request};
use rayon::ThreadPool;
use workloads::CATALOGUE;
use workloads::catalogue::find;
use workloads::measure::trial;
use workloads::observer::{Counts, Observer};

#[derive(Default)]
struct MockRoot {
    snapshots: Cell<u64>,
}

impl Observer for MockRoot {
    fn counts(&self, pool: &ThreadPool) -> Counts {
        assert_eq!(pool.current_num_threads(), 2);
        let n = self.snapshots.replace(self.snapshots.get() + 1);
        let worker = |each| vec![("pushes", each * n), ("sleeps", 7)];
        Counts {
            workers: vec![worker(10), worker(1)],
            outside: vec![("pushes", 100 * n)],
        }
    }
}

fn observed(program: Program, threads: usize, observer: &MockRoot) -> Outcome {
    let request = Request {
        program,
        threads,
        warmup_iterations: 2,
        iterations: 3,
        ..Request::tiny("fib-join")
    };
    let workload = find(CATALOGUE, "fib-join").unwrap();
    trial("test", workload, &request, Some(observer)).unwrap()
}

#[test]
fn counts_are_summed_over_the_timed_iterations_alone() {
    let observer = MockRoot::default();
    let outcome = observed(Program::Parallel, 2, &observer);
    let events = outcome.events.unwrap();
    // Each timed iteration takes two snapshots, and the warm-ups take none.
    assert_eq!(observer.snapshots.get(), 2 * 3);
    let named = |pushes, sleeps| {
        BTreeMap::from([("pushes".to_owned(), pushes), ("sleeps".to_owned(), sleeps)])
    };
    assert_eq!(events.workers, [named(30, 0), named(3, 0)]);
    assert_eq!(events.outside, BTreeMap::from([("pushes".to_owned(), 300)]));
    let done: u64 = outcome
        .iterations
        .iter()
        .map(|iteration| iteration.work_units)
        .sum();
    assert_eq!((events.iterations, events.work_units), (3, done));
}

#[test]
fn the_sequential_program_has_no_events() {
    let outcome = observed(Program::Sequential, 1, &MockRoot::default());
    assert_eq!(outcome.events, None);
}
