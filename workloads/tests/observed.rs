//! What an instrumented build tells beside the times, seen by a made-up observer.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;

use protocol::{Failure, Program, Request, TraceRequest};
use rayon::ThreadPool;
use workloads::CATALOGUE;
use workloads::measure::{run, run_observed};
use workloads::observer::{Counts, Observer, Span, Timeline};

/// Counts its own snapshots: each finds ten more pushes by worker 0 and one by worker 1 than the
/// one before, and a hundred more outside.
#[derive(Default)]
struct MadeUp {
    snapshots: Cell<u64>,
    timelines: RefCell<Vec<&'static str>>,
}

impl Observer for MadeUp {
    fn counts(&self, pool: &ThreadPool) -> Counts {
        assert_eq!(pool.current_num_threads(), 2);
        let n = self.snapshots.replace(self.snapshots.get() + 1);
        let worker = |each| vec![("pushes", each * n), ("sleeps", 7)];
        Counts {
            workers: vec![worker(10), worker(1)],
            outside: vec![("pushes", 100 * n)],
        }
    }

    fn begin_timeline(&self, _: &ThreadPool, spans_per_worker: usize) {
        assert!(spans_per_worker > 0);
        self.timelines.borrow_mut().push("begin");
    }

    fn end_timeline(&self, _: &ThreadPool) -> Timeline {
        self.timelines.borrow_mut().push("end");
        let span = Span {
            worker: 1,
            state: "asleep",
            begin_ns: 5,
            end_ns: 9,
        };
        Timeline {
            spans: vec![span],
            dropped: vec![0, 4],
        }
    }
}

fn request(program: Program, threads: usize, trace: Option<&Path>) -> Request {
    let trace = trace.map(|path| TraceRequest {
        path: path.to_owned(),
        branch: "mine".to_owned(),
    });
    Request {
        program,
        threads,
        warmup_iterations: 2,
        iterations: 3,
        trace,
        ..Request::tiny("fib-join")
    }
}

#[test]
fn counts_are_summed_over_the_timed_iterations_alone() {
    let observer = MadeUp::default();
    let outcome = run_observed(
        "test",
        CATALOGUE,
        &request(Program::Parallel, 2, None),
        &observer,
    )
    .unwrap();
    let events = outcome.events.unwrap();
    // Two snapshots for each timed iteration, one step between them; none for the warm-ups.
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
    assert!(observer.timelines.into_inner().is_empty());
}

#[test]
fn the_sequential_program_has_no_events() {
    let observer = MadeUp::default();
    let outcome = run_observed(
        "test",
        CATALOGUE,
        &request(Program::Sequential, 1, None),
        &observer,
    )
    .unwrap();
    assert_eq!(outcome.events, None);
}

#[test]
fn a_trace_is_one_timeline_over_all_timed_iterations() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.json");
    let observer = MadeUp::default();
    let request = request(Program::Parallel, 2, Some(&path));
    let outcome = run_observed("test", CATALOGUE, &request, &observer).unwrap();
    assert_eq!(observer.timelines.into_inner(), ["begin", "end"]);
    let text = std::fs::read_to_string(path).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["otherData"]["branch"], "mine");
    let begun = file["traceEvents"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|event| event["ph"] == "B");
    let names: Vec<&str> = begun.map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["iteration 0", "iteration 1", "iteration 2", "asleep"]
    );
    let spans = |name: &str| outcome.metrics[name].value;
    assert_eq!((spans("trace_spans"), spans("trace_dropped")), (1.0, 4.0));
}

#[test]
fn a_trace_that_cannot_be_made_is_refused_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let good = folder.path().join("trace.json");
    let nowhere = folder.path().join("nowhere/trace.json");
    let message = |result| match result {
        Err(Failure::Refused { message }) => message,
        other => panic!("not refused: {other:?}"),
    };
    let observed = |program, threads, path| {
        message(run_observed(
            "test",
            CATALOGUE,
            &request(program, threads, Some(path)),
            &MadeUp::default(),
        ))
    };
    assert!(observed(Program::Parallel, 2, &nowhere).contains("nowhere/trace.json: No such file"));
    assert!(observed(Program::Sequential, 1, &good).contains("has no workers"));
    let timed = message(run(
        "test",
        CATALOGUE,
        &request(Program::Parallel, 2, Some(&good)),
    ));
    assert!(timed.contains("ask an instrumented build"), "{timed}");
    assert!(!good.exists());
}
