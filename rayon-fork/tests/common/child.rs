//! Tests whose subject is a whole process: its global pool, its environment, its death.
//!
//! Such a test is two functions. One starts this very binary again to run only the other. The other
//! is ignored otherwise, and does the deed.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::PATIENCE;

/// Set in a child, to the name of the test it is for.
const MARK: &str = "RAYON_FORK_TEST_CHILD";

/// How a child ended.
pub(crate) struct Ending {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Returns whether [`run`] started this process: a deed that kills the process must not be done
/// otherwise.
pub(crate) fn is_child() -> bool {
    env::var_os(MARK).is_some()
}

/// Runs the ignored test `name` (its path in the binary) in a process of its own. The environment
/// has `variables`, and no variable that sets the size of pools.
pub(crate) fn run(name: &str, variables: &[(&str, &str)]) -> Ending {
    // Files, not pipes: no thread has to read while the child runs, however much it writes.
    let output = OutputFiles::new();
    let mut child = Command::new(env::current_exe().unwrap())
        .args([
            name,
            "--exact",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(MARK, name)
        .env_remove("RAYON_NUM_THREADS")
        .env_remove("RAYON_RS_NUM_CPUS")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(File::create(&output.stdout).unwrap())
        .stderr(File::create(&output.stderr).unwrap())
        .spawn()
        .unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "hung: child test `{name}` with {variables:?} has not ended; it wrote:\n{}",
                output.both()
            );
        }
        thread::sleep(Duration::from_millis(2));
    };
    let ending = Ending {
        status,
        stdout: output.read(&output.stdout),
        stderr: output.read(&output.stderr),
    };
    let listed = format!("test {name} ");
    assert!(
        ending.stdout.contains(&listed),
        "no ignored test is called `{name}`:\n{}",
        ending.stdout
    );
    ending
}

/// As [`run`], for a child that must succeed.
pub(crate) fn run_well(name: &str, variables: &[(&str, &str)]) -> Ending {
    let ending = run(name, variables);
    assert!(
        ending.status.success(),
        "child test `{name}` with {variables:?} failed: {}\n{}\n{}",
        ending.status,
        ending.stdout,
        ending.stderr
    );
    ending
}

/// Returns the argument that the child gave to [`answer`].
pub(crate) fn answer_of(name: &str, variables: &[(&str, &str)]) -> String {
    let ending = run_well(name, variables);
    let answer = ending
        .stdout
        .split_once("answer<")
        .and_then(|(_, rest)| rest.split_once('>'));
    answer
        .unwrap_or_else(|| panic!("child test `{name}` gave no answer:\n{}", ending.stdout))
        .0
        .to_owned()
}

/// Tells the parent `text`.
pub(crate) fn answer(text: impl std::fmt::Display) {
    println!("answer<{text}>");
}

/// Where a child's output goes; deleted with this.
struct OutputFiles {
    folder: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
}

impl OutputFiles {
    fn new() -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("child-{}-{number}", std::process::id());
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self {
            stdout: folder.join("stdout"),
            stderr: folder.join("stderr"),
            folder,
        }
    }

    #[expect(clippy::unused_self, reason = "the file exists as long as this does")]
    fn read(&self, path: &PathBuf) -> String {
        String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned()
    }

    fn both(&self) -> String {
        format!("{}\n{}", self.read(&self.stdout), self.read(&self.stderr))
    }
}

impl Drop for OutputFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
