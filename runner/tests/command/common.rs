use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use runner::record::trials_file::{self, Text};
use serde_json::Value;

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .unwrap()
        .to_owned()
}

/// Makes a command `cargo runner` with its own folder for temporary files and for the host's lock.
/// So tests that run at the same time do not block each other.
pub(crate) fn runner(temporary: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_runner"));
    command
        .current_dir(root())
        .env("TMPDIR", temporary)
        .env("NO_COLOR", "1");
    command.env(runner::system::lock::HOST_LOCK, temporary.join("host.lock"));
    command
}

/// Makes a sweep of `quicksort` at size `tiny` on these branches, which writes to `sweeps` in
/// `folder`. Such a sweep builds only the programs of the 2022 study.
pub(crate) fn smoke(folder: &Path, branches: &str) -> Command {
    let mut command = runner(folder);
    command.args(["sweep", "--preset", "smoke", "--workloads", "quicksort"]);
    command.args(["--branches", branches, "--output"]);
    command.arg(folder.join("sweeps"));
    command
}

pub(crate) fn only(folder: &Path) -> PathBuf {
    let entries = fs::read_dir(folder).unwrap();
    let found: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

pub(crate) fn line(folder: &Path, words: &str) -> Assert {
    let words = words.split_whitespace();
    runner(folder).args(words).assert()
}

pub(crate) fn text(sweep: &Path) -> String {
    Text::open(&trials_file::of(sweep))
        .and_then(io::read_to_string)
        .unwrap()
}

pub(crate) fn records(sweep: &Path) -> Vec<Value> {
    text(sweep)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
