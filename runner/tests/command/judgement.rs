//! The lines below the table that judge: computed by the analysis, or told how to get.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::{contains, is_match};

use crate::common;

/// Of `scope-spawn`, which is as fast as it can.
const SWEEP: &str = "results/sweeps/2026-11-22T072403Z-7b2d61-e7174aae94e8";
/// Of programs that wait for given moments.
const PACED: &str = "results/sweeps/2026-11-20T134258Z-7b2d61-a3f39b058aa3";

/// A checkout whose Python is a shell script.
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

fn show(root: &Path, sweep: &str, more: &[&str]) -> Assert {
    let sweep = common::root().join(sweep).display().to_string();
    let root_text = root.display().to_string();
    let mut command = common::runner(root);
    command
        .args(["show", &sweep, "--root", &root_text])
        .args(more)
        .assert()
}

#[test]
fn the_table_ends_with_what_the_analysis_says_in_as_many_columns() {
    let folder = checkout("echo \"asked: $3 in $COLUMNS\"");
    show(folder.path(), SWEEP, &[])
        .success()
        .stdout(contains("CPU ratio"))
        .stdout(predicates::str::ends_with("\nasked: verdict in 80\n"));
    show(folder.path(), PACED, &[]).stdout(is_match("CPU time +CPU ratio +time +ratio").unwrap());
    show(folder.path(), SWEEP, &["--format", "markdown"])
        .success()
        .stdout(contains("\nasked: verdict"));
    for format in ["csv", "json"] {
        show(folder.path(), SWEEP, &["--format", format])
            .success()
            .stdout(contains("asked:").not());
    }
}

#[test]
fn an_analysis_that_fails_leaves_the_table_and_says_why_and_what_to_do() {
    let folder = checkout("echo first >&2; echo 'error: no such thing' >&2; exit 2");
    show(folder.path(), SWEEP, &[])
        .success()
        .stdout(contains("CPU ratio"))
        .stdout(contains(
            "\nNot judged: the analysis failed: error: no such thing. Once that is mended,\n",
        ))
        .stdout(is_match("judgement\\.\n$").unwrap());
}

#[test]
fn without_python_the_table_is_there_and_says_what_is_needed() {
    let folder = checkout("");
    fs::remove_dir_all(folder.path().join(".venv")).unwrap();
    let sweep = common::root().join(SWEEP).display().to_string();
    let root = folder.path().display().to_string();
    common::runner(folder.path())
        .env("PATH", folder.path())
        .args(["show", &sweep, "--root", &root])
        .assert()
        .success()
        .stdout(contains("CPU ratio"))
        .stdout(contains("Not judged: "))
        .stdout(is_match("needs Python 3.11 or newer, and\\sthere is no\\s`python3`").unwrap());
}

#[test]
fn the_table_is_there_before_the_analysis_has_said_anything() {
    let folder = checkout(
        "for i in $(seq 600); do [ -e \"$PYTHONPATH/../../go\" ] && echo went && exit; sleep 0.1; done; echo waited",
    );
    fs::create_dir_all(folder.path().join("analysis/src")).unwrap();
    let mut command = common::runner(folder.path());
    command.arg("show").arg(common::root().join(SWEEP));
    command.arg("--root").arg(folder.path());
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let table = lines.by_ref().map(Result::unwrap);
    assert!(table.take(60).any(|line| line.contains("CPU ratio")));
    fs::write(folder.path().join("go"), "").unwrap();
    let last = lines.map(Result::unwrap).last();
    assert_eq!(last.as_deref(), Some("went"));
    assert!(child.wait().unwrap().success());
}

/// A Python that says what it is told to do, and makes another of its kind for an environment.
const TALKING: &str = "#!/bin/sh
case \"$*\" in
    *version_info*) echo 3 12 ;;
    *venv*--clear*) for last; do :; done; mkdir -p \"$last/bin\"; cp \"$0\" \"$last/bin/python\" ;;
    *pip*) echo \"asked: $*\" ;;
    *verdict*) echo judged ;;
esac
";

#[test]
fn what_is_set_up_is_told_with_the_reason_and_pip_is_not_silenced() {
    let folder = checkout("");
    fs::remove_dir_all(folder.path().join(".venv")).unwrap();
    let python = folder.path().join("python3");
    fs::write(&python, TALKING).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let sweep = common::root().join(SWEEP);
    let mut command = common::runner(folder.path());
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    command.env("PATH", path).arg("show").arg(sweep);
    let shown = command.arg("--root").arg(folder.path()).assert().success();
    shown
        .stdout(contains("\njudged\n"))
        .stderr(contains("the analysis judges sweeps and draws them"))
        .stderr(contains("asked: -m pip install").and(contains("--quiet").not()));
}
