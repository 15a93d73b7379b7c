//! Tests that the workloads of an experiment return their known answers on the rival.

use protocol::Request;
use workloads::{CATALOGUE, measure};

/// The workloads of the experiment `rivals`; `skynet` starts its children in two ways.
#[cfg(feature = "chili")]
const WORKLOADS: &[(&str, &[(&str, &str)])] = &[
    ("fib-join", &[]),
    ("tree-sum", &[]),
    ("nqueens", &[]),
    ("skynet", &[("children", "scope")]),
    ("skynet", &[("children", "iterator")]),
    ("quicksort", &[]),
    ("ticks", &[("mode", "regions")]),
    ("ticks", &[("mode", "install")]),
];

/// The workloads of the experiment `regions-rivals`.
#[cfg(not(feature = "chili"))]
const WORKLOADS: &[(&str, &[(&str, &str)])] = &[
    ("regions", &[("shape", "broadcast"), ("from", "inside")]),
    ("regions", &[("shape", "broadcast"), ("from", "outside")]),
    (
        "nbody",
        &[("tasks", "share"), ("length", "fixed"), ("from", "inside")],
    ),
    (
        "nbody",
        &[("tasks", "share"), ("length", "fixed"), ("from", "outside")],
    ),
];

#[test]
fn every_workload_of_the_comparison_gives_its_known_answer() {
    for &(workload, parameters) in WORKLOADS {
        for threads in [1, 2, 4] {
            let request = Request {
                threads,
                iterations: 3,
                hang_after_ms: Some(20_000),
                parameters: parameters
                    .iter()
                    .map(|&(name, value)| (name.to_owned(), value.to_owned()))
                    .collect(),
                ..Request::tiny(workload)
            };
            let outcome = measure::run("rival", CATALOGUE, &request);
            assert!(
                outcome.is_ok(),
                "{workload}, {threads} threads: {outcome:?}"
            );
        }
    }
}

#[test]
fn a_worker_that_cannot_be_pinned_is_refused() {
    let request = Request {
        placement: protocol::Placement::Pinned,
        ..Request::tiny(WORKLOADS[0].0)
    };
    let failure = measure::run("rival", CATALOGUE, &request).unwrap_err();
    assert!(
        format!("{failure:?}").contains("`start_handler` is not an option of"),
        "{failure:?}"
    );
}
