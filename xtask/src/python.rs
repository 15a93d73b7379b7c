//! The analysis' own checks, in the virtual environment that the runner sets up.

use std::time::Instant;

use anyhow::{Result, ensure};
use runner::python::Python;
use xshell::{Shell, cmd};

use crate::shell::{self, step};

/// Tests of the Python package, its notebooks included. They run beside other steps, so what they say is said
/// at their end.
pub(crate) fn test() -> Result<()> {
    let sh = shell::at_root()?;
    let python = interpreter(&sh)?;
    let start = Instant::now();
    let pytest = cmd!(sh, "{python} -m pytest --quiet analysis").env("PYTHONPATH", "analysis/src");
    let output = pytest.quiet().ignore_status().output()?;
    eprintln!("── analysis\n{}", String::from_utf8_lossy(&output.stdout));
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    ensure!(output.status.success(), "step failed: analysis: {}", output.status);
    eprintln!("   analysis: done in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Formats, lints and types of the Python package.
pub(crate) fn check(sh: &Shell) -> Result<()> {
    let python = interpreter(sh)?;
    step("Python format", cmd!(sh, "{python} -m ruff format --check analysis"))?;
    step("Python lints", cmd!(sh, "{python} -m ruff check analysis"))?;
    let _path = sh.push_env("PYTHONPATH", "analysis/src");
    step(
        "Python types",
        cmd!(sh, "{python} -m mypy --config-file analysis/pyproject.toml analysis/src"),
    )
}

/// The judge on made-up sweeps; the table goes to standard output.
pub(crate) fn truth(sh: &Shell, sweeps: u32, cases: &[String]) -> Result<()> {
    let python = interpreter(sh)?;
    let _path = sh.push_env("PYTHONPATH", "analysis/src:analysis/tests");
    let _threads = sh.push_env("POLARS_MAX_THREADS", "1"); // a process for each CPU
    let sweeps = sweeps.to_string();
    step("truth", cmd!(sh, "{python} analysis/tests/truth.py --sweeps {sweeps} {cases...}"))
}

fn interpreter(sh: &Shell) -> Result<std::path::PathBuf> {
    Ok(Python::set_up(&sh.current_dir())?.interpreter().to_owned())
}
