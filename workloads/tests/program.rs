//! The program as the runner and a person at a terminal see it: lines, messages, exit codes.

use assert_cmd::Command;
use workloads::protocol::{Failure, Outcome};
use workloads::workload::catalogue;

fn workload() -> Command {
    Command::new(env!("CARGO_BIN_EXE_workload"))
}

const REQUEST: &str = r#"{"schema":1,"workload":"fib-join","size":"tiny","program":"parallel","threads":2,"seed":1,"warmup_iterations":1,"iterations":3}"#;

#[test]
fn a_request_line_is_answered_by_one_outcome_line() {
    let output =
        workload().write_stdin(format!("{REQUEST}\n")).assert().code(0).get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1);
    let outcome: Outcome = serde_json::from_str(&text).unwrap();
    assert_eq!((outcome.variant.as_str(), outcome.answer.as_str()), ("workspace", "610"));
    assert_eq!(outcome.iterations.len(), 3);
    assert!(output.stderr.is_empty());
}

#[test]
fn a_refused_request_is_answered_by_a_failure_line_and_exit_code_2() {
    for (input, expected) in [
        (REQUEST.replace("fib-join", "bogosort"), "unknown workload `bogosort`"),
        (REQUEST.replace("\"seed\"", "\"sead\""), "unknown field `sead`"),
        (String::new(), "expected a request as one line of JSON"),
        ("garbage".to_owned(), "expected a request as one line of JSON"),
    ] {
        let output = workload().write_stdin(input).assert().code(2).get_output().clone();
        let failure: Failure = serde_json::from_slice(&output.stdout).unwrap();
        let Failure::Refused { message } = failure else { panic!("{failure:?}") };
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_person_gets_a_readable_result() {
    let output = workload()
        .args(["quicksort", "--threads", "2", "--size", "tiny", "--iterations", "2"])
        .args(["--set", "elements=1000"])
        .assert()
        .code(0)
        .get_output()
        .clone();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("quicksort tiny: cutoff=50 elements=1000\nanswer: sorted"), "{text}");
    assert_eq!(text.matches("   timed").count(), 2, "{text}");
}

#[test]
fn a_person_can_ask_for_the_json_line() {
    let output = workload()
        .args(["mergesort", "--sequential", "--size", "tiny", "--json"])
        .assert()
        .code(0)
        .get_output()
        .clone();
    let outcome: Outcome = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(outcome.work_unit, "elements");
}

#[test]
fn a_mistake_is_named_on_standard_error_with_exit_code_2() {
    for (arguments, expected) in [
        (&["bogosort"][..], "error: unknown workload `bogosort`; known: quicksort"),
        (&["quicksort", "--set", "elements"], "expected NAME=VALUE"),
        (&["quicksort", "--set", "cutoff=1", "--set", "cutoff=2"], "given twice"),
    ] {
        let output = workload().args(arguments).assert().code(2).get_output().clone();
        assert!(output.stdout.is_empty());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn the_list_shows_every_workload_with_its_sizes() {
    let output = workload().arg("list").assert().code(0).get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    for workload in catalogue() {
        let heading = format!("{}: ", workload.description().name);
        assert!(text.lines().any(|line| line.starts_with(&heading)), "{heading}\n{text}");
    }
    let output = workload().args(["list", "--json"]).assert().code(0).get_output().clone();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list[0]["sizes"][0]["size"], "tiny");
    assert_eq!(list[0]["parameters"][0]["accepts"]["whole"]["min"], 1);
}
