//! Runs rayon-demo's own benchmarks before and after a proposal, in alternation.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::builder::PossibleValuesParser;
use runner::stop::Stop;
use serde_json::json;
use xshell::{Shell, cmd};

use super::{DEMO, Edited, shared_target};
use crate::harness::build;
use crate::python;
use crate::shell::cpu_seconds_of_children;

/// Default number of turns of a benchmark; each turn runs the benchmark once for each of [`SIDES`].
pub(super) const TURNS: u32 = 7;

/// The sides that each turn runs, under the names that the analysis expects. `before-again` is the A/A control.
const SIDES: [&str; 3] = ["before", "after", "before-again"];

/// A demo, and the options with which a run takes less than about a second.
struct Benchmark {
    name: &'static str,
    options: &'static [&'static str],
    figure: Figure,
}

enum Figure {
    /// The time in the output line that begins with this text.
    TimeIn(&'static str),
    /// CPU time of the process, for a demo whose duration a clock fixes.
    Cpu,
}

/// The demos that stable Rust builds; the others need `#[bench]`.
const BENCHMARKS: [Benchmark; 8] = [
    Benchmark {
        name: "life",
        options: &["bench", "--gens", "100", "--skip-bridge"],
        figure: Figure::TimeIn("parallel:"),
    },
    Benchmark {
        name: "matmul",
        options: &["bench", "--size", "512"],
        figure: Figure::TimeIn("par z-order:"),
    },
    Benchmark {
        name: "mergesort",
        options: &["bench", "--size", "2000000"],
        figure: Figure::TimeIn("par:"),
    },
    Benchmark {
        name: "nbody",
        options: &[
            "bench", "--mode", "par", "--bodies", "1000", "--ticks", "10",
        ],
        figure: Figure::TimeIn("Parallel time"),
    },
    Benchmark {
        name: "quicksort",
        options: &["bench", "--size", "2000000", "--par-only"],
        figure: Figure::TimeIn("par:"),
    },
    Benchmark {
        name: "sieve",
        options: &["bench"],
        figure: Figure::TimeIn("parallel:"),
    },
    Benchmark {
        name: "tsp",
        // Without this option, the demo searches larger subproblems sequentially.
        options: &[
            "bench",
            "--seq-threshold",
            "5",
            "rayon-demo/data/tsp/dj10.tsp",
        ],
        figure: Figure::TimeIn("Total search time"),
    },
    Benchmark {
        name: "noop",
        options: &["--iters", "100", "--sleep", "5"],
        figure: Figure::Cpu,
    },
];

pub(super) fn check(root: &Path) -> Result<()> {
    if root.join(DEMO).is_dir() {
        return Ok(());
    }
    Err(Stop::BadInput(format!(
        "--demo: {} has no folder {DEMO}; give `--tree` a checkout of rayon",
        root.display()
    ))
    .into())
}

pub(super) fn names() -> PossibleValuesParser {
    BENCHMARKS.map(|benchmark| benchmark.name).into()
}

/// Builds the demos with and without the edits, runs the builds in alternation, and lets the
/// analysis print the table.
pub(super) fn run(
    sh: &Shell,
    name: &str,
    edited: &Edited,
    names: &[String],
    turns: u32,
) -> Result<()> {
    let analysis = python::analysis(sh)?;
    let folder = edited.copy.root.with_extension("demo");
    let program = |side: &str| folder.join(side);
    sh.create_dir(&folder)?;
    // Both builds use one folder, so that everything except rayon is built once. The edited files
    // are written last, so that they remain in the folder.
    for (side, is_edited) in [("before", false), ("after", true)] {
        for file in &edited.changed {
            let text = if is_edited { &file.after } else { &file.before };
            sh.write_file(edited.copy.krate.join(&file.file), text)?;
        }
        eprintln!("── {DEMO} {side} {name} is built, optimised");
        let built = built(sh, &edited.copy.root)?;
        sh.copy_file(built, program(side))?;
    }
    let mut runs = String::new();
    for benchmark in &BENCHMARKS {
        if !names.is_empty() && !names.iter().any(|name| name == benchmark.name) {
            continue;
        }
        let _dir = sh.push_dir(&edited.copy.root);
        eprintln!("── {} of {DEMO}, {turns} times each", benchmark.name);
        for turn in 0..turns {
            // Each side comes first, second and third about equally often.
            for place in 0..SIDES.len() {
                let side = SIDES[(turn as usize + place) % SIDES.len()];
                let program = program(if side == "after" { side } else { "before" });
                let seconds = benchmark.seconds(sh, &program)?;
                runs += &benchmark.record(side, turn, seconds);
            }
        }
    }
    let file = folder.join("runs.jsonl");
    sh.write_file(&file, runs)?;
    let table = analysis.turns(sh, &file)?;
    let mut out = std::io::stdout().lock();
    // A closed pipe is no fault: the reader, such as `head`, may have read enough.
    let _ = writeln!(
        out,
        "{table}\n\nEach side is one build, so a part of each change is where the code lies. \
         `cargo runner sweep --experiment patch` links each side many times."
    );
    Ok(())
}

/// Builds the optimised program and returns its path; the next build overwrites the file.
fn built(sh: &Shell, root: &Path) -> Result<PathBuf> {
    let _target = shared_target(sh);
    let target = PathBuf::from(sh.var("CARGO_TARGET_DIR")?);
    let _dir = sh.push_dir(root);
    build(cmd!(sh, "cargo build --release --package {DEMO}"), DEMO)?;
    Ok(target
        .join("release")
        .join(format!("{DEMO}{}", std::env::consts::EXE_SUFFIX)))
}

impl Benchmark {
    fn record(&self, build: &str, turn: u32, seconds: f64) -> String {
        let unit = match self.figure {
            Figure::TimeIn(_) => "",
            Figure::Cpu => ", CPU time",
        };
        let benchmark = format!("{}{unit}", self.name);
        let run =
            json!({ "benchmark": benchmark, "build": build, "turn": turn, "seconds": seconds });
        format!("{run}\n")
    }

    fn seconds(&self, sh: &Shell, program: &Path) -> Result<f64> {
        let (name, options) = (self.name, self.options);
        let before = cpu_seconds_of_children()?;
        let said = cmd!(sh, "{program} {name} {options...}").quiet().read()?;
        match self.figure {
            Figure::Cpu => Ok(cpu_seconds_of_children()? - before),
            Figure::TimeIn(label) => time_in(&said, label)
                .with_context(|| format!("{DEMO} {name} prints no time after `{label}`:\n{said}")),
        }
    }
}

/// Reads the seconds from the line that begins with `label`: `par: sorted 9 ints: 0.5 s`.
fn time_in(said: &str, label: &str) -> Option<f64> {
    let line = said
        .lines()
        .find(|line| line.trim_start().starts_with(label))?;
    let value = line.rsplit_once(':')?.1.trim_start();
    let end = value.find(|it: char| !it.is_ascii_digit() && it != '.')?;
    let number: f64 = value[..end].parse().ok()?;
    let seconds = match value[end..].split_whitespace().next()? {
        "s" => 1.0,
        "ms" => 1e-3,
        "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    Some(number * seconds)
}

#[cfg(test)]
mod tests {
    use super::{BENCHMARKS, SIDES, check, time_in};
    use crate::python;
    use crate::shell::at_root;

    #[test]
    fn the_time_of_each_demo_is_read_from_the_line_that_has_it() {
        let cases = [
            (
                "  serial:  5 ns\nparallel:  2500 ns -> 2.00x speedup",
                "parallel:",
                2.5e-6,
            ),
            (
                "par:\t9x9 matrix: 1 s\npar z-order:\t512x512 matrix: 0.25 s",
                "par z-order:",
                0.25,
            ),
            (
                "seq: sorted 9 ints: 2 s\npar: sorted 9 ints: 1.5 s",
                "par:",
                1.5,
            ),
            ("Parallel time    : 7000000 ns", "Parallel time", 7e-3),
            (
                "Total search time: 1.5ms\nCheapest path cost: 3",
                "Total search time",
                1.5e-3,
            ),
            ("Total search time: 2µs", "Total search time", 2e-6),
        ];
        for (said, label, seconds) in cases {
            let found = time_in(said, label).unwrap_or_else(|| panic!("{said}"));
            assert!((found / seconds - 1.0).abs() < 1e-9, "{said}: {found}");
        }
        for (said, label) in [
            ("serial: 5 ns", "parallel:"),
            ("parallel: 5 parsecs", "parallel:"),
        ] {
            assert_eq!(time_in(said, label), None, "{said}");
        }
    }

    #[test]
    fn the_analysis_prints_a_row_for_each_benchmark_of_the_runs() {
        let sh = at_root().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("runs.jsonl");
        let runs = (0..4).flat_map(|turn| {
            SIDES.map(|side| {
                let benchmark = &BENCHMARKS[usize::from(turn % 2 == 1) * 7];
                benchmark.record(side, turn, 0.25 + f64::from(turn) / 100.0)
            })
        });
        sh.write_file(&file, runs.collect::<String>()).unwrap();
        let table = python::analysis(&sh).unwrap().turns(&sh, &file).unwrap();
        let rows: Vec<&str> = table.lines().skip(1).take(2).collect();
        assert!(rows[0].starts_with("life  "), "{table}");
        assert!(rows[1].starts_with("noop, CPU time  "), "{table}");
        assert!(rows[0].contains("250.0 / 260.0 / 270.0"), "{table}");
    }

    #[test]
    fn a_tree_without_demos_is_refused_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let error = check(folder.path()).unwrap_err().to_string();
        assert!(
            error.contains("give `--tree` a checkout of rayon"),
            "{error}"
        );
    }
}
