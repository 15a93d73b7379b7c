//! On random inputs, the smallest ones included, both programs of every workload give the same
//! answer on every pool. Workloads and their parameters come from the catalogue: a new one is tested
//! without a line here.

use std::collections::BTreeMap;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use workloads::measure::run;
use workloads::parameters::{Accepts, Parameter, Values};
use workloads::protocol::{Failure, Program, Request, SCHEMA};
use workloads::workload::{Description, Setup, Size, catalogue};

/// Random inputs per workload.
const CASES: u32 = 16;

/// Pools of one thread, of as many as small hosts have, of an odd number, and of more than there
/// are CPUs.
const THREADS: [usize; 4] = [1, 2, 3, 8];

/// Parameters that keep the value of size `tiny`, and why.
const KEPT: [(&str, &str, &str); 4] = [
    ("packets", "stop", "a run that time ends does what it manages, each time another sum"),
    ("packets", "sources", "0 stands for one per worker, so that the input follows the threads"),
    ("kv", "empty", "its other value lets time pass by the quarter of a second"),
    ("kv", "rate", "a few requests a second last for minutes"),
];

fn request(workload: &str, program: Program, threads: usize, seed: u64) -> Request {
    Request {
        workload: workload.to_owned(),
        program,
        threads,
        seed,
        ..serde_json::from_value(serde_json::json!({
            "schema": SCHEMA, "workload": "", "size": "tiny", "program": "parallel",
            "threads": 1, "seed": 0, "warmup_iterations": 0, "iterations": 1
        }))
        .expect("a request with every required field")
    }
}

/// Values of a parameter: its three smallest, and up to what `tiny` has; any of its words.
fn values(parameter: &Parameter, tiny: &str) -> BoxedStrategy<String> {
    match parameter.accepts {
        Accepts::Whole { min, max } => {
            let usual = tiny.parse::<u64>().expect("a whole number").clamp(min, max);
            prop_oneof![min..=max.min(min + 2), min..=usual].prop_map(|n| n.to_string()).boxed()
        }
        Accepts::OneOf(words) => select(words).prop_map(str::to_owned).boxed(),
    }
}

/// Explicit values for all parameters.
fn parameters(description: &'static Description) -> impl Strategy<Value = Vec<(String, String)>> {
    let tiny = description.parameters_of(Size::Tiny);
    let is_kept = |parameter: &&Parameter| {
        !KEPT
            .iter()
            .any(|(workload, name, _)| (*workload, *name) == (description.name, parameter.name))
    };
    description
        .parameters
        .iter()
        .filter(is_kept)
        .map(|parameter| {
            (Just(parameter.name.to_owned()), values(parameter, &tiny[parameter.name]))
        })
        .collect::<Vec<_>>()
}

/// The answer, or why the request is refused.
fn answer(request: &Request) -> Result<Result<String, String>, TestCaseError> {
    match run("test", request) {
        Ok(outcome) => Ok(Ok(outcome.answer)),
        Err(Failure::Refused { message }) => Ok(Err(message)),
        Err(failure) => Err(TestCaseError::fail(format!("{request:?}: {failure:?}"))),
    }
}

#[test]
fn both_programs_agree_on_random_inputs_of_every_workload() {
    for workload in catalogue() {
        let description = workload.description();
        let name = description.name;
        let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
        TestRunner::new(config)
            .run(&(0_u64..1_000, parameters(description)), |(seed, parameters)| {
                let with = |program, threads| Request {
                    parameters: parameters.iter().cloned().collect(),
                    ..request(name, program, threads, seed)
                };
                let sequential = answer(&with(Program::Sequential, 1))?;
                for threads in THREADS {
                    let parallel = answer(&with(Program::Parallel, threads))?;
                    prop_assert_eq!(&parallel, &sequential, "{} threads", threads);
                }
                Ok(())
            })
            .unwrap_or_else(|failure| panic!("{name}: {failure}"));
    }
}

#[test]
fn a_zero_that_means_no_work_is_refused_by_every_workload() {
    for workload in catalogue() {
        let description = workload.description();
        for parameter in description.parameters {
            let Accepts::Whole { min: 1.., .. } = parameter.accepts else { continue };
            let mut request = request(description.name, Program::Parallel, 1, 0);
            request.parameters.insert(parameter.name.to_owned(), "0".to_owned());
            let failure = run("test", &request).expect_err("refused");
            let Failure::Refused { message } = failure else { panic!("{failure:?}") };
            assert!(
                message.contains(&format!("parameter `{}` = `0`", parameter.name)),
                "{message}"
            );
        }
    }
}

#[test]
fn an_answer_that_was_never_given_is_rejected_by_every_workload() {
    for workload in catalogue() {
        let description = workload.description();
        let values = Values::resolve(description, Size::Tiny, &BTreeMap::new(), false).unwrap();
        let setup = Setup { seed: 1, values: &values, input: None, threads: 1 };
        let mut instance = workload.prepare(&setup).unwrap();
        instance.reset();
        assert!(instance.check().is_err(), "{}", description.name);
    }
}
