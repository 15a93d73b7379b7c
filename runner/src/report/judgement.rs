//! The lines below a table that judge: the analysis computes them, and nobody else does.

use std::path::Path;
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};

use crate::plan::Asked;
use crate::record::sweep_dir::SweepDir;
use crate::report::python::Python;
use crate::report::table::wrapped;
use crate::run::subprocess::last_lines;

/// Columns of lines that go to no terminal.
const COLUMNS: usize = 80;

/// What the analysis says of a sweep, in lines of at most `columns` characters, or why it says
/// nothing and how to get it; `None` if the sweep compares nothing.
///
/// `reference` is what a command must be given to find the sweep.
pub(crate) fn of(
    root: &Path,
    sweep: &SweepDir,
    asked: &Asked,
    columns: Option<usize>,
    reference: &str,
) -> Option<String> {
    if asked.is_about_answers() || asked.branches.len() < 2 {
        return None;
    }
    let columns = columns.unwrap_or(COLUMNS);
    Some(ask(root, sweep, columns).unwrap_or_else(|reason| {
        let text = format!(
            "Not judged: {reason:#}. Once that is mended, `cargo runner show {reference}` prints this table with the \
             judgement."
        );
        wrapped(&text, columns, "")
    }))
}

/// Python is set up if it has to be, which it says itself.
fn ask(root: &Path, sweep: &SweepDir, columns: usize) -> Result<String> {
    let python = Python::set_up(root)?;
    let mut command = python.module("sweep_analysis");
    command.arg("verdict").arg(sweep.path());
    command
        .env("COLUMNS", columns.to_string())
        .stdin(Stdio::null());
    let output = command.output().context("Python cannot be run")?;
    let said = String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned();
    if output.status.success() && !said.is_empty() {
        return Ok(said);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    bail!(
        "the analysis failed: {}",
        last_lines(&stderr, 1).unwrap_or(output.status.to_string())
    )
}
