//! Runs the tests, the checks and the table of builds in alternation of the analysis, in the
//! virtual environment that the runner sets up.

use std::path::Path;

use anyhow::{Context as _, Result};
use runner::system::python::Python;
use xshell::{Shell, cmd};

use crate::shell::step;

pub(crate) fn test(sh: &Shell) -> Result<()> {
    let python = interpreter(sh)?;
    let _path = sh.push_env("PYTHONPATH", "analysis/src");
    // Data frames are small, so more threads would mostly wait for each other.
    let _threads = sh.push_env("POLARS_MAX_THREADS", "1");
    // Tests of one file share the data that they read and the figures that they draw.
    let two = ["--numprocesses", "2", "--dist", "loadfile"];
    set_up_browser(sh, &python)?;
    step(
        "analysis",
        cmd!(
            sh,
            "{python} -m pytest --quiet --durations 15 {two...} analysis"
        ),
    )
}

/// If the host has a Chromium, installs the Python libraries that drive it, for the tests of the
/// page.
fn set_up_browser(sh: &Shell, python: &Path) -> Result<()> {
    const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];
    let is_there = |name| {
        cmd!(sh, "which {name}")
            .quiet()
            .ignore_stderr()
            .read()
            .is_ok()
    };
    if !NAMES.into_iter().any(is_there) {
        eprintln!("no Chromium, so the page is not tested in a browser: `apt install chromium`");
        return Ok(());
    }
    let install = ["-m", "pip", "install", "--quiet", "--require-hashes"];
    let list = "analysis/requirements-browser.txt";
    step(
        "browser",
        cmd!(sh, "{python} {install...} --requirement {list}"),
    )
}

pub(crate) fn check(sh: &Shell) -> Result<()> {
    let python = interpreter(sh)?;
    step(
        "Python format",
        cmd!(sh, "{python} -m ruff format --check analysis"),
    )?;
    step("Python lints", cmd!(sh, "{python} -m ruff check analysis"))?;
    let _path = sh.push_env("PYTHONPATH", "analysis/src");
    step(
        "Python types",
        cmd!(
            sh,
            "{python} -m mypy --config-file analysis/pyproject.toml analysis/src"
        ),
    )
}

pub(crate) fn truth(sh: &Shell, sweeps: u32, cases: &[String]) -> Result<()> {
    let python = interpreter(sh)?;
    let _path = sh.push_env("PYTHONPATH", "analysis/src:analysis/tests");
    let _threads = sh.push_env("POLARS_MAX_THREADS", "1"); // a process for each CPU
    let sweeps = sweeps.to_string();
    step(
        "truth",
        cmd!(
            sh,
            "{python} analysis/tests/truth.py --sweeps {sweeps} {cases...}"
        ),
    )
}

pub(crate) fn analysis(sh: &Shell) -> Result<Analysis> {
    Ok(Analysis(Python::set_up(&sh.current_dir())?))
}

pub(crate) struct Analysis(Python);

impl Analysis {
    /// Returns a table that compares builds which ran in alternation; `runs` is a file of JSON
    /// lines.
    pub(crate) fn turns(&self, sh: &Shell, runs: &Path) -> Result<String> {
        let _path = sh.push_env("PYTHONPATH", "analysis/src");
        let python = self.0.interpreter();
        let table = cmd!(sh, "{python} -m sweep_analysis turns {runs}").quiet();
        table
            .read()
            .with_context(|| format!("the analysis failed; the runs are in {}", runs.display()))
    }
}

fn interpreter(sh: &Shell) -> Result<std::path::PathBuf> {
    Ok(Python::set_up_for_checks(&sh.current_dir())?
        .interpreter()
        .to_owned())
}
