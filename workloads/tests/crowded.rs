//! The processes of `crowded` end with it, and its wrong parameters are refused.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use protocol::{Failure, Program, Request};
use workloads::CATALOGUE;
use workloads::measure::run;

/// State and parent of a process, unless it is gone.
fn look(process: u32) -> Option<(String, u32)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // Behind the name, which may hold anything.
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    Some((fields.next()?.to_owned(), fields.next()?.parse().ok()?))
}

/// Children of `parent` that run the shell, and so are hogs.
fn hogs(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_hog = |&process: &u32| {
        let line = fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default();
        line.starts_with("/bin/sh") && look(process).is_some_and(|(_, of)| of == parent)
    };
    numbers.filter(is_hog).collect()
}

fn wait_until(is_so: impl Fn() -> bool) {
    while !is_so() {
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_trial_that_is_killed_leaves_no_hog_behind() {
    let mut trial = Command::new(env!("CARGO_BIN_EXE_workload"))
        .args([
            "crowded",
            "--threads",
            "1",
            "--size",
            "large",
            "--set",
            "hogs-per-cpu=1",
        ])
        .spawn()
        .unwrap();
    wait_until(|| !hogs(trial.id()).is_empty());
    let hogs = hogs(trial.id());
    trial.kill().unwrap();
    trial.wait().unwrap();
    // The process that inherits the dead hogs may take its time to reap them.
    wait_until(|| {
        hogs.iter()
            .all(|&hog| look(hog).is_none_or(|(state, _)| state == "Z"))
    });
}

#[test]
fn a_trial_without_hogs_gives_the_answer_of_a_crowded_one() {
    let answer = |hogs: &str| {
        let mut request = Request {
            program: Program::Parallel,
            threads: 2,
            ..Request::tiny("crowded")
        };
        request
            .parameters
            .insert("hogs-per-cpu".to_owned(), hogs.to_owned());
        run("test", CATALOGUE, &request).unwrap().answer
    };
    assert_eq!(answer("0"), answer("1"));
}

#[test]
fn parameters_that_make_no_sense_are_refused_with_what_would() {
    for (name, value, expected) in [
        ("load", "all", "one of install, inject, ticks"),
        ("hogs-per-cpu", "17", "a whole number from 0 to 16"),
        ("rounds", "0", "a whole number from 1 to 10000"),
    ] {
        let mut request = Request::tiny("crowded");
        request.parameters.insert(name.to_owned(), value.to_owned());
        let failure = run("test", CATALOGUE, &request).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        let Failure::Refused { message } = failure else {
            panic!("{failure:?}")
        };
        assert_eq!(
            message,
            format!("workload `crowded`: parameter `{name}` = `{value}`: expected {expected}")
        );
    }
}
