//! Runs a process in a group of its own, with or without a time limit, and waits for its end. No
//! process of the group survives.

use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, kill_process_group, setrlimit, waitid,
};

use crate::system::interrupt::{self, InterruptGuard};

/// Number of bytes that are read from standard output. The rest of a longer output is lost.
const STDOUT_LIMIT: u64 = 64 << 20;
/// How long a new binary may stay open for writing in another process. A guess.
const BUSY_FOR: Duration = Duration::from_secs(2);
const STDERR_KEPT: usize = 64 << 10;

/// The time limit of a process.
#[derive(Clone, Copy, Debug)]
pub enum Limit {
    /// Wall time from the start of the process.
    Wall(Duration),
    /// CPU time of all threads, rounded up to whole seconds. Other load on the host does not use
    /// this time up.
    Cpu(Duration),
}

/// How a process ended.
#[derive(Debug)]
pub struct ProcessExit {
    /// The status of the process; a killed process has a signal.
    pub status: ExitStatus,
    /// The process's standard output.
    pub stdout: Vec<u8>,
    /// The end of the process's standard error.
    pub stderr: String,
    /// Time from just before the process started until it had ended.
    pub elapsed: Duration,
    /// Whether the process was killed because its time was up.
    pub is_timed_out: bool,
    /// Whether the user interrupted the runner meanwhile.
    pub is_interrupted: bool,
}

/// Starts `command` in a process group of its own, gives it `input`, and waits. Kills the whole
/// group when the time is up, on an interrupt, and always at the end.
///
/// # Errors
/// If the process cannot be started or waited for.
pub fn run(command: &mut Command, input: &[u8], limit: Option<Limit>) -> io::Result<ProcessExit> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    die_with_parent(command);
    let mut wall = None;
    match limit {
        None => {}
        Some(Limit::Wall(limit)) => wall = Some(limit),
        Some(Limit::Cpu(limit)) => keep_within(command, limit),
    }
    let (mut child, started) = spawn(command)?;
    let group = Pid::from_child(&child);
    let watched = InterruptGuard::new(group);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let stdout = thread::spawn(move || {
        let mut text = Vec::new();
        // Output that was read before an error is used like any other output.
        let _ = stdout.map(|pipe| pipe.take(STDOUT_LIMIT).read_to_end(&mut text));
        text
    });
    let stderr = thread::spawn(move || stderr.map(read_tail).unwrap_or_default());
    if let Some(mut stdin) = stdin {
        // A write error is ignored: a process that ends without reading its input reports the
        // reason by its exit code.
        let _ = stdin.write_all(input);
    }
    let is_beyond_wall = !wait_for_exit(group, wall)?;
    let elapsed = started.elapsed();
    // The group is also killed after an orderly end, because its other processes must not run into
    // the next trial.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    drop(watched);
    Ok(ProcessExit {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
        elapsed,
        is_timed_out: is_beyond_wall || status.signal() == Some(Signal::XCPU.as_raw()),
        is_interrupted: interrupt::is_requested(),
    })
}

/// Starts `command`, and returns the time of its start. A binary that was just written may still be
/// open for writing in a child of another thread, and then Linux refuses to run it.
fn spawn(command: &mut Command) -> io::Result<(Child, Instant)> {
    let give_up = Instant::now() + BUSY_FOR;
    loop {
        let started = Instant::now();
        match command.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && started < give_up =>
            {
                thread::sleep(Duration::from_millis(5));
            }
            spawned => return spawned.map(|child| (child, started)),
        }
    }
}

/// Blocks until the process has ended (true) or the limit has passed (false). This function does
/// not reap the process, so that no other group gets the group's number before the group is killed.
fn wait_for_exit(pid: Pid, limit: Option<Duration>) -> io::Result<bool> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let mut ended = waitid(WaitId::Pid(pid), options);
        while let Err(rustix::io::Errno::INTR) = ended {
            ended = waitid(WaitId::Pid(pid), options);
        }
        // Sending fails after a time-out, because the receiver is gone. That does no harm.
        let _ = sender.send(ended.map(drop));
    });
    // The runner does not wake up while the trial runs, because the runner must not take CPU time
    // from the trial.
    let ended = match limit {
        Some(limit) => receiver.recv_timeout(limit).ok(),
        None => receiver.recv().ok(),
    };
    ended.transpose()?;
    Ok(ended.is_some())
}

/// Makes the kernel kill the process if the runner dies, even by SIGKILL. Otherwise trials of the
/// dead runner would run beside those of the resumed sweep.
fn die_with_parent(command: &mut Command) {
    let parent = rustix::process::getpid();
    let set = move || {
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have died before the system call above, and then no signal comes.
        if rustix::process::getppid() == Some(parent) {
            Ok(())
        } else {
            Err(rustix::io::Errno::SRCH.into())
        }
    };
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. `set` makes two
    // system calls, allocates nothing, takes no lock, and captures a plain number.
    unsafe {
        command.pre_exec(set);
    }
}

/// Makes the kernel end the process by `SIGXCPU` after `limit` of CPU time, and kill the process a
/// second later.
fn keep_within(command: &mut Command, limit: Duration) {
    let seconds = limit.as_secs() + u64::from(limit.subsec_nanos() > 0);
    let limit = Rlimit {
        current: Some(seconds.max(1)),
        maximum: Some(seconds.max(1) + 1),
    };
    let set = move || setrlimit(Resource::Cpu, limit).map_err(io::Error::from);
    // SAFETY: between fork and exec only async-signal-safe calls are allowed. `set` makes one
    // system call, allocates nothing, takes no lock, and captures plain numbers.
    unsafe {
        command.pre_exec(set);
    }
}

fn read_tail(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let mut chunk = [0; 8 << 10];
    while let Ok(count) = pipe.read(&mut chunk) {
        if count == 0 {
            break;
        }
        kept.extend_from_slice(&chunk[..count]);
        if kept.len() > 2 * STDERR_KEPT {
            kept.drain(..kept.len() - STDERR_KEPT);
        }
    }
    String::from_utf8_lossy(&kept).into_owned()
}

pub(crate) fn last_lines(text: &str, count: usize) -> Option<String> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let from = lines.len().saturating_sub(count);
    (!lines.is_empty()).then(|| lines[from..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn wait_until(fault: &str, is_so: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_so() {
            assert!(Instant::now() < deadline, "{fault}");
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until a killed process is gone. The process takes a moment to disappear, or stays a
    /// zombie until init has reaped it.
    fn assert_goes(process: &str) {
        let stat = format!("/proc/{}/stat", process.trim());
        let is_zombie = |stat: String| stat.contains(") Z");
        wait_until("the process lives", || {
            std::fs::read_to_string(&stat).map_or(true, is_zombie)
        });
    }

    #[test]
    fn input_output_and_errors_reach_their_places() {
        let done = run(&mut shell("cat; echo wrong >&2; exit 3"), b"question", None).unwrap();
        assert_eq!(
            (done.stdout, done.stderr),
            (b"question".to_vec(), "wrong\n".to_owned())
        );
        assert_eq!((done.status.code(), done.is_timed_out), (Some(3), false));
    }

    #[test]
    fn a_binary_that_is_still_open_for_writing_is_started_once_it_is_closed() {
        let folder = tempfile::tempdir().unwrap();
        let binary = folder.path().join("true");
        std::fs::copy("/bin/true", &binary).unwrap();
        let writer = std::fs::OpenOptions::new()
            .append(true)
            .open(&binary)
            .unwrap();
        let closes = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            drop(writer);
        });
        let done = run(&mut Command::new(&binary), b"", None).unwrap();
        assert!(done.status.success());
        closes.join().unwrap();
    }

    #[test]
    fn the_time_limit_kills_grandchildren_too() {
        let limit = Some(Limit::Wall(Duration::from_millis(200)));
        let done = run(&mut shell("sleep 60 & echo $!; wait"), b"", limit).unwrap();
        assert!(done.is_timed_out && done.elapsed < Duration::from_secs(30));
        assert_goes(&String::from_utf8(done.stdout).unwrap());
    }

    #[test]
    fn what_a_process_leaves_behind_is_killed_when_it_ends() {
        // The grandchild keeps the output open, so the call would hang if it waited for the end of
        // the output before it kills the group.
        let done = run(&mut shell("sleep 600 & echo $!"), b"", None).unwrap();
        assert!(!done.is_timed_out);
        assert_goes(&String::from_utf8(done.stdout).unwrap());
    }

    #[test]
    #[ignore = "the next test starts this test as a process, and kills it like a runner"]
    fn a_runner_with_a_process() {
        let file = std::env::var("PROCESS_FILE").unwrap();
        let script = format!("echo $$ > {file}; exec sleep 60");
        run(&mut shell(&script), b"", None).unwrap();
    }

    #[test]
    fn a_process_is_killed_when_its_runner_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut runner = Command::new(std::env::current_exe().unwrap());
        runner.args(["--ignored", "a_runner_with_a_process"]);
        let mut runner = runner.env("PROCESS_FILE", file.path()).spawn().unwrap();
        let told = || std::fs::read_to_string(file.path()).unwrap();
        wait_until("the process does not start", || told().ends_with('\n'));
        let process = told();
        runner.kill().unwrap();
        runner.wait().unwrap();
        assert_goes(&process);
    }

    #[test]
    fn the_tail_of_a_long_error_stream_is_kept() {
        let script = "yes x | head -c 1000000 >&2; echo end >&2";
        let done = run(&mut shell(script), b"", None).unwrap();
        assert!(done.stderr.len() <= 2 * STDERR_KEPT + 8192 && done.stderr.ends_with("end\n"));
        assert_eq!(last_lines(&done.stderr, 2).as_deref(), Some("x\nend"));
        assert_eq!(last_lines("\n \n", 2), None);
    }
}
