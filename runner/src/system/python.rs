//! A virtual environment inside the checkout with exactly the libraries that the analysis pins.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::stop::Stop;
use crate::system::digest;
use crate::system::lock;
use crate::system::whole_file;

/// The packages with which sweeps are tested and drawn.
const ANALYSIS: &str = "requirements";
/// The further packages for checks and notebooks.
const CHECKS: &str = "checks";

/// Oldest Python that the analysis runs on.
const OLDEST: (u32, u32) = (3, 11);

/// A Python with the libraries of `analysis/requirements.txt`, and perhaps of
/// `analysis/checks.txt`.
#[derive(Clone, Debug)]
pub struct Python {
    interpreter: PathBuf,
    sources: PathBuf,
}

impl Python {
    /// Finds `.venv` of the checkout at `root`, or makes it; installs again if the list of
    /// libraries changed.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] without a Python that is new enough, without its `venv` module, or if
    /// the libraries cannot be installed.
    pub fn set_up(root: &Path) -> Result<Self> {
        Self::with(root, &[ANALYSIS])
    }

    /// Does [`Self::set_up`], and adds the libraries for checks of the analysis and its notebooks.
    ///
    /// # Errors
    /// As [`Self::set_up`].
    pub fn set_up_for_checks(root: &Path) -> Result<Self> {
        Self::with(root, &[ANALYSIS, CHECKS])
    }

    fn with(root: &Path, lists: &[&str]) -> Result<Self> {
        let environment = root.join(".venv");
        let interpreter = environment.join("bin/python");
        let python = Self {
            interpreter,
            sources: root.join("analysis/src"),
        };
        let lock = lock::wait(
            &root.join("target/python.lock"),
            "sets up Python libraries in .venv",
        )?;
        let runs = python.runs();
        for list in lists {
            let requirements = root.join(format!("analysis/{list}.txt"));
            let wanted = digest::of_file(&requirements).map_err(|error| {
                whole_file::not_in_checkout(&format!("analysis/{list}.txt"), &error)
            })?;
            // Written last, so that an interrupted installation is repeated.
            let stamp = environment.join(format!("{list}.sha256"));
            if fs::read_to_string(&stamp).is_ok_and(|present| present == wanted) && runs {
                continue;
            }
            tell!(
                "setting up Python libraries in .venv, once, some minutes at most: the analysis needs the \
                 libraries in analysis/{list}.txt …"
            );
            if *list == ANALYSIS {
                let base = find_python()?;
                let mut make = Command::new(&base);
                make.args(["-m", "venv", "--clear"]).arg(&environment);
                step(&mut make, &lock, || {
                    format!(
                        "`{base} -m venv` failed; its module is often a package of its own: on Debian and \
                         Ubuntu, `apt install python3-venv`"
                    )
                })?;
            }
            let mut install = Command::new(&python.interpreter);
            // The lists are complete, and only imported modules are worth compiling.
            install.args([
                "-m",
                "pip",
                "install",
                "--no-input",
                "--no-deps",
                "--no-compile",
            ]);
            install.args([
                "--disable-pip-version-check",
                "--require-hashes",
                "--requirement",
            ]);
            step(install.arg(&requirements), &lock, || {
                format!(
                    "the libraries of analysis/{list}.txt cannot be installed; the lines above say why (no network? \
                     no wheel for this Python?)"
                )
            })?;
            fs::write(&stamp, wanted).context(".venv cannot be written")?;
        }
        Ok(python)
    }

    /// The interpreter of the environment.
    #[must_use]
    pub fn interpreter(&self) -> &Path {
        &self.interpreter
    }

    /// Returns the command `python -m <module>`, with the analysis importable; the caller adds
    /// arguments.
    pub(crate) fn module(&self, module: &str) -> Command {
        let mut command = Command::new(&self.interpreter);
        command
            .arg("-m")
            .arg(module)
            .env("PYTHONPATH", &self.sources);
        command
    }

    fn runs(&self) -> bool {
        let mut probe = Command::new(&self.interpreter);
        probe
            .args(["-c", ""])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        probe.status().is_ok_and(|status| status.success())
    }
}

/// Runs a step whose output goes to standard error, where people look. The step holds the lock
/// while it runs, even if this process is killed.
fn step(command: &mut Command, lock: &File, remedy: impl Fn() -> String) -> Result<()> {
    command.stdout(std::io::stderr());
    match holding(command, lock)?.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => bail!(Stop::HostNotFit(remedy())),
        Err(error) => bail!(Stop::HostNotFit(format!("{}: {error}", remedy()))),
    }
}

/// The lock becomes the command's standard input, which the command does not read.
fn holding<'a>(command: &'a mut Command, lock: &File) -> Result<&'a mut Command> {
    Ok(command.stdin(lock.try_clone().context("a lock cannot be handed on")?))
}

/// The version of this Python if it is new enough and has its module `venv`, otherwise what is
/// missing.
pub(crate) fn usable() -> Result<String, String> {
    let name = find_python().map_err(|error| format!("{error:#}"))?;
    let probe = Command::new(&name)
        .args(["-c", "import venv, ensurepip"])
        .output();
    if probe.is_ok_and(|output| output.status.success()) {
        let (major, minor) = version(&name).unwrap_or(OLDEST);
        return Ok(format!("Python {major}.{minor}"));
    }
    Err(format!("`{name}` has no module venv"))
}

/// The first Python that is new enough.
fn find_python() -> Result<String> {
    let mut seen = Vec::new();
    for name in [
        "python3",
        "python3.14",
        "python3.13",
        "python3.12",
        "python3.11",
    ] {
        match version(name) {
            Some(version) if version >= OLDEST => return Ok(name.to_owned()),
            Some((major, minor)) => seen.push(format!("{name} is {major}.{minor}")),
            None if is_there(name) => seen.push(format!("{name} does not say its version")),
            None => {}
        }
    }
    bail!(Stop::HostNotFit(format!(
        "the analysis needs Python {}.{} or newer, and {}; install it",
        OLDEST.0,
        OLDEST.1,
        if seen.is_empty() {
            "there is no `python3`".to_owned()
        } else {
            seen.join(", ")
        }
    )))
}

fn is_there(name: &str) -> bool {
    Command::new(name).arg("--version").output().is_ok()
}

fn version(name: &str) -> Option<(u32, u32)> {
    let print = "import sys; print(sys.version_info[0], sys.version_info[1])";
    let output = Command::new(name).args(["-c", print]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().split_once(' ')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::fs::TryLockError;

    use super::*;

    #[test]
    fn an_installation_whose_command_was_killed_keeps_the_next_one_waiting() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("target/python.lock");
        let lock = lock::wait(&path, "installs").unwrap();
        let mut sleep = Command::new("sleep");
        let mut child = holding(sleep.arg("100"), &lock).unwrap().spawn().unwrap();
        drop((lock, sleep));
        let next = File::open(path).unwrap();
        assert!(matches!(next.try_lock(), Err(TryLockError::WouldBlock)));
        child.kill().unwrap();
        child.wait().unwrap();
        next.try_lock().unwrap();
    }
}
