//! Tests whose subject is a whole process. A test that calls `alone` or `ending` starts this binary
//! again, and the new process runs only that test and its action.

use std::env;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use crate::common;

const MARK: &str = "RAYON_FORK_TEST_CHILD";

pub(crate) struct Ending {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Returns the name of the test that called, from the type of its closure.
fn name_of<F>(_: &F) -> &'static str {
    let name = std::any::type_name::<F>();
    let (_crate, name) = name.split_once("::").unwrap();
    name.trim_end_matches("::{{closure}}")
}

pub(crate) fn alone(variables: &[(&str, &str)], action: impl FnOnce()) {
    let name = name_of(&action);
    let Some(ending) = ending(variables, action) else {
        return;
    };
    assert!(
        ending.status.success(),
        "`{name}` with {variables:?} failed in its child: {}\n{}\n{}",
        ending.status,
        ending.stdout,
        ending.stderr
    );
}

/// Runs `action` in a separate process, and returns how that process ended. In the separate process
/// itself, returns `None`.
pub(crate) fn ending(variables: &[(&str, &str)], action: impl FnOnce()) -> Option<Ending> {
    let name = name_of(&action);
    if env::var_os(MARK).is_some_and(|mark| mark == name) {
        action();
        return None;
    }
    Some(run(name, variables))
}

fn run(name: &str, variables: &[(&str, &str)]) -> Ending {
    // The output goes to files, not pipes, so no thread has to read while the child runs.
    let output = OutputFiles::new();
    let mut child = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(MARK, name)
        .env_remove("RAYON_NUM_THREADS")
        .env_remove("RAYON_RS_NUM_CPUS")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(File::create(&output.stdout).unwrap())
        .stderr(File::create(&output.stderr).unwrap())
        .spawn()
        .unwrap();
    let Some(status) = common::ended(&mut child) else {
        panic!(
            "hung: the child of `{name}` with {variables:?} has not ended; it wrote:
{}",
            output.both()
        );
    };
    let ending = Ending {
        status,
        stdout: output.read(&output.stdout),
        stderr: output.read(&output.stderr),
    };
    let listed = format!("test {name} ");
    assert!(
        ending.stdout.contains(&listed),
        "no test is called `{name}`:\n{}",
        ending.stdout
    );
    ending
}

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

    #[expect(clippy::unused_self, reason = "the files exist as long as `self`")]
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
