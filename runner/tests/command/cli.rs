//! Tests the messages that a user reads when something is wrong, and the exit codes for scripts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::contains;
use tempfile::TempDir;

use crate::common::{self, run};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A file of branches with `master` and one more row.
fn config(folder: &TempDir, row: &str) -> String {
    let path = folder.path().join("branches.toml");
    let master = "[[branch]]\nname = \"master\"\npublished = \"1.13.0\"\nbaseline = true\n";
    let master = if row.contains("baseline") { "" } else { master };
    fs::write(&path, format!("{master}\n[[branch]]\n{row}\n")).unwrap();
    path.display().to_string()
}

/// A crate called rayon-core that is not rayon-core.
fn mock_rayon_core(folder: &TempDir, version: &str, source: &str) {
    let krate = folder.path().join("rayon-core");
    fs::create_dir_all(krate.join("src")).unwrap();
    let manifest =
        format!("[package]\nname = \"rayon-core\"\nversion = \"{version}\"\n[workspace]\n");
    fs::write(krate.join("Cargo.toml"), manifest).unwrap();
    fs::write(krate.join("src/lib.rs"), source).unwrap();
}

/// The options of a plan of `packed` and `quicksort` on one and two threads.
const PLAN: [&str; 7] = [
    "plan",
    "--branches",
    "packed",
    "--workloads",
    "quicksort",
    "--threads",
    "1,2",
];

#[test]
fn plans_count_and_name_what_would_be_done() {
    let plan = |more: &[&'static str]| [&PLAN[..], more].concat();
    let experiment = |name, more: &[&'static str]| [&["plan", "--experiment", name], more].concat();
    let elsewhere = "packed,mine=path:rayon-fork,group:rivals";
    for (words, told) in [
        // 2 thread counts × (master, its A/A control, packed) + 1 sequential.
        (
            plan(&["--trials", "3"]),
            &[
                "7 configurations, 9 blocks, 21 trials",
                "placement     free\n",
            ][..],
        ),
        (
            plan(&["--placement", "both", "--trials", "3"]),
            &[
                "placement     free pinned\n",
                "14 configurations, 18 blocks, 42 trials",
            ],
        ),
        // 21 timed trials, and 2 of the instrumented build at each of 2 thread counts.
        (
            plan(&["--trials", "3", "--instrument"]),
            &[
                "counted     2 trials of each configuration of packed-instrumented,",
                "9 configurations, 13 blocks, 25 trials",
            ],
        ),
        (
            plan(&["--trials", "3", "--instrument=1"]),
            &["9 configurations, 11 blocks, 23 trials"],
        ),
        (
            experiment("sleep", &["--branches", "master"]),
            &["placement     free pinned\n"],
        ),
        // 5 cases × 2 depths × 2 thread counts, and one sequential program; 5 trials of each.
        (
            experiment(
                "packets-speedup-uniform",
                &["--threads", "2,3", "--parameter", "words=1000"],
            ),
            &[
                "21 configurations",
                "105 trials",
                "trials 5 of each configuration, each of 0 + 1 iterations",
            ],
        ),
        (
            experiment("rivals", &[]),
            &["branches    master\n            champion\n            chili\n"],
        ),
        (
            vec!["plan", "--branches", elsewhere],
            &[
                "branches    packed\n            mine\n            chili\n",
                "A/A control packed-again",
            ],
        ),
        (
            vec!["list"],
            &[
                "master (baseline)",
                "split-counters-no-jec-cache-padded",
                "quicksort",
            ],
        ),
        (
            vec!["list", "experiments"],
            &[
                "cargo runner sweep --experiment packets-correctness",
                "placement   free, pinned",
            ],
        ),
    ] {
        let printed = run(&folder(), &words).success();
        let stdout = String::from_utf8_lossy(&printed.get_output().stdout).into_owned();
        for text in told {
            // The widths of columns do not matter.
            let is_told = squeezed(&stdout).contains(&squeezed(text));
            assert!(is_told, "{words:?}: {text} is not in\n{stdout}");
        }
    }
    run(&folder(), &plan(&["--instrument"]))
        .success()
        .stderr(contains("the baseline `master` is added"))
        .stderr(contains(
            "note: no counts of master: only branches of rayon-fork/",
        ));
}

/// Returns a text in which one space replaces several.
fn squeezed(text: &str) -> String {
    let mut squeezed = text.to_owned();
    while squeezed.contains("  ") {
        squeezed = squeezed.replace("  ", " ");
    }
    squeezed
}

/// Checks that the command is refused with this exit code and these words, before anything is
/// built.
#[track_caller]
fn assert_refused(folder: &TempDir, words: &[&str], code: i32, told: &[&str]) {
    let mut refused = run(folder, words).code(code);
    for text in told {
        refused = refused.stderr(contains(*text));
    }
    refused.stderr(contains("building").or(contains("at path")).not());
}

#[test]
fn options_that_cannot_be_meant_are_refused_in_the_words_that_were_typed() {
    let folder = folder();
    let sweep = |option: &'static str| vec!["sweep", option];
    for (words, code, told) in [
        (sweep("--threads=0"), 2, &["`0` is not a thread count"][..]),
        (sweep("--size=huge"), 2, &["unknown size `huge`"]),
        (
            sweep("--parameter=color=red"),
            2,
            &["no picked workload has `color`"],
        ),
        (
            sweep("--parameter=packets.wrods=9"),
            2,
            &["did you mean `words`? known: packets.strategy"],
        ),
        (sweep("--parameter=elements=many"), 2, &["a whole number"]),
        (
            sweep("--workloads=quicksrt"),
            2,
            &["did you mean `quicksort`?"],
        ),
        (
            sweep("--workloads="),
            2,
            &["--workloads: `` names no workload; write `all`"],
        ),
        (
            sweep("--branches= , "),
            2,
            &["--branches: ` , ` names no branch; write `all`"],
        ),
        (sweep("--timeout=-1"), 2, &["positive number of seconds"]),
        (sweep("--trials=0"), 2, &["0 is not in 1"]),
        (sweep("--output=x.pdf"), 2, &["leave out `.pdf`"]),
        (
            vec!["report", "--output", "x.pdf"],
            2,
            &["leave out `.pdf`"],
        ),
        (
            vec!["sweep", "--resume", "latest", "--trials", "3"],
            2,
            &["--resume"],
        ),
        (
            vec![
                "plan",
                "--parameter=elements=5",
                "--parameter=quicksort.elements=6",
            ],
            2,
            &["`quicksort.elements` is already 5; give each parameter once"],
        ),
        (
            vec!["plan", "--trials", "1000000000"],
            2,
            &["more than the limit of 10000000 trials"],
        ),
        (
            vec!["plan", "--machine", "zen4-64", "--seed", "99999999999999"],
            2,
            &["`seed` is 99999999999999, and the limit on simulated machines is 1000000000000"],
        ),
        (
            vec!["plan", "--trials", "-1"],
            2,
            &["invalid value '-1' for '--trials <N>'"],
        ),
        (
            vec!["plan", "--shard", "1/99999999"],
            2,
            &["too few for 99999999 shards"],
        ),
        (
            vec!["plan", "--shard", "3/2"],
            2,
            &["for example 1/4 to 4/4"],
        ),
        (
            vec!["plan", "--placement", "pined"],
            2,
            &["free, pinned, both", "'pinned'"],
        ),
        (
            vec!["plan", "--branches", "pakced"],
            2,
            &[
                "error: --branches: no branch matches `pakced`",
                "did you mean `packed`?",
            ],
        ),
        (
            vec!["plan", "--branches", "group:rivls"],
            2,
            &[
                "--branches: rivls: no such group; known: designs, ",
                "did you mean `rivals`?",
            ],
        ),
        (
            vec!["plan", "--branches", "master", "--instrument"],
            2,
            &[
                "error: --instrument: only branches of rayon-fork/ can count events",
                "add for example `packed`",
            ],
        ),
    ] {
        assert_refused(&folder, &words, code, told);
    }
}

#[test]
fn names_files_and_folders_that_cannot_be_meant_are_refused_as_they_were_typed() {
    let trace = |more: [&'static str; 2]| {
        let other = match more[0] {
            "--branch" => ["--workload", "tsp"],
            _ => ["--branch", "packed"],
        };
        [&["trace", "--threads", "2"][..], &more, &other].concat()
    };
    let experiment = |name, more: &[&'static str]| [&["plan", "--experiment", name], more].concat();
    let folder = folder();
    let nowhere = folder.path().join("nowhere").display().to_string();
    let taken = folder.path().join("taken").display().to_string();
    fs::write(&taken, "a file").unwrap();
    for (words, code, told) in [
        (
            experiment("packets-awsome", &[]),
            2,
            &["did you mean `packets-awesome`?"][..],
        ),
        (
            experiment("packets-awesome", &["--preset", "quick"]),
            2,
            &["cannot be used with"],
        ),
        (
            experiment("packets-awesome", &["--workloads", "tsp"]),
            2,
            &["--workloads tsp: none has"],
        ),
        (
            trace(["--branch", "master"]),
            2,
            &["records nothing; only branches of rayon-fork/"],
        ),
        (
            trace(["--branch", "split*"]),
            2,
            &[
                "--branch: `split*` matches split-counters, ",
                "; name exactly one branch",
            ],
        ),
        (
            trace(["--workload", "all"]),
            2,
            &[
                "--workload: `all` matches quicksort, ",
                "; name exactly one workload",
            ],
        ),
        (
            trace(["--workload", "quicksrt"]),
            2,
            &["did you mean `quicksort`?"],
        ),
        (
            [&trace(["--workload", "tsp"])[..], &["--output", "it.zst"]].concat(),
            2,
            &["--output it.zst: ", "for example it.json"],
        ),
        (
            vec!["merge", "nowhere.tar.zst"],
            2,
            &["nowhere.tar.zst: there is no such file or folder"],
        ),
        (
            vec!["list", "--config", &nowhere],
            2,
            &["nowhere: cannot be read"],
        ),
        (vec!["list", "--root", &nowhere], 2, &["no checkout at"]),
        (
            vec!["show", "nothing", "--output", &nowhere],
            2,
            &["no sweep called `nothing`"],
        ),
        (
            vec!["show", "--output", &nowhere],
            2,
            &["`cargo runner sweep` makes one"],
        ),
        (
            vec!["sweep", "--output", &taken],
            4,
            &["choose a folder with --output"],
        ),
        (
            vec!["calibrate", "--output", "/nowhere/charges.toml"],
            4,
            &["/nowhere/charges.toml: cannot be written"],
        ),
    ] {
        assert_refused(&folder, &words, code, told);
    }
}

#[test]
fn list_shows_every_workload_with_its_sizes_in_80_columns() {
    let output = run(&folder(), &["list", "workloads"])
        .success()
        .get_output()
        .stdout
        .clone();
    let text = String::from_utf8(output).unwrap();
    for description in runner::config::catalogue::all() {
        let (_, own) = text
            .split_once(&format!("\n{}\n", description.name))
            .unwrap();
        assert!(own.starts_with("    does "), "{}: {own}", description.name);
    }
    assert!(
        text.contains(&format!("    {:20}15 · 32 · 37 · 41 (which", "n")),
        "{text}"
    );
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn list_as_json_is_data() {
    let output = run(&folder(), &["list", "--format", "json"])
        .success()
        .get_output()
        .stdout
        .clone();
    let all: serde_json::Value = serde_json::from_slice(&output).unwrap();
    assert_eq!(all["branches"][0]["name"], "master");
    assert!(all["workloads"].as_array().unwrap().len() >= 3);
}

#[test]
fn a_fault_in_branches_toml_is_bad_input_with_its_line() {
    let folder = folder();
    let config = config(&folder, "name = \"hot\"\nfork = [\"spilt\"]");
    run(&folder, &["list", "--config", &config]).code(2).stderr(contains(
        "error: branches.toml:8: branch `hot`: unknown feature `spilt`; known: cache-padded, demand",
    ));
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let folder = folder();
    let mut child = common::runner(folder.path())
        .args(["list", "--format", "json"]) // far more than a pipe holds
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    child
        .wait_with_output()
        .unwrap()
        .assert()
        .success()
        .stderr(contains("error").not());
}

#[test]
fn an_earlier_trace_stays_until_there_is_a_new_one() {
    let folder = folder();
    let earlier = folder.path().join("trace.json");
    fs::write(&earlier, "earlier").unwrap();
    // Cargo is missing, so that nothing can be built.
    let mut trace = common::runner(folder.path());
    trace
        .env("CARGO", folder.path().join("none"))
        .args([
            "trace",
            "--branch",
            "packed",
            "--workload",
            "quicksort",
            "--output",
        ])
        .arg(&earlier);
    trace.assert().failure();
    assert_eq!(fs::read_to_string(&earlier).unwrap(), "earlier");
    let left = fs::read_dir(folder.path())
        .unwrap()
        .map(|it| it.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["trace.json"]);
}

#[test]
fn a_sweep_may_be_called_by_the_beginning_of_its_name_if_no_other_begins_so() {
    let folder = folder();
    for name in ["2026-01-01T000000Z-a-1", "2026-01-02T000000Z-a-1"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("manifest.json"), "{}").unwrap();
    }
    let sweeps = folder.path().display().to_string();
    // The sweep that the name means has no trials, and the message names that sweep.
    run(&folder, &["show", "2026-01-02", "--output", &sweeps])
        .code(2)
        .stderr(contains("2026-01-02T000000Z-a-1"));
    run(&folder, &["show", "2026-01-0", "--output", &sweeps])
        .code(2)
        .stderr(
            contains("begin with `2026-01-0`")
                .and(contains("2026-01-01T000000Z-a-1 and 2026-01-02")),
        );
}

#[test]
fn a_fixed_frequency_is_refused_where_the_host_cannot_hold_one() {
    if Path::new("/sys/devices/system/cpu/cpu0/cpufreq").exists() {
        return; // the refusal on mock hosts is tested beside the code
    }
    run(&folder(), &["plan", "--mode", "fixed"])
        .code(4)
        .stderr(contains("no frequency control"))
        .stderr(contains("--allow-uncontrolled"));
    run(
        &folder(),
        &["plan", "--mode", "fixed", "--allow-uncontrolled"],
    )
    .success();
}

#[test]
fn a_second_sweep_on_the_same_host_is_refused() {
    let folder = folder();
    let lock = fs::File::create(folder.path().join("host.lock")).unwrap();
    lock.lock().unwrap();
    // The lock does not depend on the folder of temporary files.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut sweep = common::runner(folder.path());
    sweep.env("TMPDIR", elsewhere.path()).arg("sweep");
    let refusal = "another sweep runs on this host";
    sweep.assert().code(4).stderr(contains(refusal));
    // Mistakes on the command line are reported nevertheless.
    for (arguments, told) in [
        (
            &["sweep", "--threads", "-1"][..],
            "`-1` is not a thread count",
        ),
        (
            &["compare", "packed", "path:nowhere"],
            "`path:nowhere`: the folder is not there",
        ),
        (
            &["sweep", "--resume", "nothing"],
            "no sweep called `nothing`",
        ),
    ] {
        run(&folder, arguments).code(2).stderr(contains(told));
    }
    let nowhere = run(&folder, &["sweep", "--output", "/dev/null"]);
    nowhere
        .code(4)
        .stderr(contains("/dev/null: no sweep can be written there"));
}

#[test]
fn a_place_that_takes_no_merged_sweep_is_the_hosts_fault_and_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    // For a packed file; it is not opened before its contents can be written.
    run(
        &folder,
        &["merge", "Cargo.toml", "--output", "/dev/null/results"],
    )
    .code(4)
    .stderr(contains(
        "error: /dev/null/results: no sweep can be written there: ",
    ))
    .stderr(contains("mend that, or choose a folder with --output"));
}

/// A simulated sweep that was begun and has no trial.
fn simulated_sweep_without_trials(folder: &TempDir) -> PathBuf {
    let begun = folder.path().join("begun");
    common::copy(
        &common::root().join("results/sweeps/2026-11-25T225944Z-here-629f24ec30ff"),
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
    // No sweep can get as far as a build: there is no compiler.
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
fn a_sweep_with_a_damaged_host_file_is_not_resumed() {
    let folder = folder();
    let begun = simulated_sweep_without_trials(&folder);
    let host = begun.join("host.json");
    let text = fs::read_to_string(&host).unwrap();
    fs::write(&host, format!("{text}{text}")).unwrap();
    let mut resume = common::runner(folder.path());
    resume.args(["sweep", "--resume"]).arg(&begun);
    resume
        .env("RUSTC", "/bin/false")
        .assert()
        .code(2)
        .stderr(contains("begun/host.json"))
        .stderr(contains("building").not());
}

#[test]
fn a_path_without_rayon_core_is_bad_input() {
    let folder = folder();
    let config = config(&folder, "name = \"mine\"\npath = \"nowhere\"");
    run(
        &folder,
        &["plan", "--branches", "mine", "--config", &config],
    )
    .code(2)
    .stderr(contains(
        "path = \"nowhere\", seen from branches.toml, is not there",
    ))
    .stderr(contains("building").not());
}

#[test]
fn a_branch_that_does_not_compile_is_a_failed_build_with_the_compilers_words() {
    let folder = folder();
    mock_rayon_core(&folder, "1.13.5", "compile_error!(\"half finished\");");
    let config = config(
        &folder,
        "name = \"broken\"\nbaseline = true\npath = \"rayon-core\"",
    );
    run(
        &folder,
        &["sweep", "--branches", "broken", "--config", &config],
    )
    .code(3)
    .stderr(contains("branch `broken`"))
    .stderr(contains("half finished"));
}

#[test]
fn a_patch_that_cargo_ignores_is_a_failed_build() {
    let folder = folder();
    mock_rayon_core(&folder, "2.0.0", "");
    let config = config(&folder, "name = \"ignored\"\npath = \"rayon-core\"");
    run(
        &folder,
        &["sweep", "--branches", "ignored", "--config", &config],
    )
    .code(3)
    .stderr(contains(
        "branch `ignored` asks for rayon-core, but cargo linked rayon-core 1.",
    ))
    .stderr(contains("a patch is ignored when"));
}

#[test]
fn a_damaged_manifest_is_bad_input_with_the_remedy() {
    let folder = folder();
    let sweep = folder.path().join("results/sweeps/2026-01-01-broken");
    fs::create_dir_all(&sweep).unwrap();
    fs::write(sweep.join("manifest.json"), "{\"schema\": 1, \"na").unwrap();
    run(&folder, &["show", &sweep.display().to_string()])
        .code(2)
        .stderr(contains("manifest.json"))
        .stderr(contains("the file is damaged; restore a copy of it"));
}

#[test]
fn help_shows_no_option_under_anothers_heading_and_none_that_is_refused() {
    let help = |command: &str| {
        let output = run(&folder(), &[command, "--help"])
            .success()
            .get_output()
            .stdout
            .clone();
        String::from_utf8(output).unwrap()
    };
    for command in ["sweep", "compare", "plan"] {
        let text = help(command);
        let (_, frequency) = text.split_once("CPU frequency:").unwrap();
        for option in ["--resume", "--output", "--format", "--root"] {
            assert!(
                !frequency.contains(&format!("      {option}")),
                "{command} {option}: {text}"
            );
        }
    }
    assert!(help("sweep").contains("--branches <"));
    assert!(!help("compare").contains("--branches <"));
}

#[test]
fn a_full_disk_behind_standard_output_is_the_hosts_fault_and_a_reader_that_has_gone_is_none() {
    let folder = folder();
    for words in [
        &["on-this-host", "--plan"][..],
        &["list", "machines"],
        &["plan"],
    ] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let output = common::runner(folder.path())
            .args(words)
            .stdout(full)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(4), "{words:?}: {said}");
        assert!(said.starts_with("error: standard output"), "{said}");
        let mut child = common::runner(folder.path())
            .args(words)
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
