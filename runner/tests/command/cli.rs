use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use tempfile::TempDir;

use crate::common::{self, line};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn printed(words: &str) -> String {
    let output = line(folder().path(), words).success();
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

fn sweep_of(folder: &TempDir, version: &str, source: &str) -> assert_cmd::assert::Assert {
    let krate = folder.path().join("rayon-core");
    fs::create_dir_all(krate.join("src")).unwrap();
    let manifest =
        format!("[package]\nname = \"rayon-core\"\nversion = \"{version}\"\n[workspace]\n");
    fs::write(krate.join("Cargo.toml"), manifest).unwrap();
    fs::write(krate.join("src/lib.rs"), source).unwrap();
    let config = folder.path().join("branches.toml");
    let row = "[[branch]]\nname = \"mine\"\nbaseline = true\npath = \"rayon-core\"\n";
    fs::write(&config, row).unwrap();
    line(
        folder.path(),
        &format!("sweep --config {}", config.display()),
    )
}

#[test]
fn plans_count_and_name_what_would_be_done() {
    let small = "plan --branches packed --workloads quicksort --threads 1,2 --trials 3";
    for (words, told) in [
        // 7 configurations: 2 thread counts × (master, its A/A control, packed) + 1 sequential
        // program.
        (
            small.to_owned(),
            &[
                "7 configurations, 9 blocks, 21 trials",
                "branches master packed",
                "A/A control master-again",
                "placement free",
            ][..],
        ),
        (
            format!("{small} --placement both"),
            &[
                "placement free pinned",
                "14 configurations, 18 blocks, 42 trials",
            ],
        ),
        // 21 timed trials, and 2 trials of the instrumented build at each of 2 thread counts.
        (
            format!("{small} --instrument"),
            &[
                "counted 2 trials of each configuration of packed-instrumented,",
                "9 configurations, 13 blocks, 25 trials",
            ],
        ),
        // 5 cases × 2 depths × 2 thread counts, and one sequential program; 5 trials of each.
        (
            "plan --experiment packets-speedup-uniform --threads 2,3 --parameter words=1000"
                .to_owned(),
            &[
                "21 configurations",
                "105 trials",
                "trials 5 of each configuration, each of 0 + 1 iterations",
            ],
        ),
        (
            "list".to_owned(),
            &[
                "master (baseline)",
                "split-counters-no-jec-cache-padded",
                "quicksort",
                "packets-speedup-uniform",
                "placement free, pinned",
            ],
        ),
    ] {
        let stdout = printed(&words);
        let stdout = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for text in told {
            assert!(stdout.contains(text), "{words}: {text} is not in\n{stdout}");
        }
    }
    line(folder().path(), "plan --branches packed --instrument")
        .success()
        .stderr(contains("the baseline `master` is added"))
        .stderr(contains(
            "note: no counts of master: only branches of rayon-fork/",
        ));
}

#[test]
fn words_that_cannot_be_meant_are_refused_as_they_were_typed_before_anything_is_built() {
    let folder = folder();
    let nowhere = folder.path().join("nowhere").display().to_string();
    let taken = folder.path().join("taken").display().to_string();
    fs::write(&taken, "a file").unwrap();
    for (words, code, told) in [
        ("sweep --threads=0", 2, "`0` is not a thread count"),
        (
            "sweep --parameter=packets.wrods=9",
            2,
            "did you mean `words`?",
        ),
        ("sweep --parameter=elements=many", 2, "a whole number"),
        (
            "plan --parameter=elements=5 --parameter=quicksort.elements=6",
            2,
            "`quicksort.elements` is already 5; give each parameter once",
        ),
        ("sweep --workloads=quicksrt", 2, "did you mean `quicksort`?"),
        (
            "sweep --branches=,",
            2,
            "--branches: `,` names no branch; write `all`",
        ),
        (
            "plan --branches group:rivls",
            2,
            "--branches: rivls: no such group; did you mean `rivals`? known: designs, ",
        ),
        ("sweep --timeout=-1", 2, "positive number of seconds"),
        ("sweep --resume latest --trials 3", 2, "--resume"),
        (
            "plan --trials 1000000000",
            2,
            "more than the limit of 10000000 trials",
        ),
        (
            "plan --machine zen4-64 --seed 99999999999999",
            2,
            "`seed` is 99999999999999, and the limit on simulated machines is 1000000000000",
        ),
        ("plan --shard 1/99999999", 2, "too few for 99999999 shards"),
        (
            "plan --branches master --instrument",
            2,
            "error: --instrument: only branches of rayon-fork/ can count events",
        ),
        (
            "plan --experiment packets-awsome",
            2,
            "did you mean `packets-awesome`?",
        ),
        (
            "plan --experiment packets-awesome --preset quick",
            2,
            "cannot be used with",
        ),
        (
            "merge nowhere.tar.zst",
            2,
            "nowhere.tar.zst: there is no such file or folder",
        ),
        ("list --config NOWHERE", 2, "nowhere: cannot be read"),
        ("list --root NOWHERE", 2, "no checkout at"),
        (
            "show nothing --output NOWHERE",
            2,
            "no sweep called `nothing`",
        ),
        ("show --output NOWHERE", 2, "`cargo runner sweep` makes one"),
        ("sweep --output TAKEN", 4, "choose a folder with --output"),
        (
            "calibrate --output /nowhere/charges.toml",
            4,
            "/nowhere/charges.toml: cannot be written",
        ),
    ] {
        let words = words.replace("NOWHERE", &nowhere).replace("TAKEN", &taken);
        line(folder.path(), &words)
            .code(code)
            .stderr(contains(told))
            .stderr(contains("building").or(contains("at path")).not());
    }
}

#[test]
fn list_shows_every_workload_with_its_sizes_in_80_columns() {
    let text = printed("list");
    for name in runner::config::catalogue::names() {
        let (_, own) = text.split_once(&format!("\n{name}\n")).unwrap();
        assert!(own.starts_with("    does "), "{name}: {own}");
    }
    let sizes = format!("    {:20}15 · 32 · 37 · 41 (which", "n");
    assert!(text.contains(&sizes), "{text}");
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_sweep_may_be_called_by_the_beginning_of_its_name_if_no_other_begins_so() {
    let folder = folder();
    for name in ["2026-01-01T000000Z-a-1", "2026-01-02T000000Z-a-1"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("manifest.json"), "{}").unwrap();
    }
    let sweeps = folder.path().display().to_string();
    for (name, told) in [
        ("2026-01-02", "2026-01-02T000000Z-a-1"),
        ("2026-01-0", "2026-01-01T000000Z-a-1 and 2026-01-02"),
    ] {
        line(folder.path(), &format!("show {name} --output {sweeps}"))
            .code(2)
            .stderr(contains(told));
    }
}

#[test]
fn a_fixed_frequency_is_refused_where_the_host_cannot_hold_one() {
    if Path::new("/sys/devices/system/cpu/cpu0/cpufreq").exists() {
        return; // other tests check the refusal on mock hosts
    }
    line(folder().path(), "plan --mode fixed")
        .code(4)
        .stderr(contains("no frequency control"))
        .stderr(contains("--allow-uncontrolled"));
    line(folder().path(), "plan --mode fixed --allow-uncontrolled").success();
}

#[test]
fn a_second_sweep_on_the_same_host_is_refused() {
    let folder = folder();
    let lock = fs::File::create(folder.path().join("host.lock")).unwrap();
    lock.lock().unwrap();
    // The sweep gets another folder for temporary files, because the host's lock must not depend on
    // that folder.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut sweep = common::runner(folder.path());
    sweep.env("TMPDIR", elsewhere.path()).arg("sweep");
    let refusal = "another sweep runs on this host";
    sweep.assert().code(4).stderr(contains(refusal));
    // Mistakes on the command line are reported even while another sweep runs.
    for (words, code, told) in [
        ("sweep --threads -1", 2, "`-1` is not a thread count"),
        (
            "compare packed path:nowhere",
            2,
            "`path:nowhere`: the folder is not there",
        ),
        ("sweep --resume nothing", 2, "no sweep called `nothing`"),
        (
            "sweep --output /dev/null",
            4,
            "/dev/null: no sweep can be written there",
        ),
    ] {
        line(folder.path(), words).code(code).stderr(contains(told));
    }
}

fn simulated_sweep_without_trials(folder: &TempDir) -> PathBuf {
    let begun = folder.path().join("begun");
    common::copy(
        &common::root().join("results/sweeps/2026-11-24T235311Z-here-0c94d95ea627"),
        &begun,
    );
    fs::remove_file(begun.join("trials.jsonl.zst")).unwrap();
    fs::write(begun.join("trials.jsonl"), "").unwrap();
    begun
}

#[test]
fn simulated_sweeps_may_run_at_once_but_not_beside_one_that_measures() {
    let folder = folder();
    let lock = fs::File::create(folder.path().join("host.lock")).unwrap();
    // There is no compiler in this test, so no sweep can get as far as a build.
    let told = |arguments: &[&str]| {
        let mut sweep = common::runner(folder.path());
        sweep.args(arguments);
        let output = sweep.env("RUSTC", "/bin/false").output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let refusal = "another sweep runs on this host";
    let machine = ["sweep", "--branches", "packed", "--machine", "zen4-64"];
    let begun = simulated_sweep_without_trials(&folder);
    let resume = ["sweep", "--resume", begun.to_str().unwrap()];
    lock.lock_shared().unwrap();
    for simulated in [&machine[..], &resume] {
        let at_once = told(simulated);
        assert!(!at_once.contains(refusal), "{at_once}");
        assert!(at_once.contains("error: "), "{at_once}");
    }
    assert!(told(&["sweep", "--branches", "packed"]).contains(refusal));
    lock.unlock().unwrap();
    lock.lock().unwrap();
    for simulated in [&machine[..], &resume] {
        assert!(told(simulated).contains(refusal));
    }
}

#[test]
fn a_branch_that_does_not_compile_is_a_failed_build_with_the_compilers_words() {
    let folder = folder();
    sweep_of(&folder, "1.13.5", "compile_error!(\"half finished\");")
        .code(3)
        .stderr(contains("branch `mine`"))
        .stderr(contains("half finished"));
}

#[test]
fn link_orders_beyond_the_typed_number_of_trials_are_left_out_with_a_note() {
    line(folder().path(), "plan --layouts 15 --trials 7")
        .success()
        .stdout(contains("in 7 link orders each"))
        .stderr(contains("note: --layouts 15 with --trials 7: "));
}

#[test]
fn a_patch_that_cargo_ignores_is_a_failed_build() {
    let folder = folder();
    sweep_of(&folder, "2.0.0", "")
        .code(3)
        .stderr(contains(
            "branch `mine` asks for rayon-core, but cargo linked rayon-core 1.",
        ))
        .stderr(contains("a patch is ignored when"));
}

#[test]
fn help_shows_no_option_under_anothers_heading_and_none_that_is_refused() {
    for command in ["sweep", "compare", "plan"] {
        let text = printed(&format!("{command} --help"));
        let (_, frequency) = text.split_once("CPU frequency:").unwrap();
        for option in ["--resume", "--output", "--format", "--root"] {
            let listed = format!("      {option}");
            assert!(!frequency.contains(&listed), "{command} {option}: {text}");
        }
        assert_eq!(text.contains("--branches <"), command != "compare");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_the_hosts_fault_and_a_reader_that_has_gone_is_none() {
    let folder = folder();
    for words in [
        &["on-this-host", "--plan"][..],
        &["list"], // prints more than a pipe holds
        &["plan"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let mut command = common::runner(folder.path());
        let output = command.args(words).stdout(full).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{words:?}: {said}");
        assert!(said.starts_with("error: standard output"), "{said}");
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{words:?}: {said}");
    }
}

#[test]
fn what_is_said_to_nobody_stops_nothing() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let mut plan = common::runner(folder().path());
    plan.args(["plan", "--branches", "packed"]).stderr(full);
    plan.assert().success().stdout(contains("in all "));
}
