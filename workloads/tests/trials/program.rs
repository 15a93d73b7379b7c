use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use protocol::{Failure, Outcome};

fn workload() -> Command {
    Command::new(env!("CARGO_BIN_EXE_workload"))
}

/// Returns the exit code, the standard output and the standard error of the program, which reads
/// `input`.
fn answered(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut program = workload()
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to_program = program.stdin.take().unwrap();
    // Writing may fail, because a program that reads nothing may have ended.
    let _ = to_program.write_all(input.as_bytes());
    drop(to_program);
    let output = program.wait_with_output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

const REQUEST: &str = r#"{"schema":1,"workload":"fib-join","size":"tiny","program":"parallel","threads":2,"seed":1,"warmup_iterations":1,"iterations":3}"#;

#[test]
fn a_request_line_is_answered_by_one_outcome_line() {
    let (code, text, errors) = answered(&[], &format!("{REQUEST}\n"));
    assert_eq!((code, text.lines().count()), (0, 1));
    let outcome: Outcome = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (outcome.variant.as_str(), outcome.answer.as_str()),
        ("workspace", "610")
    );
    assert_eq!(outcome.iterations.len(), 3);
    assert!(errors.is_empty());
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
        let (code, text, _) = answered(&[], &input);
        let Failure::Refused { message } = serde_json::from_str(&text).unwrap() else {
            panic!("{text}")
        };
        assert_eq!(code, 2);
        assert!(message.contains(expected), "{message}");
    }
}

#[test]
fn a_person_gets_a_readable_result() {
    let arguments = "quicksort --threads 2 --size tiny --iterations 2 --set elements=1000";
    let arguments: Vec<&str> = arguments.split(' ').collect();
    let (code, text, _) = answered(&arguments, "");
    assert_eq!(code, 0);
    assert!(
        text.starts_with("quicksort tiny: cutoff=50 elements=1000\nanswer: sorted"),
        "{text}"
    );
    assert_eq!(text.matches("   timed").count(), 2, "{text}");
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
        let (code, text, errors) = answered(arguments, "");
        assert_eq!((code, text.as_str()), (2, ""));
        assert!(errors.contains(expected), "{errors}");
    }
}

#[test]
fn a_trial_that_is_killed_leaves_no_hog_behind() {
    let arguments = ["crowded", "--size=large", "--set", "hogs-per-cpu=1"];
    let mut trial = workload().args(arguments).spawn().unwrap();
    let until = |is_so: &dyn Fn() -> bool| {
        while !is_so() {
            thread::sleep(Duration::from_millis(1));
        }
    };
    // In the file `stat`, the state and the parent of a process are behind its name, which may
    // contain any character.
    let look = |process: u32| {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ').map(str::to_owned);
        Some((fields.next()?, fields.next()?.parse::<u32>().ok()?))
    };
    let hogs = || -> Vec<u32> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers
            .filter(|&process: &u32| {
                let line = fs::read_to_string(format!("/proc/{process}/cmdline"));
                line.is_ok_and(|line| line.starts_with("/bin/sh"))
                    && look(process).is_some_and(|(_, parent)| parent == trial.id())
            })
            .collect()
    };
    until(&|| !hogs().is_empty());
    let hogs = hogs();
    trial.kill().unwrap();
    trial.wait().unwrap();
    // The process that inherits the dead hogs may take its time to reap them.
    until(&|| {
        hogs.iter()
            .all(|&hog| look(hog).is_none_or(|(state, _)| state == "Z"))
    });
}

#[test]
fn an_answer_that_cannot_be_written_is_no_success() {
    let program = || {
        let mut program = workload();
        program.args(["quicksort", "--size=tiny"]);
        program
    };
    let full = fs::File::create("/dev/full").unwrap();
    let output = program().stdout(full).output().unwrap();
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(4), "{error}");
    assert!(
        error.starts_with("error: standard output: No space left"),
        "{error}"
    );
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = program().stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stderr.is_empty());
}
