//! Tests `record` on a program outside the checkout, `show` of its recording, its replay on
//! simulated cores, and `trace` of a workload.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;

use crate::common;

/// Its first argument selects how it ends. A second argument means that it uses no pool.
const PROGRAM: &str = "\
fn tree(levels: u32) {
    if levels > 0 {
        rayon::join(|| tree(levels - 1), || tree(levels - 1));
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.len() == 2 {
        let pool = rayon::ThreadPoolBuilder::new().build().unwrap();
        pool.install(|| {
            tree(3);
            rayon::scope(|scope| (0..4).for_each(|_| scope.spawn(|_| tree(1))));
        });
        pool.broadcast(|_| ());
    }
    if words[1] == \"killed\" {
        let me = std::process::id().to_string();
        std::process::Command::new(\"kill\").args([\"-9\", &me]).status().unwrap();
        std::thread::sleep(std::time::Duration::from_secs(60));
    }
}
";

/// Returns the program, built with the fork as `recording/README.md` says.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("recorded-program");
    fs::create_dir_all(folder.join("src")).unwrap();
    let root = common::root();
    let manifest = format!(
        "[package]\nname = \"stranger\"\nedition = \"2021\"\n[workspace]\n\n[dependencies]\nrayon = \"1.11\"\n\
         rayon-core = {{ version = \"1.13\", features = [\"record\"] }}\n\n\
         [patch.crates-io]\nrayon-core = {{ path = '{}' }}\n",
        root.join("rayon-fork").display()
    );
    let write = |path: &str, text: &str| fs::write(folder.join(path), text).unwrap();
    write("Cargo.toml", &manifest);
    write("src/main.rs", PROGRAM);
    // Its libraries have the versions of the checkout.
    fs::copy(root.join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet"]).current_dir(&folder);
    build
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .assert()
        .success();
    folder.join("target/debug/stranger")
});

fn record(folder: &Path, words: &[&str]) -> Assert {
    let mut command = common::runner(folder);
    command
        .args(["record", "--output"])
        .arg(folder.join("it.zst"))
        .arg("--");
    command.arg(&*BUILT).args(words).assert()
}

fn show(folder: &Path, words: &[&str]) -> Assert {
    common::runner(folder)
        .arg("show")
        .arg(folder.join("it.zst"))
        .args(words)
        .assert()
}

/// The forks of the program: 7 joins, and one in each of 4 spawned jobs; the broadcast's share is
/// another one.
const FORKS: &str = "11 joins, 1 scopes, 1 broadcasts, 5 spawned jobs, 1 installs";

#[test]
fn what_a_strangers_program_forked_is_recorded_shown_again_and_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let recorded = record(folder.path(), &["ends"]).success();
    let recorded = recorded.stdout(contains("stranger: ").and(contains(FORKS)));
    let timeline = folder.path().join("timeline.json");
    let shown = show(folder.path(), &["--timeline", timeline.to_str().unwrap()]).success();
    assert_eq!(shown.get_output().stdout, recorded.get_output().stdout);
    let drawn: serde_json::Value = serde_json::from_slice(&fs::read(timeline).unwrap()).unwrap();
    let pieces = drawn["traceEvents"].as_array().unwrap();
    let joins = pieces
        .iter()
        .filter(|piece| piece["name"] == "join")
        .count();
    assert_eq!(joins, 11);
}

#[test]
fn a_recording_is_replayed_and_its_name_and_hash_are_in_the_sweep() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &["ends"]).success();
    let mut sweep = common::runner(folder.path());
    sweep.args(["sweep", "--branches", "master", "--layouts", "1"]);
    sweep.args(["--workloads", "replay", "--threads", "1,2"]);
    sweep.args(["--trials", "1", "--iterations", "1", "--input"]);
    sweep.arg(folder.path().join("it.zst")).arg("--output");
    sweep.arg(folder.path().join("sweeps"));
    sweep.assert().success().stdout(contains("replay"));
    let manifest = common::only(&folder.path().join("sweeps")).join("manifest.json");
    let manifest: serde_json::Value = serde_json::from_slice(&fs::read(manifest).unwrap()).unwrap();
    let input = &manifest["asked"]["workloads"][0]["input"];
    assert_eq!(input["path"], "it.zst");
    assert_eq!(input["sha256"].as_str().map(str::len), Some(64));
}

#[test]
fn a_program_that_is_killed_is_recorded_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &["killed"])
        .code(1)
        .stdout(contains(FORKS))
        .stderr(contains("the program ended with signal 9"));
    show(folder.path(), &[])
        .success()
        .stdout(contains("signal 9").and(contains(FORKS)));
}

#[test]
fn what_cannot_be_recorded_is_reported_with_its_cause_and_an_earlier_recording_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.zst");
    record(folder.path(), &["ends", "without"])
        .code(2)
        .stderr(contains("did not use a pool"));
    assert!(!path.exists());
    show(folder.path(), &[])
        .code(2)
        .stderr(contains("it.zst: "));
    fs::write(&path, "earlier").unwrap();
    let mut other = common::runner(folder.path());
    other.args(["record", "--output"]).arg(&path);
    let cause = contains("uses no rayon, or another rayon-core").and(contains("README.md"));
    let refused = other.args(["--", "true"]).assert();
    refused.code(2).stderr(cause);
    assert_eq!(fs::read_to_string(path).unwrap(), "earlier");
}

#[test]
fn a_cut_recording_is_refused_by_every_command_and_nothing_is_built_for_it() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &["ends"]).success();
    let path = folder.path().join("it.zst");
    let whole = fs::read(&path).unwrap();
    for cut in [whole.len() - 9, 2, 0] {
        fs::write(&path, &whole[..cut]).unwrap();
        show(folder.path(), &[])
            .code(2)
            .stderr(contains("it.zst: is "));
        for words in [
            &["plan", "--branches", "packed"][..],
            &["sweep", "--branches", "packed"],
            &["compare", "master", "packed"],
        ] {
            let mut command = common::runner(folder.path());
            command.args(words).args(["--workloads", "replay"]);
            let named = format!("--input {}: is ", path.display());
            let refused = command.arg("--input").arg(&path).assert().code(2);
            let is_built = contains("resolving").or(contains("building"));
            refused.stderr(contains(named).and(is_built.not()));
        }
    }
}

#[test]
fn a_recording_of_any_name_is_shown_in_tables() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &["ends"]).success();
    let any = folder.path().join("my.rec");
    fs::rename(folder.path().join("it.zst"), &any).unwrap();
    let show = |words: &[&str]| {
        let mut command = common::runner(folder.path());
        command.arg("show").arg(&any).args(words).assert()
    };
    show(&[]).success().stdout(contains(FORKS));
    show(&["--format", "csv"])
        .code(2)
        .stderr(contains("which has tables only"));
    show(&["--output", "."])
        .code(2)
        .stderr(contains("--output .: it names a folder of sweeps"));
    show(&["--timeline", "/dev/full"])
        .code(4)
        .stderr(contains("--timeline /dev/full: "));
}

#[test]
fn a_full_disk_is_the_hosts_fault_and_the_recording_is_kept_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = common::runner(folder.path());
    command.args(["record", "--output", "/dev/full", "--"]);
    let recorded = command.arg(&*BUILT).arg("ends").assert().code(4);
    let said = String::from_utf8(recorded.get_output().stderr.clone()).unwrap();
    assert!(
        said.contains("--output /dev/full: the recording cannot be written: "),
        "{said}"
    );
    let (_, kept) = said.split_once("; it is kept in ").unwrap();
    let kept = Path::new(kept.split(';').next().unwrap());
    let mut show = common::runner(folder.path());
    show.arg("show")
        .arg(kept)
        .assert()
        .success()
        .stdout(contains(FORKS));
    fs::remove_file(kept).unwrap();
}

fn trace(folder: &Path, words: &[&str]) -> Assert {
    let mut command = common::runner(folder);
    command.args(["trace", "--branch", "packed", "--threads", "2", "--size"]);
    command.args(["tiny", "--output"]);
    command
        .arg(folder.join("made/trace.json"))
        .args(words)
        .assert()
}

#[test]
fn a_trace_is_the_recording_and_the_timeline_of_one_run_of_a_workload() {
    let folder = tempfile::tempdir().unwrap();
    let traced = trace(folder.path(), &["--workload", "quicksort"]).success();
    let what = "packed: quicksort tiny, threads 2: ";
    let traced = traced.stdout(contains(what).and(contains(", 1 installs")));
    let files = contains("made/trace.zst").and(contains("made/trace.json: open it at"));
    let traced = traced.stderr(files);
    let stdout = &traced.get_output().stdout;
    let stdout = String::from_utf8_lossy(stdout);
    let joins = stdout.lines().find_map(|line| line.strip_prefix("forks"));
    let joins: usize = joins
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()
        .unwrap();
    assert!(joins > 5, "{stdout}");

    let made = folder.path().join("made");
    let mut shown = common::runner(folder.path());
    let shown = shown
        .arg("show")
        .arg(made.join("trace.zst"))
        .assert()
        .success();
    assert_eq!(shown.get_output().stdout, stdout.as_bytes());
    let drawn = fs::read(made.join("trace.json")).unwrap();
    let drawn: serde_json::Value = serde_json::from_slice(&drawn).unwrap();
    let pieces = drawn["traceEvents"].as_array().unwrap();
    let count = |name| pieces.iter().filter(|piece| piece["name"] == name).count();
    assert_eq!(count("join"), joins);
    let tracks = pieces.iter().filter(|piece| piece["name"] == "thread_name");
    let tracks: Vec<_> = tracks
        .filter_map(|it| it["args"]["name"].as_str())
        .collect();
    // One is enough: the run may end before the other worker has begun.
    assert!(
        tracks.iter().any(|it| it.starts_with("worker ")),
        "{tracks:?}"
    );
}

#[test]
fn a_run_that_is_refused_leaves_no_trace() {
    let folder = tempfile::tempdir().unwrap();
    let words = ["--workload", "tsp", "--input", "no-such-file.tsp"];
    trace(folder.path(), &words).code(2);
    let made = fs::read_dir(folder.path().join("made"))
        .into_iter()
        .flatten();
    assert_eq!(made.count(), 0);
}

#[test]
fn neither_a_recording_nor_a_program_is_written_over_by_what_is_made_of_it() {
    let folder = tempfile::tempdir().unwrap();
    record(folder.path(), &["ends"]).success();
    let path = folder.path().join("it.zst");
    let whole = fs::read(&path).unwrap();
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for timeline in [&path, &link] {
        show(folder.path(), &["--timeline", timeline.to_str().unwrap()])
            .code(2)
            .stderr(contains("is the recording itself"));
        assert!(fs::read(&path).unwrap() == whole);
    }
    let mut command = common::runner(folder.path());
    command.args(["record", "--output"]).arg(&*BUILT);
    let refused = command.arg("--").arg(&*BUILT).arg("ends").assert().code(2);
    refused.stderr(contains("is the program itself"));
}

#[test]
fn a_timeline_is_written_and_a_recording_told_of_although_nobody_reads_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let ends = |mut command: Command| {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        (
            output.status.code(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let path = folder.path().join("it.zst");
    let mut recorded = common::runner(folder.path());
    recorded.args(["record", "--output"]).arg(&path).arg("--");
    recorded.arg(&*BUILT).arg("killed");
    let (code, said) = ends(recorded);
    assert_eq!(code, Some(1), "{said}");
    assert!(
        said.contains("written to ") && said.contains("signal 9"),
        "{said}"
    );
    let timeline = folder.path().join("timeline.json");
    let mut shown = common::runner(folder.path());
    shown
        .arg("show")
        .arg(&path)
        .arg("--timeline")
        .arg(&timeline);
    let (code, said) = ends(shown);
    assert_eq!(code, Some(0), "{said}");
    assert!(timeline.is_file(), "{said}");
}
