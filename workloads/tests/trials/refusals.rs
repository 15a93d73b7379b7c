use std::fs;
use std::path::{Path, PathBuf};

use protocol::{Failure, Program, Request};
use workloads::CATALOGUE;
use workloads::measure::run;

fn good() -> Request {
    Request::tiny("quicksort")
}

fn refusal(change: impl FnOnce(&mut Request)) -> String {
    assert!(run("test", CATALOGUE, &good()).is_ok());
    let mut request = good();
    change(&mut request);
    match run("test", CATALOGUE, &request) {
        Err(failure @ Failure::Refused { .. }) => {
            assert_eq!(failure.exit_code(), 2);
            let Failure::Refused { message } = failure else {
                unreachable!()
            };
            message
        }
        other => panic!("{request:?} is not refused: {other:?}"),
    }
}

fn set(request: &mut Request, name: &str, value: &str) {
    request.parameters.insert(name.to_owned(), value.to_owned());
}

#[test]
fn an_unknown_name_lists_the_known_ones() {
    let message = refusal(|request| request.workload = "bogosort".to_owned());
    assert!(
        message.starts_with("unknown workload `bogosort`; known: quicksort, tsp, "),
        "{message}"
    );
    let message = refusal(|request| request.size = "huge".to_owned());
    assert_eq!(
        message,
        "unknown size `huge`; known: tiny, small, medium, large"
    );
    let message = refusal(|request| set(request, "depth", "3"));
    assert_eq!(
        message,
        "workload `quicksort`: unknown parameter `depth`; known: elements, cutoff"
    );
}

#[test]
fn counts_that_mean_nothing_are_refused_with_a_remedy() {
    assert!(refusal(|request| request.threads = 0).contains("a pool needs 1 or more"));
    assert!(refusal(|request| request.iterations = 0).contains("ask for 1 or more"));
    assert!(refusal(|request| request.iterations = u32::MAX).contains("ask for fewer"));
    assert!(refusal(|request| request.warmup_iterations = u32::MAX).contains("ask for fewer"));
    assert!(refusal(|request| request.schema = 99).contains("schema 99"));
    let message = refusal(|request| {
        request.program = Program::Sequential;
        request.threads = 2;
    });
    assert!(
        message.contains("the sequential program uses no pool"),
        "{message}"
    );
    assert!(refusal(|request| request.threads = usize::MAX).contains("at most"));
}

#[test]
fn an_input_file_for_a_workload_that_reads_none_is_refused() {
    let message = refusal(|request| request.input = Some(PathBuf::from("cities.tsp")));
    assert_eq!(
        message,
        "workload `quicksort` reads no input file; remove input = cities.tsp"
    );
}

fn tsp(input: &Path) -> Request {
    Request {
        workload: "tsp".to_owned(),
        input: Some(input.to_owned()),
        ..good()
    }
}

/// Returns the refusal of a file with this text, and the file's name.
fn tsp_refusal(text: &str, parameters: &[(&str, &str)]) -> (String, String) {
    let file = tempfile::Builder::new().suffix(".tsp").tempfile().unwrap();
    fs::write(file.path(), text).unwrap();
    let message = refusal(|request| {
        *request = tsp(file.path());
        for (name, value) in parameters {
            set(request, name, value);
        }
    });
    (message, file.path().display().to_string())
}

/// Returns a file of `cities` cities, in which each thousand cities lie on a separate parabola.
fn tsp_file(cities: u32) -> String {
    let lines: Vec<String> = (1..=cities)
        .map(|x| format!("{x} {x} {}", x * (x % 1_000)))
        .collect();
    format!(
        "TYPE: TSP\nDIMENSION: {cities}\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n{}\nEOF\n",
        lines.join("\n")
    )
}

#[test]
fn a_broken_instance_file_is_refused_with_file_and_line() {
    let (message, path) = tsp_refusal(&tsp_file(5).replace("3 3 9", "3 3 nine"), &[]);
    assert_eq!(
        message,
        format!(
            "input {path}: line 7: y coordinate `nine` of city 3 is not a number from -1e9 to 1e9"
        )
    );
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_its_name() {
    let message = refusal(|request| *request = tsp(Path::new("no/such/file.tsp")));
    assert!(message.starts_with("input no/such/file.tsp: "), "{message}");
    assert!(message.ends_with("; expected a TSPLIB file"), "{message}");
    let message = refusal(|request| *request = tsp(Path::new("/dev/zero")));
    assert_eq!(
        message,
        "input /dev/zero: is no regular file; expected a TSPLIB file"
    );
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(1 << 30).unwrap();
    let message = refusal(|request| *request = tsp(file.path()));
    assert!(
        message.contains("has 1073741824 bytes, more than the"),
        "{message}"
    );
    fs::write(file.path(), b"\x1f\x8b\x08").unwrap();
    let message = refusal(|request| *request = tsp(file.path()));
    assert!(
        message.ends_with("is compressed (gzip); unpack it and name the result"),
        "{message}"
    );
}

#[test]
fn a_name_in_latin_1_is_read() {
    let mut latin = b"NAME: Z\xfcrich\n".to_vec();
    latin.extend(tsp_file(5).into_bytes());
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), &latin).unwrap();
    run("test", CATALOGUE, &tsp(file.path())).unwrap();
}

#[test]
fn more_cities_than_can_be_solved_are_refused_with_the_way_out() {
    let (message, _) = tsp_refusal(&tsp_file(41), &[]);
    assert!(
        message.contains("41 cities are more than max-cities = 40"),
        "{message}"
    );
    assert!(message.contains("set max-cities=41"), "{message}");
    // The program refuses the file before it computes the distances, which would take 80 GB.
    let (message, _) = tsp_refusal(&tsp_file(100_000), &[("max-cities", "64")]);
    assert!(message.contains("handles 64 at most"), "{message}");
}

#[test]
fn a_good_instance_file_is_solved_and_its_size_parameters_do_not_show() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), tsp_file(7)).unwrap();
    let outcome = run("test", CATALOGUE, &tsp(file.path())).unwrap();
    assert!(!outcome.parameters.contains_key("cities"));
    // The tour goes along the parabola and straight back: 3 + 5 + 7 + 9 + 11 + 13 + 48.4, with each
    // length rounded.
    assert_eq!(outcome.answer, "a tour of length 96");
}

#[test]
fn a_request_that_only_prepares_runs_nothing_and_still_refuses_a_broken_file() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), tsp_file(7)).unwrap();
    let only_prepare = || Request {
        prepare_only: true,
        ..tsp(file.path())
    };
    let outcome = run("test", CATALOGUE, &only_prepare()).unwrap();
    assert_eq!((outcome.iterations.len(), outcome.warmup.len()), (0, 0));
    assert!(
        outcome.answer.is_empty() && outcome.metrics.is_empty(),
        "{outcome:?}"
    );
    fs::write(file.path(), "NAME : broken\n").unwrap();
    let message = refusal(|request| *request = only_prepare());
    assert!(message.contains("line "), "{message}");
}
