//! Helpers that the tests of the command share.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use runner::record::trials_file::{self, Text};
use serde_json::Value;
use tempfile::TempDir;

/// The checkout that this runner belongs to.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// `cargo runner`, with temporary files and the lock that keeps two sweeps off one host in a folder
/// of its own, so that tests that run at once do not meet there.
pub(crate) fn runner(temporary: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
    command
        .current_dir(root())
        .env("TMPDIR", temporary)
        .env("NO_COLOR", "1");
    command.env(
        runner::system::host_lock::HOST_LOCK,
        temporary.join("host.lock"),
    );
    command
}

/// Runs `cargo runner` with these arguments.
pub(crate) fn run(folder: &TempDir, arguments: &[&str]) -> Assert {
    runner(folder.path()).args(arguments).assert()
}

/// The lines of a sweep's records.
pub(crate) fn text(sweep: &Path) -> String {
    Text::open(&trials_file::of(sweep))
        .and_then(io::read_to_string)
        .unwrap()
}

/// The records of a sweep.
pub(crate) fn records(sweep: &Path) -> Vec<Value> {
    text(sweep)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
