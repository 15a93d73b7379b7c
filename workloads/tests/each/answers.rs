//! Every workload gives its known answer, with both programs, every pool and every seed.

use protocol::{Outcome, Program, Request, SCHEMA};
use workloads::measure::run;

use crate::CATALOGUE;
use crate::common::request;

/// Pools of one thread, of as many as small hosts have, of an odd number, and of more than there
/// are CPUs.
const THREADS: [usize; 4] = [1, 2, 3, 8];

fn names() -> impl Iterator<Item = &'static str> {
    CATALOGUE
        .iter()
        .map(|workload| workload.description().name.as_str())
}

fn answer(request: &Request) -> String {
    run("test", CATALOGUE, request)
        .unwrap_or_else(|failure| panic!("{request:?}: {failure:?}"))
        .answer
}

#[test]
fn sequential_and_parallel_agree_for_every_workload_pool_and_seed() {
    for name in names() {
        for seed in [0, 77] {
            let sequential = answer(&request(name, Program::Sequential, 1, seed));
            for threads in THREADS {
                let parallel = answer(&request(name, Program::Parallel, threads, seed));
                assert_eq!(
                    parallel, sequential,
                    "{name}, {threads} threads, seed {seed}"
                );
            }
        }
    }
}

#[test]
fn an_outcome_has_all_requested_fields_and_survives_serialization() {
    for name in names() {
        let outcome = run(
            "some-variant",
            CATALOGUE,
            &request(name, Program::Parallel, 2, 3),
        )
        .unwrap();
        assert_eq!(outcome.schema, SCHEMA);
        assert_eq!(outcome.variant, "some-variant");
        assert_eq!((outcome.warmup.len(), outcome.iterations.len()), (1, 2));
        assert!(
            outcome
                .iterations
                .iter()
                .all(|i| i.elapsed_ns > 0 && i.work_units > 0),
            "{name}"
        );
        assert!(outcome.usage.max_rss_bytes > 0);
        let line = serde_json::to_string(&outcome).unwrap();
        assert!(!line.contains('\n'));
        assert_eq!(serde_json::from_str::<Outcome>(&line).unwrap(), outcome);
    }
}
