//! A sweep that was damaged between two runs: the message and the exit code are right, and nothing
//! is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::assert::{Assert, OutputAssertExt as _};
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use serde_json::Value;
use tempfile::TempDir;

use super::{CELLS, KILLED_TRIALS, assert_complete, killed_sweep, lines, resume, sweep_in};
use crate::{common, namespace};

struct Damaged {
    folder: TempDir,
    sweep: PathBuf,
    trials: String,
}

impl Damaged {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let from = killed_sweep().path().join("sweeps");
        let copied = Command::new("cp")
            .arg("-r")
            .arg(from)
            .arg(folder.path())
            .status();
        assert!(copied.unwrap().success());
        let sweep = sweep_in(&folder).unwrap();
        let trials = fs::read_to_string(sweep.join("trials.jsonl")).unwrap();
        Self {
            folder,
            sweep,
            trials,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.sweep.join(name)
    }

    fn replace(&self, name: &str, old: &str, new: &str) {
        let text = fs::read_to_string(self.file(name)).unwrap();
        assert!(text.contains(old), "{text}");
        fs::write(self.file(name), text.replacen(old, new, 1)).unwrap();
    }

    fn resume(&self) -> Assert {
        resume(&self.folder).assert()
    }

    /// Refused with this exit code before anything is built, and without a change.
    #[track_caller]
    fn assert_refused(&self, code: i32, message: &str) {
        let before = contents(&self.sweep);
        self.resume()
            .code(code)
            .stderr(contains(message))
            .stderr(contains("building").not());
        assert_eq!(contents(&self.sweep), before);
    }
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut all: Vec<(PathBuf, Vec<u8>)> = paths
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn an_empty_file_of_trials_is_filled_again() {
    let damaged = Damaged::new();
    fs::write(damaged.file("trials.jsonl"), "").unwrap();
    damaged.resume().success();
    assert_complete(&damaged.sweep, CELLS * KILLED_TRIALS);
}

#[test]
fn a_missing_file_of_trials_is_bad_input_with_what_a_sweep_is_made_of() {
    let damaged = Damaged::new();
    fs::remove_file(damaged.file("trials.jsonl")).unwrap();
    damaged.assert_refused(
        2,
        "a sweep is a folder with manifest.json, host.json and trials.jsonl",
    );
}

#[test]
fn trials_without_a_manifest_are_bad_input_and_untouched() {
    let damaged = Damaged::new();
    fs::remove_file(damaged.file("manifest.json")).unwrap();
    let mut command = common::runner(damaged.folder.path());
    command.args(["sweep", "--resume"]).arg(&damaged.sweep);
    command
        .assert()
        .code(2)
        .stderr(contains("has trials, but no manifest.json"));
    assert_eq!(
        fs::read_to_string(damaged.file("trials.jsonl")).unwrap(),
        damaged.trials
    );
}

#[test]
fn an_empty_manifest_is_bad_input_with_the_remedy() {
    let damaged = Damaged::new();
    fs::write(damaged.file("manifest.json"), "").unwrap();
    damaged.assert_refused(2, "the file is damaged; put back a copy of it");
}

#[test]
fn a_manifest_of_another_version_is_bad_input_with_both_versions() {
    let damaged = Damaged::new();
    damaged.replace("manifest.json", "\"schema\": 1", "\"schema\": 9");
    damaged.assert_refused(2, "manifest.json: `schema` is 9, this runner reads 1");
}

#[test]
fn a_record_of_another_version_is_bad_input_with_its_line() {
    let damaged = Damaged::new();
    damaged.replace("trials.jsonl", "\"schema\":1", "\"schema\":9");
    damaged.assert_refused(2, "trials.jsonl:1: `schema` is 9, this runner reads 1");
}

#[test]
fn a_line_that_is_no_record_is_bad_input_with_its_number() {
    let damaged = Damaged::new();
    damaged.replace("trials.jsonl", "\n", "\nhello\n");
    damaged.assert_refused(2, "trials.jsonl:2: no trial record");
    damaged.assert_refused(
        2,
        &format!("`cargo runner repair {}`", damaged.sweep.display()),
    );
}

#[test]
fn a_sweep_with_broken_lines_is_shown_without_them_loudly_and_repaired() {
    let damaged = Damaged::new();
    let first = damaged.trials.lines().next().unwrap();
    // Nonsense in the middle, a record twice, and half a line at the end.
    let broken = damaged
        .trials
        .replacen('\n', &format!("\nhello\n{first}\n"), 1)
        + "{\"schema\"";
    fs::write(damaged.file("trials.jsonl"), broken).unwrap();
    let command = |word: &str| {
        let mut command = common::runner(damaged.folder.path());
        command.arg(word).arg(&damaged.sweep).assert()
    };
    command("show")
        .success()
        .stdout(contains("speed-up"))
        .stderr(contains("trials.jsonl:2: no trial record"))
        .stderr(contains("WARNING: 2 lines of"))
        .stderr(contains("cargo runner repair"));
    command("repair")
        .success()
        .stderr(contains("3 broken lines of"));
    assert_eq!(
        fs::read_to_string(damaged.file("trials.jsonl")).unwrap(),
        damaged.trials
    );
    let aside = fs::read_to_string(damaged.file("trials.torn-2")).unwrap();
    assert_eq!(aside, format!("hello\n{first}\n"));
    command("repair")
        .success()
        .stderr(contains("nothing was changed"));
    let lines = damaged.trials.lines().count();
    assert_eq!(
        lines,
        fs::read_to_string(damaged.file("trials.jsonl"))
            .unwrap()
            .lines()
            .count()
    );
}

#[test]
fn a_repair_does_not_call_a_sweep_sound_whose_other_files_are_broken() {
    for (file, content) in [
        ("manifest.json", &b"{"[..]),
        ("manifest.json", b"\xff\xfe"),
        ("host.json", b"{"),
        ("host.json", b"\xff"),
    ] {
        let damaged = Damaged::new();
        fs::write(damaged.file(file), content).unwrap();
        let mut repair = common::runner(damaged.folder.path());
        let repair = repair.arg("repair").arg(&damaged.sweep).assert();
        repair
            .code(2)
            .stderr(contains(file).and(contains("nothing was changed").not()));
    }
}

#[test]
fn a_file_taken_out_of_a_sweep_is_bad_input_to_a_repair_too() {
    for file in ["host.json", "trials.jsonl"] {
        let damaged = Damaged::new();
        fs::remove_file(damaged.file(file)).unwrap();
        let mut repair = common::runner(damaged.folder.path());
        let repair = repair.arg("repair").arg(&damaged.sweep).assert();
        repair
            .code(2)
            .stderr(contains(file).and(contains("put back a copy of it")));
    }
}

#[test]
fn records_of_branches_and_trials_that_were_not_planned_are_not_shown_as_if_they_were() {
    for (field, other) in [("branch", "stranger"), ("trial", "0123456789abcdef")] {
        let damaged = Damaged::new();
        let first: Value = serde_json::from_str(damaged.trials.lines().next().unwrap()).unwrap();
        let value = |word: &str| format!("\"{field}\":\"{word}\"");
        damaged.replace(
            "trials.jsonl",
            &value(first[field].as_str().unwrap()),
            &value(other),
        );
        let mut show = common::runner(damaged.folder.path());
        let show = show.arg("show").arg(&damaged.sweep).assert();
        show.code(2)
            .stderr(contains(other))
            .stderr(contains("is not part of the plan"));
    }
}

#[test]
fn a_trial_that_is_there_twice_is_bad_input_with_both_lines() {
    let damaged = Damaged::new();
    let first = damaged.trials.lines().next().unwrap();
    fs::write(
        damaged.file("trials.jsonl"),
        format!("{first}\n{}", damaged.trials),
    )
    .unwrap();
    damaged.assert_refused(2, "is in line 1 already");
}

#[test]
fn a_trial_of_another_sweep_is_bad_input() {
    let damaged = Damaged::new();
    let first: Value = serde_json::from_str(damaged.trials.lines().next().unwrap()).unwrap();
    damaged.replace(
        "trials.jsonl",
        first["trial"].as_str().unwrap(),
        "0123456789abcdef",
    );
    damaged.resume().code(2).stderr(
        contains("trial 0123456789abcdef of branch `master`")
            .and(contains("is not part of the plan")),
    );
}

#[test]
fn a_sweep_of_another_host_is_refused_as_host_not_fit() {
    let damaged = Damaged::new();
    let manifest: Value =
        serde_json::from_slice(&fs::read(damaged.file("manifest.json")).unwrap()).unwrap();
    let host = manifest["host"].as_str().unwrap();
    damaged.replace(
        "manifest.json",
        &format!("\"host\": \"{host}\""),
        "\"host\": \"elsewh\"",
    );
    damaged.assert_refused(4, "was begun on host elsewh");
}

#[test]
fn a_sweep_of_another_list_of_branches_is_bad_input_with_what_differs() {
    let damaged = Damaged::new();
    let config = damaged.folder.path().join("branches.toml");
    let row = "[[branch]]\nname = \"other\"\npublished = \"1.13.0\"\nbaseline = true\n";
    fs::write(&config, row).unwrap();
    let mut command = resume(&damaged.folder);
    command.arg("--config").arg(config);
    command
        .assert()
        .code(2)
        .stderr(contains("branch `master` is no longer in branches.toml"));
    assert_eq!(
        fs::read_to_string(damaged.file("trials.jsonl")).unwrap(),
        damaged.trials
    );
}

#[test]
fn a_folder_that_cannot_be_written_is_told_before_anything_is_built() {
    let damaged = Damaged::new();
    let script = r#"
        mount --bind -o ro "$SWEEPS" "$SWEEPS"
        exec "$RUNNER" sweep --resume latest --output "$SWEEPS"
    "#;
    let sweeps = damaged.folder.path().join("sweeps");
    let variables = [("SWEEPS", &*sweeps), ("TMPDIR", damaged.folder.path())];
    let Some(output) = namespace::run(script, &variables) else {
        return;
    };
    output
        .assert()
        .code(4)
        .stderr(contains(
            "nothing can be added to this sweep: Read-only file system",
        ))
        .stderr(contains("building").not());
    assert_eq!(
        fs::read_to_string(damaged.file("trials.jsonl")).unwrap(),
        damaged.trials
    );
}

#[test]
fn a_disk_that_gets_full_stops_the_sweep_and_with_room_it_goes_on() {
    let damaged = Damaged::new();
    // Room for a manifest and a few records beside what is there.
    let script = r#"
        mount -t tmpfs -o size=400k none /mnt
        cp -r "$SWEEPS/." /mnt
        dd if=/dev/zero of=/mnt/filler bs=1k count=400 2>/dev/null || true
        truncate -s -24k /mnt/filler
        code=0
        "$RUNNER" sweep --resume latest --output /mnt || code=$?
        rm /mnt/filler
        cp /mnt/*/trials.jsonl "$KEPT"
        "$RUNNER" sweep --resume latest --output /mnt >/dev/null
        rm "$SWEEPS"/*/trials.jsonl
        cp /mnt/*/trials.jsonl.zst "$SWEEPS"/*/
        exit $code
    "#;
    let sweeps = damaged.folder.path().join("sweeps");
    let kept = damaged.folder.path().join("kept.jsonl");
    let variables = [
        ("SWEEPS", &*sweeps),
        ("KEPT", &*kept),
        ("TMPDIR", damaged.folder.path()),
    ];
    let Some(output) = namespace::run(script, &variables) else {
        return;
    };
    output
        .assert()
        .code(4)
        .stderr(contains("every earlier trial is safe"))
        .stderr(contains("cargo runner sweep --resume"));
    let kept = fs::read_to_string(kept).unwrap();
    assert!(kept.starts_with(&damaged.trials) && kept.len() > damaged.trials.len());
    assert!(kept.ends_with('\n'), "half a line was left");
    assert_complete(&damaged.sweep, CELLS * KILLED_TRIALS);
    assert!(
        lines(&damaged.sweep)
            .join("\n")
            .starts_with(kept.trim_end())
    );
}
