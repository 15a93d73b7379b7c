use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::common;

/// A sweep of `scope-spawn` with good trials only.
const SWEEP: &str = "results/sweeps/2026-11-22T072403Z-7b2d61-e7174aae94e8";
/// A sweep of an experiment whose figure is `answers`, with some failed trials.
const FAILED: &str = "results/sweeps/2026-11-22T004610Z-7b2d61-354a891ced4d";

fn checkout(python: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("branches.toml", "");
    write("workloads/Cargo.toml", "");
    write("analysis/requirements.txt", "");
    let of_nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    write(".venv/requirements.sha256", of_nothing);
    write(
        ".venv/bin/python",
        &format!("#!/bin/sh\n[ \"$1\" = -c ] && exit 0\n{python}\n"),
    );
    let interpreter = folder.path().join(".venv/bin/python");
    fs::set_permissions(interpreter, fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn without_python() -> tempfile::TempDir {
    let folder = checkout("");
    fs::remove_dir_all(folder.path().join(".venv")).unwrap();
    folder
}

fn copy(sweep: &str, to: &Path) -> PathBuf {
    let to = to.join("sweep");
    common::copy(&common::root().join(sweep), &to);
    to
}

/// Runs the command on a sweep. PATH has only the programs of the mock checkout at `root`.
fn run(root: &Path, words: &[&str], sweep: &Path) -> Assert {
    let mut command = common::runner(root);
    command.env("PATH", root).args(words).arg(sweep);
    command.arg("--root").arg(root).assert()
}

fn show(root: &Path, sweep: &str, more: &[&str]) -> Assert {
    let words = [&["show"], more].concat();
    run(root, &words, &common::root().join(sweep))
}

fn end(root: &Path, sweep: &str, more: &[&str]) -> Assert {
    let words = [&["sweep"], more, &["--resume"]].concat();
    run(root, &words, &copy(sweep, root))
}

#[test]
fn the_analysis_prints_the_table_in_the_format_that_was_asked_for() {
    let folder = checkout("echo \"asked: $3 $5 $6\"");
    for format in ["table", "md", "json", "csv"] {
        show(folder.path(), SWEEP, &["--format", format])
            .success()
            .stdout(format!("asked: show --format {format}\n"))
            .stderr(contains("scope-spawn, 2 thread counts, 280 trials\n"))
            .stderr(contains("host: AMD EPYC"));
    }
}

#[test]
fn an_analysis_that_fails_gives_its_message_and_its_exit_code() {
    let folder = checkout("echo 'error: no such thing' >&2; exit 2");
    show(folder.path(), SWEEP, &[])
        .code(2)
        .stderr(contains("280 of 280 trials").and(contains("error: no such thing\n")));
}

#[test]
fn a_sweep_without_python_ends_as_its_trials_did_and_names_the_remedy() {
    for (sweep, code, trials) in [(SWEEP, 0, "280"), (FAILED, 1, "120")] {
        let folder = without_python();
        end(folder.path(), sweep, &[])
            .code(code)
            .stdout(contains(format!("all {trials} trials were already there")))
            .stdout(contains("results: ").and(contains("draw:    cargo runner report")))
            .stderr(contains("WARNING: no table: the analysis needs Python"))
            .stderr(contains(
                "install `python3`. Every record is kept; after you mend that, `cargo runner show ",
            ));
    }
}

#[test]
fn data_that_cannot_be_printed_are_never_taken_for_none() {
    end(without_python().path(), SWEEP, &["--format", "csv"])
        .code(4)
        .stdout("")
        .stderr(contains("error: no table: the analysis needs Python"));
}

#[test]
fn the_exit_code_of_a_sweep_is_of_its_trials() {
    end(checkout("echo table").path(), SWEEP, &[])
        .code(0)
        .stdout(contains("\n\ntable\n"));
    end(checkout("echo table").path(), FAILED, &[]).code(1);
    end(checkout("exit 4").path(), SWEEP, &[])
        .code(0)
        .stderr(contains(
            "no table: the analysis failed; its message is above",
        ));
}

const TALKING: &str = "#!/bin/sh
case \"$*\" in
    *version_info*) echo 3 12 ;;
    *venv*--clear*) for last; do :; done; mkdir -p \"$last/bin\"; cp \"$0\" \"$last/bin/python\" ;;
    *pip*) echo \"asked: $*\" ;;
    *sweep_analysis*) echo table ;;
esac
";

#[test]
fn what_is_set_up_is_reported_with_the_reason_before_the_table() {
    let folder = without_python();
    let python = folder.path().join("python3");
    fs::write(&python, TALKING).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let sweep = common::root().join(SWEEP);
    let mut command = common::runner(folder.path());
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    command.env("PATH", path).arg("show").arg(sweep);
    let shown = command.arg("--root").arg(folder.path()).assert().success();
    let shown = shown
        .stdout("table\n")
        .stderr(contains("the analysis needs the libraries in"))
        .stderr(contains("asked: -m pip install"));
    let said = String::from_utf8_lossy(&shown.get_output().stderr).into_owned();
    let at = |words: &str| said.find(words).unwrap();
    assert!(at("asked: -m pip") < at("280 trials are there"), "{said}");
}
