//! The program as the runner and a person at a terminal see it: lines, messages, exit codes.

use assert_cmd::Command;
use protocol::{Failure, Outcome};
use workloads::CATALOGUE;

fn workload() -> Command {
    Command::new(env!("CARGO_BIN_EXE_workload"))
}

const REQUEST: &str = r#"{"schema":1,"workload":"fib-join","size":"tiny","program":"parallel","threads":2,"seed":1,"warmup_iterations":1,"iterations":3}"#;

#[test]
fn a_request_line_is_answered_by_one_outcome_line() {
    let output = workload()
        .write_stdin(format!("{REQUEST}\n"))
        .assert()
        .code(0)
        .get_output()
        .clone();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().count(), 1);
    let outcome: Outcome = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (outcome.variant.as_str(), outcome.answer.as_str()),
        ("workspace", "610")
    );
    assert_eq!(outcome.iterations.len(), 3);
    assert!(output.stderr.is_empty());
}

#[test]
fn a_refused_request_is_answered_by_a_failure_line_and_exit_code_2() {
    for (input, expected) in [
        (
            REQUEST.replace("fib-join", "bogosort"),
            "unknown workload `bogosort`",
        ),
        (
            REQUEST.replace("\"seed\"", "\"sead\""),
            "unknown field `sead`",
        ),
        (String::new(), "expected a request as one line of JSON"),
        (
            "garbage".to_owned(),
            "expected a request as one line of JSON",
        ),
    ] {
        let output = workload()
            .write_stdin(input)
            .assert()
            .code(2)
            .get_output()
            .clone();
        let failure: Failure = serde_json::from_slice(&output.stdout).unwrap();
        let Failure::Refused { message } = failure else {
            panic!("{failure:?}")
        };
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_person_gets_a_readable_result() {
    let output = workload()
        .args([
            "quicksort",
            "--threads",
            "2",
            "--size",
            "tiny",
            "--iterations",
            "2",
        ])
        .args(["--set", "elements=1000"])
        .assert()
        .code(0)
        .get_output()
        .clone();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("quicksort tiny: cutoff=50 elements=1000\nanswer: sorted"),
        "{text}"
    );
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
        (
            &["bogosort"][..],
            "error: unknown workload `bogosort`; known: quicksort",
        ),
        (&["quicksort", "--set", "elements"], "expected NAME=VALUE"),
        (
            &["quicksort", "--set", "cutoff=1", "--set", "cutoff=2"],
            "given twice",
        ),
    ] {
        let output = workload()
            .args(arguments)
            .assert()
            .code(2)
            .get_output()
            .clone();
        assert!(output.stdout.is_empty());
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn the_list_shows_every_workload_with_its_sizes() {
    let output = workload().arg("list").assert().code(0).get_output().clone();
    let text = String::from_utf8(output.stdout).unwrap();
    for workload in CATALOGUE.iter() {
        let heading = format!("{}: ", workload.description().name);
        assert!(
            text.lines().any(|line| line.starts_with(&heading)),
            "{heading}\n{text}"
        );
    }
    let output = workload()
        .args(["list", "--json"])
        .assert()
        .code(0)
        .get_output()
        .clone();
    let list: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(list[0]["sizes"]["tiny"]["elements"], "4000");
    assert_eq!(list[0]["parameters"][0]["accepts"]["min"], 1);
}

/// A synthetic capture in a file, changed by `damage`.
fn capture(damage: impl FnOnce(&mut Vec<u8>)) -> tempfile::NamedTempFile {
    let mut bytes = workloads::pcap::made_up::file_header();
    for kind in 0..workloads::pcap::made_up::KINDS {
        let (frame, _) = workloads::pcap::made_up::frame(kind, b"content");
        workloads::pcap::made_up::append(&mut bytes, &frame, frame.len());
    }
    damage(&mut bytes);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

/// Exit code, standard output and standard error of `workload pcap`.
fn pcap(file: &tempfile::NamedTempFile) -> (i32, String, String) {
    let output = workload().arg("pcap").arg(file.path()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_sound_capture_is_summed_up_in_one_line() {
    let (code, out, _) = pcap(&capture(|_| ()));
    assert_eq!(code, 0);
    assert!(out.starts_with("7 packets: 7 correct, 0 wrong, "), "{out}");
    assert_eq!(out.lines().count(), 1);
}

#[test]
fn a_flipped_byte_is_named_with_packet_place_and_both_checksums() {
    let (code, out, _) = pcap(&capture(|bytes| *bytes.last_mut().unwrap() ^= 1));
    assert_eq!(code, 1);
    assert_eq!(out.lines().count(), 2, "{out}");
    assert!(out.starts_with("packet 7 at byte "), "{out}");
    assert!(
        out.contains(": UDP checksum at byte ") && out.contains(", expected 0x"),
        "{out}"
    );
}

#[test]
fn a_truncated_capture_is_an_error_with_its_offset() {
    let (code, out, error) = pcap(&capture(|bytes| bytes.truncate(bytes.len() - 1)));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        error.contains(": byte ") && error.contains("packet 7 is cut off"),
        "{error}"
    );
}

#[test]
fn a_capture_that_was_not_read_as_a_whole_is_no_success() {
    let ask = |bytes: &mut Vec<u8>| bytes[20..24].copy_from_slice(&147_u32.to_le_bytes());
    let (code, out, error) = pcap(&capture(ask));
    assert_eq!(code, 5);
    assert!(
        out.starts_with("7 packets: 0 correct, ") && out.ends_with(", 7 not read\n"),
        "{out}"
    );
    assert!(
        error.ends_with(": not read: 7 packets of link type 147\n"),
        "{error}"
    );
}

#[test]
fn an_answer_that_cannot_be_written_is_neither_a_success_nor_a_wrong_checksum() {
    let wrong = capture(|bytes| *bytes.last_mut().unwrap() ^= 1);
    for (file, code) in [(capture(|_| ()), 0), (wrong, 1)] {
        let program = || {
            let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_workload"));
            program.arg("pcap").arg(file.path());
            program
        };
        let full = std::fs::File::create("/dev/full").unwrap();
        let output = program().stdout(full).output().unwrap();
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{error}");
        assert!(
            error.starts_with("error: standard output: No space left"),
            "{error}"
        );
        // A reader that has left, as `head` does, wants no more.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = program().stdout(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(code));
        assert!(output.stderr.is_empty());
    }
}
