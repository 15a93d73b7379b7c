//! What the tests of the command share.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The checkout that this runner belongs to.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// `cargo runner`, with temporary files and the lock that keeps two sweeps off one host in a folder of its own, so that
/// tests that run at once do not meet there.
pub(crate) fn runner(temporary: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
    command.current_dir(root()).env("TMPDIR", temporary).env("NO_COLOR", "1");
    command.env(runner::record::sweep_dir::HOST_LOCK, temporary.join("host.lock"));
    command
}
