//! Tests on random inputs, the smallest inputs included, that both programs of every workload give
//! the same answer on every pool. Workloads and their parameters come from the catalogue, so these
//! tests include new workloads.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use protocol::{Accepts, Description, Failure, Parameter, Program, Request, Size};
use workloads::measure::run;
use workloads::workload::Setup;

use crate::CATALOGUE;

const CASES: u32 = 16;

/// Sizes of pools: one thread, as many threads as small hosts have CPUs, an odd number, and more
/// threads than small hosts have CPUs.
const THREADS: [usize; 4] = [1, 2, 3, 8];

/// Parameters that keep the value of size `tiny`, with the reason.
const KEPT: [(&str, &str, &str); 4] = [
    (
        "packets",
        "sources",
        "0 means one source per worker, so the input depends on the number of threads",
    ),
    (
        "packets",
        "stop",
        "a run that ends after a time has another sum each time",
    ),
    (
        "kv",
        "empty",
        "with the other value, handlers sleep for 250 ms",
    ),
    (
        "kv",
        "rate",
        "at a few requests a second, a run takes minutes",
    ),
];

fn request(workload: &str, program: Program, threads: usize, seed: u64) -> Request {
    Request {
        program,
        threads,
        seed,
        ..Request::tiny(workload)
    }
}

/// Returns values of a parameter. A number is one of the three smallest, or any number up to the
/// value `tiny`. A word is any of the words that the parameter accepts.
fn values(parameter: &Parameter, tiny: &str) -> BoxedStrategy<String> {
    match &parameter.accepts {
        Accepts::OneOf(words) => select(words.clone()).boxed(),
        Accepts::Whole { min, max } => {
            let (min, max) = (*min, *max);
            let usual = tiny.parse::<u64>().expect("a whole number").clamp(min, max);
            prop_oneof![min..=max.min(min + 2), min..=usual]
                .prop_map(|n| n.to_string())
                .boxed()
        }
    }
}

fn is_kept(description: &Description, parameter: &Parameter) -> bool {
    KEPT.iter()
        .any(|(workload, name, _)| *workload == description.name && *name == parameter.name)
}

fn parameters(description: &Description) -> impl Strategy<Value = Vec<(String, String)>> + use<> {
    let tiny = description.parameters_of(Size::Tiny);
    description
        .parameters
        .iter()
        .filter(|parameter| !is_kept(description, parameter))
        .map(|parameter| {
            let values = values(parameter, &tiny[&parameter.name]);
            (Just(parameter.name.clone()), values)
        })
        .collect::<Vec<_>>()
}

/// Returns the answer, or the reason for which the request is refused.
fn answer(request: &Request) -> Result<Result<String, String>, TestCaseError> {
    match run("test", CATALOGUE, request) {
        Ok(outcome) => Ok(Ok(outcome.answer)),
        Err(Failure::Refused { message }) => Ok(Err(message)),
        Err(failure) => Err(TestCaseError::fail(format!("{request:?}: {failure:?}"))),
    }
}

#[test]
fn both_programs_agree_on_random_inputs_of_every_workload() {
    for workload in CATALOGUE.iter() {
        let description = workload.description();
        let name = &description.name;
        let config = Config {
            cases: CASES,
            failure_persistence: None,
            ..Config::default()
        };
        TestRunner::new(config)
            .run(
                &(0_u64..1_000, select(&THREADS[..]), parameters(description)),
                |(seed, threads, parameters)| {
                    let with = |program, threads| Request {
                        parameters: parameters.iter().cloned().collect(),
                        ..request(name, program, threads, seed)
                    };
                    let sequential = answer(&with(Program::Sequential, 1))?;
                    let parallel = answer(&with(Program::Parallel, threads))?;
                    prop_assert_eq!(&parallel, &sequential, "{} threads", threads);
                    Ok(())
                },
            )
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}

#[test]
fn an_answer_that_was_never_given_is_rejected_by_every_workload() {
    for workload in CATALOGUE.iter() {
        let description = workload.description();
        let values = description
            .resolve(Size::Tiny, &BTreeMap::new(), false)
            .unwrap();
        let setup = Setup {
            seed: 1,
            values: &values,
            input: None,
            threads: 1,
        };
        let mut instance = workload.prepare(&setup).unwrap();
        instance.reset();
        assert!(instance.check().is_err(), "{}", description.name);
    }
}
