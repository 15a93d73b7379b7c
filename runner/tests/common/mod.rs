//! What the tests of the command share.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout that this runner belongs to.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// `cargo runner`, with a temporary folder of its own, so that tests that run at once do not meet at
/// the lock that keeps two sweeps off one host.
pub(crate) fn runner(temporary: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
    command.current_dir(root()).env("TMPDIR", temporary).env("NO_COLOR", "1");
    command
}
