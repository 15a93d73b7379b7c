//! The messages that a person reads when something is wrong, and the exit codes for scripts.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use assert_cmd::assert::OutputAssertExt as _;
use predicates::prelude::PredicateBooleanExt as _;
use predicates::str::{contains, is_match};
use tempfile::TempDir;

use crate::common::{self, run};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// A file of branches with `master` and one more row.
fn config(folder: &TempDir, row: &str) -> String {
    let path = folder.path().join("branches.toml");
    let master = "[[branch]]\nname = \"master\"\npublished = \"1.13.0\"\nbaseline = true\n";
    fs::write(&path, format!("{master}\n[[branch]]\n{row}\n")).unwrap();
    path.display().to_string()
}

/// A crate called rayon-core that is none.
fn made_up_rayon_core(folder: &TempDir, version: &str, source: &str) {
    let krate = folder.path().join("rayon-core");
    fs::create_dir_all(krate.join("src")).unwrap();
    let manifest =
        format!("[package]\nname = \"rayon-core\"\nversion = \"{version}\"\n[workspace]\n");
    fs::write(krate.join("Cargo.toml"), manifest).unwrap();
    fs::write(krate.join("src/lib.rs"), source).unwrap();
}

#[test]
fn list_names_every_branch_and_workload() {
    run(&folder(), &["list"])
        .success()
        .stdout(contains("master (baseline)"))
        .stdout(contains("split-counters-no-jec-sleepers-only-cache-padded"))
        .stdout(contains("quicksort"));
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
fn plan_counts_cells_and_trials_and_runs_nothing() {
    let arguments = [
        "plan",
        "--branches",
        "packed",
        "--workloads",
        "quicksort",
        "--threads",
        "1,2",
    ];
    run(&folder(), &[&arguments[..], &["--trials", "3"]].concat())
        .success()
        // 2 thread counts × (master, its twin, packed) + 1 sequential.
        .stdout(contains("7 cells, 9 blocks, 21 trials"))
        .stderr(contains("the baseline `master` is added"));
}

#[test]
fn plan_says_where_workers_run_and_both_placements_double_the_cells() {
    let arguments = [
        "plan",
        "--branches",
        "packed",
        "--workloads",
        "quicksort",
        "--threads",
        "1,2",
    ];
    run(&folder(), &arguments)
        .success()
        .stdout(is_match("placement +free\n").unwrap());
    run(
        &folder(),
        &[&arguments[..], &["--placement", "both", "--trials", "3"]].concat(),
    )
    .success()
    .stdout(is_match("placement +free pinned\n").unwrap())
    .stdout(contains("14 cells, 18 blocks, 42 trials"));
    run(
        &folder(),
        &[&arguments[..], &["--placement", "pined"]].concat(),
    )
    .code(2)
    .stderr(contains("free, pinned, both").and(contains("'pinned'")));
}

#[test]
fn experiments_say_where_workers_run() {
    run(
        &folder(),
        &["plan", "--experiment", "sleep", "--branches", "master"],
    )
    .success()
    .stdout(is_match("placement +free pinned\n").unwrap());
    run(&folder(), &["list", "experiments"])
        .success()
        .stdout(contains("placement   free, pinned"));
}

#[test]
fn plan_prints_the_order_on_request() {
    let arguments = [
        "plan",
        "--branches",
        "master",
        "--workloads",
        "tsp",
        "--threads",
        "2",
        "--order",
    ];
    let output = run(&folder(), &arguments)
        .success()
        .get_output()
        .stdout
        .clone();
    let text = String::from_utf8(output).unwrap();
    // A header, and 7 trials each of master, its twin and the sequential program.
    assert_eq!(text.lines().count(), 1 + 21);
    assert!(text.starts_with("block,position,replicate,"), "{text}");
}

#[test]
fn plan_tells_what_is_counted_and_which_branches_cannot_count() {
    let arguments = [
        "plan",
        "--branches",
        "packed",
        "--workloads",
        "quicksort",
        "--threads",
        "1,2",
    ];
    run(
        &folder(),
        &[&arguments[..], &["--trials", "3", "--instrument"]].concat(),
    )
    .success()
    .stdout(contains(
        "counted     2 trials of each cell of packed-instrumented,",
    ))
    // 21 timed trials, and 2 of the instrumented build at each of 2 thread counts.
    .stdout(contains("9 cells, 13 blocks, 25 trials"))
    .stderr(contains(
        "note: no counts of master: only branches of rayon-fork/",
    ));
    run(
        &folder(),
        &[&arguments[..], &["--trials", "3", "--instrument=1"]].concat(),
    )
    .success()
    .stdout(contains("9 cells, 11 blocks, 23 trials"));
}

#[test]
fn counting_needs_a_branch_that_can_count() {
    run(&folder(), &["plan", "--branches", "master", "--instrument"])
        .code(2)
        .stderr(contains(
            "error: --instrument: only branches of rayon-fork/ can count events",
        ))
        .stderr(contains("add for example `packed`"));
    let trace = |more: [&str; 2]| {
        let arguments = ["trace", "--threads", "2", more[0], more[1]];
        let other = if more[0] == "--branch" {
            ["--workload", "tsp"]
        } else {
            ["--branch", "packed"]
        };
        run(&folder(), &[&arguments[..], &other[..]].concat()).code(2)
    };
    trace(["--branch", "master"]).stderr(contains("records nothing; only branches of rayon-fork/"));
    trace(["--branch", "split*"])
        .stderr(contains("--branch: `split*` matches split-counters, "))
        .stderr(contains("; a trace is of one branch"));
    trace(["--workload", "all"])
        .stderr(contains("--workload: `all` matches quicksort, "))
        .stderr(contains("; a trace is of one workload"));
    trace(["--workload", "quicksrt"]).stderr(contains("did you mean `quicksort`?"));
}

#[test]
fn list_names_every_experiment_with_its_command() {
    run(&folder(), &["list", "experiments"])
        .success()
        .stdout(contains(
            "cargo runner sweep --experiment packets-correctness",
        ))
        .stdout(contains("quicksort\n").not());
}

#[test]
fn an_experiment_sets_what_the_command_line_does_not() {
    let experiment = [
        "plan",
        "--experiment",
        "packets-speedup-uniform",
        "--threads",
        "2,3",
    ];
    run(
        &folder(),
        &[&experiment[..], &["--parameter", "words=1000"]].concat(),
    )
    .success()
    // 5 cases × 2 depths × 2 thread counts, and one sequential program; 5 trials of each.
    .stdout(contains("21 cells"))
    .stdout(contains("105 trials"))
    .stdout(contains("5 trials of 0 + 1 iterations"));
}

#[test]
fn a_plan_takes_branches_that_are_in_no_file_as_a_sweep_does() {
    let list = "packed,mine=path:rayon-fork,group:rivals";
    run(&folder(), &["plan", "--branches", list])
        .success()
        .stdout(contains(
            "branches    packed\n            mine\n            chili\n",
        ))
        .stdout(contains("twin        packed-again"));
}

#[test]
fn a_group_is_picked_by_its_name_and_a_misspelt_one_is_refused_with_the_likely_one() {
    let folder = folder();
    run(&folder, &["plan", "--experiment", "rivals"])
        .success()
        .stdout(contains(
            "branches    master\n            champion\n            chili\n",
        ));
    run(&folder, &["plan", "--branches", "group:rivls"])
        .code(2)
        .stderr(contains(
            "--branches: rivls: no such group; known: designs, ",
        ))
        .stderr(contains("did you mean `rivals`?"));
}

#[test]
fn a_misspelt_experiment_is_bad_input_with_the_likely_name() {
    run(&folder(), &["plan", "--experiment", "packets-awsome"])
        .code(2)
        .stderr(contains("did you mean `packets-awesome`?"));
    run(
        &folder(),
        &[
            "plan",
            "--experiment",
            "packets-awesome",
            "--preset",
            "quick",
        ],
    )
    .code(2);
}

#[test]
fn a_misspelt_branch_is_bad_input_with_the_likely_name() {
    run(&folder(), &["plan", "--branches", "pakced"])
        .code(2)
        .stderr(contains("error: --branches: no branch matches `pakced`"))
        .stderr(contains("did you mean `packed`?"));
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
fn a_missing_file_of_branches_is_bad_input() {
    run(&folder(), &["list", "--config", "/nowhere/branches.toml"])
        .code(2)
        .stderr(contains("/nowhere/branches.toml: cannot be read"));
}

#[test]
fn a_checkout_that_is_none_is_bad_input() {
    let folder = folder();
    let elsewhere = folder.path().display().to_string();
    run(&folder, &["list", "--root", &elsewhere])
        .code(2)
        .stderr(contains("no checkout at"));
}

#[test]
fn thread_counts_sizes_and_parameters_are_checked_before_anything_is_built() {
    let wrong = [
        (["--threads", "0"], "`0` is no thread count"),
        (["--size", "huge"], "unknown size `huge`"),
        (
            ["--parameter", "color=red"],
            "no picked workload has `color`",
        ),
        (
            ["--parameter", "packets.wrods=9"],
            "did you mean `words`? known: packets.strategy",
        ),
        (["--parameter", "elements=many"], "a whole number"),
        (["--workloads", "quicksrt"], "did you mean `quicksort`?"),
        (
            ["--workloads", ""],
            "--workloads: `` names no workload; write `all`",
        ),
        (
            ["--branches", " , "],
            "--branches: ` , ` names no branch; write `all`",
        ),
        (["--timeout", "-1"], "positive number of seconds"),
        (["--trials", "0"], "0 is not in 1"),
    ];
    for (option, message) in wrong {
        let option = format!("{}={}", option[0], option[1]);
        run(&folder(), &["sweep", &option])
            .code(2)
            .stderr(contains(message));
    }
}

#[test]
fn what_cannot_be_meant_is_told_at_once_and_in_the_words_that_were_typed() {
    for (arguments, told) in [
        (
            &["plan", "--trials", "1000000000"][..],
            "more than 10000000 trials",
        ),
        (
            &["plan", "--shard", "1/99999999"],
            "too few for 99999999 shards",
        ),
        (
            &["plan", "--trials", "-1"],
            "invalid value '-1' for '--trials <N>'",
        ),
        (&["sweep", "--output", "x.pdf"], "leave out `.pdf`"),
        (&["report", "--output", "x.pdf"], "leave out `.pdf`"),
        (
            &["merge", "nowhere.tar.zst"],
            "nowhere.tar.zst: there is no such file or folder",
        ),
        (
            &[
                "plan",
                "--experiment",
                "packets-awesome",
                "--workloads",
                "tsp",
            ],
            "--workloads tsp: none has",
        ),
    ] {
        run(&folder(), arguments).code(2).stderr(contains(told));
    }
}

#[test]
fn a_parameter_given_twice_is_bad_input() {
    let twice = [
        "plan",
        "--parameter",
        "elements=5",
        "--parameter",
        "quicksort.elements=6",
    ];
    run(&folder(), &twice).code(2).stderr(contains(
        "`quicksort.elements` is already 5; give each parameter once",
    ));
}

#[test]
fn a_reader_that_has_enough_is_no_failure() {
    let folder = folder();
    let mut child = common::runner(folder.path())
        .args(["plan", "--preset", "full", "--order"]) // far more than a pipe holds
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
fn an_output_folder_that_cannot_be_written_is_told_before_anything_is_built() {
    let folder = folder();
    let taken = folder.path().join("taken");
    fs::write(&taken, "a file").unwrap();
    run(
        &folder,
        &["sweep", "--output", &taken.display().to_string()],
    )
    .code(4)
    .stderr(contains("choose a folder with --output"))
    .stderr(contains("at path").not())
    .stderr(contains("building").not());
}

#[test]
fn an_earlier_trace_stays_until_there_is_a_new_one() {
    let folder = folder();
    let earlier = folder.path().join("trace.json");
    fs::write(&earlier, "earlier").unwrap();
    // Cargo is not there, so that nothing can be built.
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
fn resume_takes_no_other_selection() {
    run(&folder(), &["sweep", "--resume", "latest", "--trials", "3"]).code(2);
}

#[test]
fn a_sweep_may_be_called_by_the_beginning_of_its_name_if_no_other_begins_so() {
    let folder = folder();
    for name in ["2026-01-01T000000Z-a-1", "2026-01-02T000000Z-a-1"] {
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("manifest.json"), "{}").unwrap();
    }
    let sweeps = folder.path().display().to_string();
    // The sweep that the name means has nothing to show, and the message names that sweep.
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
fn a_sweep_that_does_not_exist_is_bad_input() {
    let folder = folder();
    let sweeps = folder.path().display().to_string();
    run(&folder, &["show", "nothing", "--output", &sweeps])
        .code(2)
        .stderr(contains("no sweep called `nothing`"));
    run(&folder, &["show", "--output", &sweeps])
        .code(2)
        .stderr(contains("`cargo runner sweep` makes one"));
}

#[test]
fn a_fixed_frequency_is_refused_where_the_host_cannot_hold_one() {
    if Path::new("/sys/devices/system/cpu/cpu0/cpufreq").exists() {
        return; // the refusal on made-up hosts is tested beside the code
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
    // Wherever its temporary files are.
    let elsewhere = tempfile::tempdir().unwrap();
    let mut sweep = common::runner(folder.path());
    sweep.env("TMPDIR", elsewhere.path()).arg("sweep");
    let who = format!(
        "another sweep runs on this host, process {} (`",
        std::process::id()
    );
    sweep.assert().code(4).stderr(contains(who));
    // Mistakes on the command line are reported all the same.
    for (arguments, told) in [
        (&["sweep", "--threads", "-1"][..], "`-1` is no thread count"),
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
fn simulated_sweeps_may_run_at_once_but_not_beside_one_that_measures() {
    let folder = folder();
    let lock = fs::File::create(folder.path().join("host.lock")).unwrap();
    // Neither gets as far as a build: there is no compiler.
    let told = |arguments: &[&str]| {
        let mut sweep = common::runner(folder.path());
        sweep
            .args(["sweep", "--branches", "packed"])
            .args(arguments);
        let output = sweep.env("RUSTC", "/bin/false").output().unwrap();
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let (refusal, simulated) = ("another sweep runs on this host", ["--machine", "zen4-64"]);
    lock.lock_shared().unwrap();
    let at_once = told(&simulated);
    assert!(!at_once.contains(refusal), "{at_once}");
    assert!(at_once.contains("error: "), "{at_once}");
    assert!(told(&[]).contains(refusal));
    lock.unlock().unwrap();
    lock.lock().unwrap();
    assert!(told(&simulated).contains(refusal));
}

#[test]
fn prices_that_cannot_be_written_are_not_measured() {
    run(
        &folder(),
        &["calibrate", "--output", "/nowhere/charges.toml"],
    )
    .code(4)
    .stderr(contains("/nowhere/charges.toml: cannot be written").and(contains("building").not()));
}

#[test]
fn a_path_without_rayon_core_is_bad_input() {
    let folder = folder();
    let config = config(&folder, "name = \"mine\"\npath = \"nowhere\"");
    run(
        &folder,
        &["build", "--branches", "mine", "--config", &config],
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
    made_up_rayon_core(&folder, "1.13.5", "compile_error!(\"half finished\");");
    let config = config(&folder, "name = \"broken\"\npath = \"rayon-core\"");
    run(
        &folder,
        &["build", "--branches", "broken", "--config", &config],
    )
    .code(3)
    .stderr(contains("branch `broken`"))
    .stderr(contains("half finished"));
}

#[test]
fn a_patch_that_cargo_ignores_is_a_failed_build() {
    let folder = folder();
    made_up_rayon_core(&folder, "2.0.0", "");
    let config = config(&folder, "name = \"ignored\"\npath = \"rayon-core\"");
    run(
        &folder,
        &["build", "--branches", "ignored", "--config", &config],
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
        .stderr(contains("the file is damaged; put back a copy of it"));
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
        for option in [
            "--resume",
            "--output",
            "--format",
            "--keep-going",
            "--order",
            "--root",
        ] {
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
        &["plan", "--order"],
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

#[test]
fn options_for_the_frequency_of_hosts_are_refused_for_a_simulated_machine() {
    for option in [
        &["--allow-uncontrolled"][..],
        &["--frequency-backend", "sysfs"],
        &["--frequency-journal", "journal"],
    ] {
        let words = [&["plan", "--machine", "zen4-64"], option].concat();
        run(&folder(), &words)
            .code(2)
            .stderr(contains(format!("error: {}: ", option[0])).and(contains("leave it out")));
    }
}

#[test]
fn a_timeline_whose_name_the_recording_takes_is_refused_before_anything_is_built() {
    let words = [
        "trace",
        "--branch",
        "packed",
        "--workload",
        "quicksort",
        "--threads",
        "1",
        "--output",
        "it.zst",
    ];
    run(&folder(), &words)
        .code(2)
        .stderr(contains("--output it.zst: ").and(contains("for example it.json")));
}
