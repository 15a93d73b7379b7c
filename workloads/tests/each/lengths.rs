//! What an iteration lasts at least, where parameters say it: in no run is it shorter.

use std::time::Duration;

use protocol::{Program, Request, Size};
use workloads::catalogue::find;
use workloads::measure::run;

use crate::{CATALOGUE, KNOWN_LENGTHS, OF_KNOWN_LENGTH};

fn request(name: &str, parameters: &[(&str, &str)]) -> Request {
    let parameters = parameters
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()));
    Request {
        parameters: parameters.collect(),
        ..Request::tiny(name)
    }
}

fn lasts(name: &str, parameters: &[(&str, &str)]) -> Option<Duration> {
    let workload = find(CATALOGUE, name).unwrap();
    let request = request(name, parameters);
    let values = workload
        .description()
        .resolve(Size::Tiny, &request.parameters, false)
        .unwrap();
    workload.description().lasts(&values)
}

#[test]
fn no_iteration_is_shorter_than_its_parameters_say() {
    for &(name, parameters) in OF_KNOWN_LENGTH {
        let least = lasts(name, parameters).expect(name);
        for (program, threads) in [(Program::Sequential, 1), (Program::Parallel, 2)] {
            let request = Request {
                program,
                threads,
                iterations: 2,
                ..request(name, parameters)
            };
            let outcome = run("test", CATALOGUE, &request).unwrap();
            let shortest = outcome
                .iterations
                .iter()
                .map(|it| it.elapsed_ns)
                .min()
                .unwrap();
            // Nothing waits for the last of a few periods, and gaps are random.
            assert!(
                Duration::from_nanos(shortest) > least / 2,
                "{name}: {shortest} ns, {least:?}"
            );
        }
    }
}

#[test]
fn a_length_is_known_where_parameters_say_it_and_nowhere_else() {
    let known = CATALOGUE
        .iter()
        .map(|workload| workload.description().name)
        .filter(|name| {
            let row = OF_KNOWN_LENGTH.iter().find(|(known, _)| known == name);
            lasts(name, row.map_or(&[][..], |(_, parameters)| parameters)).is_some()
        });
    assert_eq!(known.count(), OF_KNOWN_LENGTH.len());
    for (name, parameters, length) in KNOWN_LENGTHS {
        assert_eq!(lasts(name, parameters), *length, "{name} {parameters:?}");
    }
}
