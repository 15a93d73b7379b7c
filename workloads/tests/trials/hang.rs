use std::process::{Command, Output};
use std::sync::Barrier;
use std::sync::LazyLock;
use std::time::Duration;

use protocol::{Description, Failure, Program, Refusal, Request};
use workloads::measure::trial;
use workloads::workload::{Instance, Mismatch, Setup, Workload};

const LIMIT: Duration = Duration::from_millis(300);

/// A workload that hangs: in the second iteration, both halves of a join wait for a third half,
/// which does not exist.
struct Hanging {
    runs: u32,
}

static HANGING: LazyLock<Description> = LazyLock::new(|| Description {
    name: "hanging".to_owned(),
    work_unit: "hangs".to_owned(),
    ..Description::default()
});

impl Workload for Hanging {
    fn description(&self) -> &Description {
        &HANGING
    }

    fn prepare(&self, _: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Hanging { runs: 0 }))
    }
}

impl Instance for Hanging {
    fn reset(&mut self) {
        self.runs += 1;
    }

    fn run_sequential(&mut self) -> u64 {
        1
    }

    fn run_parallel(&mut self) -> u64 {
        if self.runs == 2 {
            let barrier = Barrier::new(3);
            rayon::join(|| barrier.wait(), || barrier.wait());
        }
        1
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        Ok("ran".to_owned())
    }
}

fn request(program: Program, threads: usize) -> Request {
    Request {
        program,
        threads,
        warmup_iterations: 1,
        iterations: 2,
        hang_after_ms: Some(u64::try_from(LIMIT.as_millis()).unwrap()),
        ..Request::tiny("hanging")
    }
}

/// This function is no test: the tests start it as a process, which hangs.
#[test]
#[ignore = "a process that other tests start"]
fn child() {
    let outcome = trial(
        "test",
        &Hanging { runs: 0 },
        &request(Program::Parallel, 2),
        None,
    );
    panic!("the run did not hang: {outcome:?}");
}

fn hang() -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["hang::child", "--exact", "--ignored", "--nocapture"])
        .output()
        .unwrap()
}

#[test]
fn a_hang_ends_the_process_and_names_the_iteration_and_every_worker() {
    let output = hang();
    assert_eq!(output.status.code(), Some(1));
    let printed = String::from_utf8(output.stdout).unwrap();
    let line = &printed[printed.find('{').expect("a failure")..];
    let Failure::Hang {
        iteration,
        waited_ms,
    } = serde_json::from_str(line).unwrap()
    else {
        panic!("{line}")
    };
    assert_eq!(iteration, 1);
    assert!(Duration::from_millis(waited_ms) >= LIMIT, "{waited_ms}");
    let report = String::from_utf8(output.stderr).unwrap();
    for worker in ["worker-0", "worker-1"] {
        let line = report.lines().find(|line| line.contains(worker));
        let line = line.unwrap_or_else(|| panic!("no {worker}:\n{report}"));
        assert!(
            line.contains("sleeping") && line.contains("of CPU in the last"),
            "{line}"
        );
    }
    assert!(
        report.contains("hang: iteration 1 got no further for "),
        "{report}"
    );
    assert!(report.contains("the pool: ThreadPool"), "{report}");
}

#[test]
fn a_run_that_makes_progress_is_not_ended() {
    let mut request = request(Program::Sequential, 1);
    request.iterations = 200;
    request.hang_after_ms = Some(60_000);
    let outcome = trial("test", &Hanging { runs: 0 }, &request, None).unwrap();
    assert_eq!(outcome.iterations.len(), 200);
}
