//! Runs one trial: one process, one request, one outcome.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use protocol::{Failure, Outcome, Request, SCHEMA};

use crate::config::checkout::Checkout;
use crate::record::Ending;
use crate::system::subprocess::{self, Limit, ProcessExit};

const STDERR_LINES: usize = 20;

/// Number of lines of standard error that are kept for a trial that hung. A hung process prints one
/// line for each thread, and the state of the pool.
const HANG_LINES: usize = 200;

/// How one trial ended, as the runner sees it.
#[derive(Clone, Debug)]
pub struct TrialExit {
    /// Wall time of the whole process.
    pub process: Duration,
    /// The outcome, or the reason why there is none.
    pub result: Result<Outcome, TrialFailure>,
}

/// Why a trial has no outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFailure {
    /// The kind of failure.
    pub ending: Ending,
    /// The cause, in a sentence for the user.
    pub reason: String,
    /// The end of the process's standard error.
    pub stderr_tail: Option<String>,
}

/// Runs trials: a sweep starts a subprocess for each; tests of the order of trials use a fake.
pub trait RunTrial {
    /// Runs `request` on the binary of `branch` with index `layout`; `branch` is never an A/A
    /// control's name. Returns `None` if the user interrupted the runner meanwhile, so that the
    /// outcome is unknown.
    fn run_trial(&mut self, branch: &str, layout: usize, request: &Request) -> Option<TrialExit>;
}

#[derive(Clone, Debug)]
pub(crate) struct Subprocesses {
    binaries: BTreeMap<String, Vec<PathBuf>>,
    limit: Duration,
    checkout: Checkout,
}

impl Subprocesses {
    pub(crate) fn new(
        binaries: BTreeMap<String, Vec<PathBuf>>,
        limit: Duration,
        checkout: Checkout,
    ) -> Self {
        Self {
            binaries,
            limit,
            checkout,
        }
    }
}

impl RunTrial for Subprocesses {
    fn run_trial(&mut self, branch: &str, layout: usize, request: &Request) -> Option<TrialExit> {
        let binary = &self.binaries[branch][layout];
        let mut ended = ask(binary, request, self.limit)?;
        if let Err(failure) = &mut ended.result {
            failure.reason = self.checkout.without_folders(&failure.reason);
            let tail = failure.stderr_tail.as_ref();
            failure.stderr_tail = tail.map(|tail| self.checkout.without_folders(tail));
        }
        Some(ended)
    }
}

/// Environment variables of the user that trials do not inherit, because they would override the
/// plan or silently change times.
const NOT_INHERITED: [&str; 10] = [
    "RAYON_NUM_THREADS",
    "RAYON_RS_NUM_CPUS",
    "RAYON_LOG",
    "RUST_MIN_STACK",
    "RUST_BACKTRACE",
    "LD_PRELOAD",
    "LD_BIND_NOW",
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_CONF",
];

/// Starts `binary`, sends `request` and reads the outcome; `None` after an interrupt. `limit` is
/// wall time; for a trial on a simulated machine, it is CPU time.
///
/// On a host, an iteration that takes half of the limit counts as hung, unless the request names
/// another time. The process then reports what its threads do, before the runner kills it.
#[must_use]
pub(crate) fn ask(binary: &Path, request: &Request, limit: Duration) -> Option<TrialExit> {
    ask_by(Command::new(binary), request, limit)
}

fn ask_by(mut command: Command, request: &Request, limit: Duration) -> Option<TrialExit> {
    for name in NOT_INHERITED {
        command.env_remove(name);
    }
    let half = u64::try_from(limit.as_millis() / 2)
        .unwrap_or(u64::MAX)
        .max(1);
    let hang_after_ms = request.hang_after_ms.or(Some(half));
    let request = Request {
        hang_after_ms,
        ..request.clone()
    };
    let mut line = serde_json::to_vec(&request).expect("a request is made of plain values");
    line.push(b'\n');
    // Other load on the host must not end a simulation, so its CPU time is limited, not its wall
    // time.
    let limit = if request.machine.is_some() {
        Limit::Cpu(limit)
    } else {
        Limit::Wall(limit)
    };
    let finished = match subprocess::run(&mut command, &line, Some(limit)) {
        Ok(finished) => finished,
        Err(error) => {
            let reason = format!("the process cannot be started: {error}");
            return Some(not_started(Ending::Crash, reason));
        }
    };
    if finished.is_interrupted {
        return None;
    }
    Some(TrialExit {
        process: finished.elapsed,
        result: judge(&finished, limit),
    })
}

fn not_started(ending: Ending, reason: String) -> TrialExit {
    let failure = TrialFailure {
        ending,
        reason,
        stderr_tail: None,
    };
    TrialExit {
        process: Duration::ZERO,
        result: Err(failure),
    }
}

fn judge(finished: &ProcessExit, limit: Limit) -> Result<Outcome, TrialFailure> {
    let failure = |ending, reason| {
        let lines = if ending == Ending::Hang {
            HANG_LINES
        } else {
            STDERR_LINES
        };
        TrialFailure {
            ending,
            reason,
            stderr_tail: subprocess::last_lines(&finished.stderr, lines),
        }
    };
    if finished.is_timed_out {
        let (limit, of) = match limit {
            Limit::Wall(limit) => (limit, ""),
            Limit::Cpu(limit) => (limit, " of CPU time"),
        };
        let reason = format!("no answer within {} s{of}; killed", limit.as_secs_f64());
        return Err(failure(Ending::Timeout, reason));
    }
    let printed = String::from_utf8_lossy(&finished.stdout);
    let is_written = |line: &&str| !line.trim().is_empty();
    let last_line = printed.lines().rfind(is_written).unwrap_or_default();
    if finished.status.success() {
        let outcome: Outcome = serde_json::from_str(last_line).map_err(|error| {
            let shown: String = last_line.chars().take(200).collect();
            failure(
                Ending::BadOutput,
                format!("its last output line is not an outcome ({error}): {shown:?}"),
            )
        })?;
        if outcome.schema != SCHEMA {
            let reason = format!("its schema is {}, the runner's is {SCHEMA}", outcome.schema);
            return Err(failure(Ending::BadOutput, reason));
        }
        return Ok(outcome);
    }
    Err(match serde_json::from_str::<Failure>(last_line) {
        Ok(Failure::WrongAnswer {
            iteration,
            expected,
            actual,
        }) => {
            // A whole program has no answer but its exit status.
            let why = if expected.starts_with("exit status") {
                format!("run {iteration} ended with {actual}, not {expected}")
            } else {
                format!("iteration {iteration} gave {actual}, the known answer is {expected}")
            };
            failure(Ending::WrongAnswer, why)
        }
        Ok(Failure::Hang {
            iteration,
            waited_ms,
        }) => {
            let waited = waited_ms as f64 / 1e3;
            let why = format!("iteration {iteration} got no further for {waited:.1} s");
            failure(Ending::Hang, why)
        }
        Ok(Failure::Refused { message }) => failure(Ending::Refused, message),
        Err(_) => failure(Ending::Crash, how_it_ended(finished)),
    })
}

fn how_it_ended(finished: &ProcessExit) -> String {
    let is_stalled = finished.status.code() == Some(manycore::STALLED);
    if let Some(said) = error_of(&finished.stderr).filter(|_| is_stalled) {
        return said;
    }
    let hint = if finished.status.signal() == Some(9) {
        "; the kernel does this when memory runs out"
    } else {
        ""
    };
    format!(
        "ended without a message of the protocol: {}{hint}",
        finished.status
    )
}

fn error_of(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines().rev();
    let error = lines.find_map(|line| line.strip_prefix("error: "))?;
    Some(error.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask_script(script: &str) -> TrialFailure {
        let folder = tempfile::tempdir().unwrap();
        let binary = crate::system::testing::script(folder.path(), script);
        ask(
            &binary,
            &crate::build::variant::smallest_request(),
            Duration::from_millis(500),
        )
        .unwrap()
        .result
        .unwrap_err()
    }

    #[test]
    fn each_way_to_end_without_an_outcome_is_distinguished_with_its_reason() {
        let other_schema = serde_json::json!({
            "schema": SCHEMA + 1,
            "variant": "upstream",
            "parameters": {},
            "answer": "42",
            "work_unit": "elements",
            "warmup": [],
            "iterations": [],
            "usage": protocol::Usage::default(),
        });
        let stands_still = "echo 'error: it stands still at x.rs:1\nAdvice.' >&2; exit 4";
        let said = "error: it stands still at x.rs:1\nAdvice.";
        let ended = r#"echo '{"failure":"wrong-answer","iteration":0,"expected":"exit status: 0","actual":"exit status: 7"}'"#;
        let wrong =
            r#"echo '{"failure":"wrong-answer","iteration":3,"expected":"1","actual":"2"}'"#;
        let refused = r#"echo '{"failure":"refused","message":"no such size"}'"#;
        let other = format!("its schema is {}, the runner's is {SCHEMA}", SCHEMA + 1);
        for (script, ending, reason, tail) in [
            (
                "echo busy >&2; sleep 60",
                Ending::Timeout,
                "no answer within 0.5 s; killed",
                "busy",
            ),
            ("kill -SEGV $$", Ending::Crash, "SIGSEGV", ""),
            (
                "echo panicked >&2; exit 101",
                Ending::Crash,
                "exit status: 101",
                "panicked",
            ),
            (
                stands_still,
                Ending::Crash,
                "it stands still at x.rs:1",
                said,
            ),
            ("exit 4", Ending::Crash, "exit status: 4", ""),
            (
                &format!("{wrong}; exit 1"),
                Ending::WrongAnswer,
                "iteration 3 gave 2, the known answer is 1",
                "",
            ),
            (
                &format!("{ended}; exit 1"),
                Ending::WrongAnswer,
                "run 0 ended with exit status: 7, not exit status: 0",
                "",
            ),
            (
                &format!("{refused}; exit 2"),
                Ending::Refused,
                "no such size",
                "",
            ),
            ("echo hello", Ending::BadOutput, "hello", ""),
            (
                &format!("echo '{other_schema}'"),
                Ending::BadOutput,
                &other,
                "",
            ),
        ] {
            let failure = ask_script(script);
            assert_eq!(failure.ending, ending, "{script}");
            assert!(failure.reason.contains(reason), "{}", failure.reason);
            assert_eq!(failure.stderr_tail.unwrap_or_default(), tail, "{script}");
        }
        let hang = r#"{"failure":"hang","iteration":2,"waited_ms":1500}"#;
        let failure = ask_script(&format!("seq 1 100 >&2; echo '{hang}'; exit 1"));
        assert_eq!(failure.ending, Ending::Hang);
        assert_eq!(failure.reason, "iteration 2 got no further for 1.5 s");
        assert!(failure.stderr_tail.unwrap().starts_with("1\n2\n"));
    }

    #[test]
    fn a_simulation_may_take_so_much_cpu_time_however_long_the_host_takes_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut request = crate::build::variant::smallest_request();
        let machine = crate::plan::machines::plain_request("machines/zen4-64.toml".into());
        request.machine = Some(machine);
        let end_of = |script| {
            let binary = crate::system::testing::script(folder.path(), script);
            ask(&binary, &request, Duration::from_millis(500))
                .unwrap()
                .result
                .unwrap_err()
        };
        assert_eq!(end_of("sleep 1.2; exit 9").ending, Ending::Crash);
        let failure = end_of("while :; do :; done");
        assert_eq!(failure.ending, Ending::Timeout);
        assert_eq!(failure.reason, "no answer within 0.5 s of CPU time; killed");
    }

    #[test]
    fn a_request_asks_for_a_report_when_half_the_time_is_up_unless_it_says_otherwise() {
        let folder = tempfile::tempdir().unwrap();
        let binary = crate::system::testing::script(folder.path(), "cat >&2; exit 9");
        let mut request = crate::build::variant::smallest_request();
        let mut asked = |hang_after_ms| {
            request.hang_after_ms = hang_after_ms;
            let ended = ask(&binary, &request, Duration::from_secs(8)).unwrap();
            let sent = ended.result.unwrap_err().stderr_tail.unwrap();
            serde_json::from_str::<Request>(&sent)
                .unwrap()
                .hang_after_ms
        };
        assert_eq!(asked(None), Some(4_000));
        assert_eq!(asked(Some(7)), Some(7));
    }

    #[test]
    fn a_process_does_not_inherit_variables_that_would_override_the_plan() {
        let folder = tempfile::tempdir().unwrap();
        let script = "echo \"threads: $RAYON_NUM_THREADS, other: $OTHER\" >&2; exit 9";
        let mut command = Command::new(crate::system::testing::script(folder.path(), script));
        command.env("RAYON_NUM_THREADS", "3").env("OTHER", "kept");
        let request = crate::build::variant::smallest_request();
        let ended = ask_by(command, &request, Duration::from_secs(8)).unwrap();
        let tail = ended.result.unwrap_err().stderr_tail;
        assert_eq!(tail.as_deref(), Some("threads: , other: kept"));
    }
}
