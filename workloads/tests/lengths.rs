//! What an iteration lasts at least, where parameters say it: in no run is it shorter.

use std::time::Duration;

use protocol::{Program, Request, Size, Values};
use workloads::CATALOGUE;
use workloads::catalogue::find;
use workloads::measure::run;

fn request(name: &str, parameters: &[(&str, &str)]) -> Request {
    let parameters = parameters.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Request { parameters: parameters.collect(), ..Request::tiny(name) }
}

/// Workloads that last as long as their parameters say, and what makes them do so.
const OF_KNOWN_LENGTH: [(&str, &[(&str, &str)]); 12] = [
    ("packets", &[("stop", "timed")]),
    ("life", &[("frame-us", "500")]),
    ("ticks", &[]),
    ("idle", &[]),
    ("burst", &[]),
    ("install", &[]),
    ("barrier-join", &[]),
    ("two-long-tasks", &[]),
    ("injection-ping-pong", &[]),
    ("broadcast-dozing", &[]),
    ("kv", &[("load", "open")]),
    ("forum", &[]),
];

fn lasts(name: &str, parameters: &[(&str, &str)]) -> Option<Duration> {
    let workload = find(CATALOGUE, name).unwrap();
    let request = request(name, parameters);
    let values =
        Values::resolve(workload.description(), Size::Tiny, &request.parameters, false).unwrap();
    workload.description().lasts(&values)
}

#[test]
fn no_iteration_is_shorter_than_its_parameters_say() {
    for (name, parameters) in OF_KNOWN_LENGTH {
        let least = lasts(name, parameters).expect(name);
        for (program, threads) in [(Program::Sequential, 1), (Program::Parallel, 2)] {
            let request = Request { program, threads, iterations: 2, ..request(name, parameters) };
            let outcome = run("test", CATALOGUE, &request).unwrap();
            let shortest = outcome.iterations.iter().map(|it| it.elapsed_ns).min().unwrap();
            // Nothing waits for the last of a few periods, and gaps are random.
            assert!(Duration::from_nanos(shortest) > least / 2, "{name}: {shortest} ns, {least:?}");
        }
    }
}

#[test]
fn a_length_is_known_where_parameters_say_it_and_nowhere_else() {
    let known = CATALOGUE.iter().map(|workload| workload.description().name).filter(|name| {
        let row = OF_KNOWN_LENGTH.iter().find(|(known, _)| known == name);
        lasts(name, row.map_or(&[], |(_, parameters)| parameters)).is_some()
    });
    assert_eq!(known.count(), OF_KNOWN_LENGTH.len());
    assert_eq!(lasts("packets", &[]), None);
    assert_eq!(lasts("kv", &[]), None);
    assert_eq!(lasts("life", &[]), None);
    let timed = [("stop", "timed"), ("duration-ms", "1500")];
    assert_eq!(lasts("packets", &timed), Some(Duration::from_millis(1500)));
    let open = [("load", "open"), ("sessions", "5"), ("requests", "40"), ("rate", "100")];
    assert_eq!(lasts("kv", &open), Some(Duration::from_secs(2)));
    assert_eq!(
        lasts("ticks", &[("ticks", "3"), ("period-us", "7000")]),
        Some(Duration::from_millis(21))
    );
    let tasks = [("joins", "4"), ("task-us", "1000"), ("gap-us", "500")];
    assert_eq!(lasts("two-long-tasks", &tasks), Some(Duration::from_millis(5)));
}
