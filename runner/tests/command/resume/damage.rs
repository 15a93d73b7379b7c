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
        let mut copy = Command::new("cp");
        copy.arg("-r").arg(from).arg(folder.path());
        assert!(copy.status().unwrap().success());
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

    fn run(&self, command: &str) -> Assert {
        if command == "resume" {
            return resume(&self.folder).assert();
        }
        let mut show = common::runner(self.folder.path());
        show.arg("show").arg(&self.sweep).assert()
    }

    fn first_record(&self) -> Value {
        serde_json::from_str(self.trials.lines().next().unwrap()).unwrap()
    }
}

fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut all: Vec<_> = paths
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    all.sort();
    all
}

#[test]
fn a_damaged_sweep_is_refused_with_the_place_before_anything_is_built_and_left_as_it_is() {
    let record = Damaged::new().first_record();
    let of = |field: &str| format!("\"{field}\":{}", record[field]);
    let is_torn = "the file is damaged; restore a copy of it";
    let parts = "a sweep is a folder with manifest.json, host.json and trials.jsonl";
    let unplanned = "is not part of the plan";
    let stranger = (&*of("trial"), "\"trial\":\"0123456789abcdef\"");
    // Each case: a command, a file, a text in the file and its replacement, the exit code, and the
    // message. The text `""` means the whole file; `None` removes the file.
    for (command, file, change, code, told) in [
        ("resume", "trials.jsonl", None, 2, parts),
        ("resume", "manifest.json", Some(("", "")), 2, is_torn),
        ("resume", "host.json", Some(("", "{")), 2, is_torn),
        (
            "resume",
            "manifest.json",
            Some(("\"schema\": 1", "\"schema\": 9")),
            2,
            "manifest.json: `schema` is 9, this runner reads 1",
        ),
        (
            "resume",
            "trials.jsonl",
            Some(("\"schema\":1", "\"schema\":9")),
            2,
            "trials.jsonl:1: `schema` is 9, this runner reads 1",
        ),
        ("resume", "trials.jsonl", Some(stranger), 2, unplanned),
        ("show", "trials.jsonl", Some(stranger), 2, unplanned),
        (
            "show",
            "trials.jsonl",
            Some((&of("branch"), "\"branch\":\"stranger\"")),
            2,
            unplanned,
        ),
        (
            "resume",
            "manifest.json",
            Some(("\"host\": \"", "\"host\": \"else")),
            4,
            "was begun on host else",
        ),
    ] {
        let damaged = Damaged::new();
        let path = damaged.file(file);
        let text = fs::read_to_string(&path).unwrap();
        match change {
            None => fs::remove_file(&path).unwrap(),
            Some(("", new)) => fs::write(&path, new).unwrap(),
            Some((old, new)) => {
                assert!(text.contains(old), "{old}: {text}");
                fs::write(&path, text.replacen(old, new, 1)).unwrap();
            }
        }
        let before = contents(&damaged.sweep);
        let refused = damaged.run(command).code(code).stderr(contains(told));
        refused.stderr(contains("building").not());
        assert_eq!(contents(&damaged.sweep), before, "{command}: {told}");
    }
}

#[test]
fn trials_without_a_manifest_are_bad_input_and_untouched() {
    let damaged = Damaged::new();
    fs::remove_file(damaged.file("manifest.json")).unwrap();
    let told = contains("has trials, but no manifest.json");
    damaged.run("show").code(2).stderr(told);
    let trials = fs::read_to_string(damaged.file("trials.jsonl")).unwrap();
    assert_eq!(trials, damaged.trials);
}

#[test]
fn a_sweep_with_broken_lines_is_shown_without_them_loudly_and_resumed_beside_them() {
    let damaged = Damaged::new();
    let first = damaged.trials.lines().next().unwrap();
    let second = damaged.trials.lines().nth(1).unwrap();
    let nonsense = format!("hello\n{first}");
    let broken = damaged.trials.replacen(second, &nonsense, 1) + "{\"schema\"";
    fs::write(damaged.file("trials.jsonl"), broken).unwrap();
    let remedy = format!("`cargo runner sweep --resume {}`", damaged.sweep.display());
    damaged
        .run("show")
        .success()
        .stdout(contains("speed-up"))
        .stderr(contains("trials.jsonl:2: not a trial record"))
        .stderr(contains("WARNING: 2 lines of").and(contains(remedy)));
    let resumed = damaged.run("resume").success();
    resumed.stderr(contains("moved 3 broken lines of trials.jsonl"));
    assert_complete(&damaged.sweep, CELLS * KILLED_TRIALS);
    let aside = fs::read_to_string(damaged.file("trials.torn-1")).unwrap();
    assert_eq!(aside, format!("hello\n{first}\n{{\"schema\""));
}

#[test]
fn a_sweep_whose_branch_changed_is_not_resumed() {
    let damaged = Damaged::new();
    let path = damaged.file("manifest.json");
    let text = fs::read_to_string(&path).unwrap();
    let manifest: Value = serde_json::from_str(&text).unwrap();
    let receipt = &manifest["branches"][0]["receipt"];
    let digest = receipt["binary_sha256"].as_str().unwrap();
    // After this change, the sweep looks as if it had been begun with another binary.
    fs::write(&path, text.replace(digest, &"0".repeat(64))).unwrap();
    let told = contains("branch `master` is another binary");
    damaged.run("resume").code(2).stderr(told);
}

#[test]
fn a_folder_that_cannot_be_written_is_reported_before_anything_is_built() {
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
    let why = "no trial can be added to this sweep: Read-only file system";
    output
        .assert()
        .code(4)
        .stderr(contains(why).and(contains("building").not()));
}

#[test]
fn a_disk_that_gets_full_stops_the_sweep_and_with_room_it_goes_on() {
    let damaged = Damaged::new();
    // The file system has room for a manifest and a few records.
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
    let all = lines(&damaged.sweep).join("\n");
    assert!(all.starts_with(kept.trim_end()));
}
