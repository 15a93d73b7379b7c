//! Whole programs of the registry as workloads of a pool: each iteration runs a program from its
//! start to its end.
//!
//! The programs are in a separate crate, so that the runner builds a branch with them only if a
//! sweep runs a whole program. The runner builds each program separately, and records its path.

mod inputs;
mod whole;

use std::path::Path;
use std::process::ExitCode;

use protocol::{WholeBuilds, WholePrograms};
use workloads::workload::Workload;
use workloads::{catalogue, program};

use whole::Whole;

/// The text of `programs.toml`.
pub const ROWS: &str = include_str!("../programs.toml");

/// Does the same as [`program::main`], with the study's workloads and the whole programs. `table`
/// lists in JSON the paths of the built programs ([`WholeBuilds`]), and `build` is the name of this
/// build in that table.
///
/// # Panics
/// If `table` does not have the form that the runner writes, and in the same cases as
/// [`program::main`].
#[must_use]
pub fn main(variant: &'static str, build: &str, table: &str) -> ExitCode {
    let mut whole: WholeBuilds = serde_json::from_str(table).expect("the runner writes the table");
    let mut binaries = whole.binaries.remove(build).unwrap_or_default();
    // Inputs and answers lie beside the folder of binaries. So they outlive the trial, and
    // disappear together with the builds.
    let program = std::env::current_exe().unwrap_or_default();
    let common = program
        .parent()
        .and_then(Path::parent)
        .unwrap_or(Path::new("."))
        .join("common");
    let rows: WholePrograms =
        toml::from_str(ROWS).expect("tests check that `programs.toml` can be parsed");
    let rows = rows.program.into_iter().chain(whole.user);
    let whole = rows.map(|row| -> Box<dyn Workload> {
        let binary = binaries.remove(&row.name);
        Box::new(Whole::new(row, binary, common.clone()))
    });
    let mut all = catalogue::compiled();
    all.extend(whole);
    program::main(variant, all.leak())
}
