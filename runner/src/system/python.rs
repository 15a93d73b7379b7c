//! Sets up a virtual environment of Python inside the checkout, with exactly the libraries that the
//! analysis pins.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};

use crate::stop::Stop;
use crate::system::digest;
use crate::system::lock;
use crate::system::whole_file;

const ANALYSIS: &str = "requirements";
const CHECKS: &str = "checks";

/// A Python interpreter with the libraries of `analysis/requirements.txt`, and perhaps with those
/// of `analysis/checks.txt`.
#[derive(Clone, Debug)]
pub struct Python {
    interpreter: PathBuf,
    sources: PathBuf,
}

impl Python {
    /// Finds the folder `.venv` of the checkout at `root`, or makes this folder. Installs the
    /// libraries again if their list changed.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`] if the host has no Python that is new enough, if this Python lacks the
    /// module `venv`, or if the libraries cannot be installed.
    pub fn set_up(root: &Path) -> Result<Self> {
        Self::with(root, &[ANALYSIS])
    }

    /// Does the same as [`Self::set_up`], and also installs the libraries for checks and notebooks.
    ///
    /// # Errors
    /// The errors of [`Self::set_up`].
    pub fn set_up_for_checks(root: &Path) -> Result<Self> {
        Self::with(root, &[ANALYSIS, CHECKS])
    }

    fn with(root: &Path, lists: &[&str]) -> Result<Self> {
        let environment = root.join(".venv");
        let python = Self {
            interpreter: environment.join("bin/python"),
            sources: root.join("analysis/src"),
        };
        let lock = lock::wait(
            &root.join("target/python.lock"),
            "sets up Python libraries in .venv",
        )?;
        let mut probe = Command::new(&python.interpreter);
        let probe = probe.args(["-c", ""]).output();
        let runs = probe.is_ok_and(|output| output.status.success());
        for list in lists {
            let name = format!("analysis/{list}.txt");
            let requirements = root.join(&name);
            let wanted = digest::of_file(&requirements)
                .map_err(|error| whole_file::not_in_checkout(&name, &error))?;
            // The stamp is written after the installation, so that an interrupted installation is
            // repeated.
            let stamp = environment.join(format!("{list}.sha256"));
            if runs && fs::read_to_string(&stamp).is_ok_and(|present| present == wanted) {
                continue;
            }
            tell!(
                "setting up Python libraries in .venv, once, some minutes at most: the analysis needs the \
                 libraries in {name} …"
            );
            if *list == ANALYSIS {
                let base = find_python()?;
                let mut make = Command::new(base);
                make.args(["-m", "venv", "--clear"]).arg(&environment);
                let remedy = format!(
                    "`{base} -m venv` failed; its module is often a package of its own: on Debian and \
                     Ubuntu, `apt install python3-venv`"
                );
                step(&mut make, &lock, &remedy)?;
            }
            // `--no-deps`, because the lists name all dependencies. `--no-compile`, because only
            // imported modules are worth compiling.
            let install = "-m pip install --quiet --no-input --no-deps --no-compile \
                           --disable-pip-version-check --require-hashes --requirement";
            let mut pip = Command::new(&python.interpreter);
            pip.args(install.split(' ')).arg(&requirements);
            let remedy = format!(
                "the libraries of {name} cannot be installed; the lines above say why (no network? \
                 no wheel for this Python?)"
            );
            step(&mut pip, &lock, &remedy)?;
            fs::write(&stamp, wanted).context(".venv cannot be written")?;
        }
        Ok(python)
    }

    /// Returns the path of the environment's interpreter.
    #[must_use]
    pub fn interpreter(&self) -> &Path {
        &self.interpreter
    }

    pub(crate) fn module(&self, module: &str) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.args(["-m", module]);
        command.env("PYTHONPATH", &self.sources);
        command
    }
}

/// Runs a step whose output goes to standard error, where people look. The step's process holds the
/// lock while it runs, even if this process is killed.
fn step(command: &mut Command, lock: &File, remedy: &str) -> Result<()> {
    command.stdout(std::io::stderr());
    match holding(command, lock)?.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(_) => bail!(Stop::HostNotFit(remedy.to_owned())),
        Err(error) => bail!(Stop::HostNotFit(format!("{remedy}: {error}"))),
    }
}

/// Passes the lock on as the command's standard input, which the command does not read.
fn holding<'a>(command: &'a mut Command, lock: &File) -> Result<&'a mut Command> {
    Ok(command.stdin(lock.try_clone().context("a lock cannot be handed on")?))
}

fn find_python() -> Result<&'static str, Stop> {
    let names = [
        "python3",
        "python3.14",
        "python3.13",
        "python3.12",
        "python3.11",
    ];
    let is_new = |name: &&str| {
        let check = "import sys; sys.exit(sys.version_info < (3, 11))";
        let run = Command::new(name).args(["-c", check]).output();
        run.is_ok_and(|output| output.status.success())
    };
    names.into_iter().find(is_new).ok_or_else(|| {
        let need = "the analysis needs Python 3.11 or newer; install `python3`";
        Stop::HostNotFit(need.to_owned())
    })
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
