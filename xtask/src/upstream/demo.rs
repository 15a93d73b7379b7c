//! Rayon-demo's own benchmarks, before and after a proposal, in turns.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use runner::stop::Stop;
use xshell::{Shell, cmd};

use super::{DEMO, Edited, shared_target};
use crate::harness::build;
use crate::shell::cpu_seconds_of_children;

/// Visits to each benchmark; in each it runs three times.
const ROUNDS: usize = 7;

/// The runs of each visit; the second `before` is the A/A control.
const SIDES: [&str; 3] = ["before", "after", "before again"];

/// A demo, with options that make a run take less than about a second.
struct Benchmark {
    name: &'static str,
    options: &'static [&'static str],
    figure: Figure,
}

/// Which figure of a run counts.
enum Figure {
    /// The time in the line that begins like this.
    TimeIn(&'static str),
    /// CPU time of the process, of a demo that a clock paces.
    Cpu,
}

/// Those that stable Rust builds: the rest of the demos need `#[bench]`.
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
        // Without the option, as many nodes are searched sequentially.
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

/// Refuses a tree without a demo, before anything is built.
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

/// Builds the demos with and without the edits, runs them in turns, and prints the table.
pub(super) fn run(sh: &Shell, name: &str, edited: &Edited) -> Result<()> {
    let folder = edited.copy.root.with_extension("demo");
    let program = |side: &str| folder.join(side);
    sh.create_dir(&folder)?;
    // In one folder, so that all but rayon is built once. The edited files come last, and stay.
    for (side, is_edited) in [("before", false), ("after", true)] {
        for file in &edited.changed {
            let text = if is_edited { &file.after } else { &file.before };
            sh.write_file(edited.copy.krate.join(&file.file), text)?;
        }
        eprintln!("── {DEMO} {side} {name} is built, optimised");
        let built = built(sh, &edited.copy.root)?;
        sh.copy_file(built, program(side))?;
    }
    let mut rows = Vec::new();
    let _dir = sh.push_dir(&edited.copy.root);
    for benchmark in &BENCHMARKS {
        eprintln!("── {} of {DEMO}, {ROUNDS} times each", benchmark.name);
        let mut figures: [Vec<f64>; 3] = Default::default();
        for round in 0..ROUNDS {
            // Each side comes first, second and third about equally often.
            for turn in 0..SIDES.len() {
                let side = (round + turn) % SIDES.len();
                let program = program(if side == 1 { "after" } else { "before" });
                figures[side].push(benchmark.seconds(sh, &program)?);
            }
        }
        rows.push((benchmark, figures.map(Spread::of)));
    }
    let mut out = std::io::stdout().lock();
    // A closed pipe is no fault: the reader may have read enough.
    let _ = out.write_all(table(&rows).as_bytes());
    Ok(())
}

/// The optimised program, which the next build replaces.
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

/// The time in the line that begins with `label`, in seconds: `par: sorted 9 ints: 0.5 s`.
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

/// The least, the middle and the most of some runs, in seconds.
#[derive(Debug, PartialEq)]
struct Spread {
    least: f64,
    median: f64,
    most: f64,
}

impl Spread {
    /// Of an odd number of runs.
    fn of(mut runs: Vec<f64>) -> Self {
        runs.sort_by(f64::total_cmp);
        Self {
            least: runs[0],
            median: runs[runs.len() / 2],
            most: runs[runs.len() - 1],
        }
    }

    fn text(&self) -> String {
        [self.least, self.median, self.most]
            .map(|seconds| format!("{:.1}", seconds * 1e3))
            .join(" / ")
    }
}

/// A row for each benchmark.
fn table(rows: &[(&Benchmark, [Spread; 3])]) -> String {
    let mut cells = vec![
        ["", "before, ms", "after, ms", "after/before", "A/A"].map(str::to_owned),
        [
            "",
            "min / median / max",
            "min / median / max",
            "of medians",
            "before/before",
        ]
        .map(str::to_owned),
    ];
    for (benchmark, [before, after, again]) in rows {
        let unit = match benchmark.figure {
            Figure::TimeIn(_) => "",
            Figure::Cpu => ", CPU time",
        };
        cells.push([
            format!("{}{unit}", benchmark.name),
            before.text(),
            after.text(),
            format!("{:.3}", after.median / before.median),
            format!("{:.3}", again.median / before.median),
        ]);
    }
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max();
    let widths = [0, 1, 2, 3, 4].map(|column| width(column).unwrap_or(0));
    let line = |row: &[String; 5]| {
        let padded = row[1..].iter().zip(&widths[1..]);
        let rest: Vec<_> = padded
            .map(|(text, width)| format!("{text:>width$}"))
            .collect();
        format!(
            "{:first$}  {}\n",
            row[0],
            rest.join("  "),
            first = widths[0]
        )
    };
    let body: String = cells.iter().map(line).collect();
    format!(
        "{body}\nEach side is one build, so a part of each ratio is where the code lies. \
         `cargo runner sweep --experiment patch` has a verdict.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::{BENCHMARKS, Spread, check, table, time_in};

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
    fn the_table_has_the_ratio_of_medians_and_the_same_of_the_control() {
        let of = |runs: &[f64]| Spread::of(runs.to_vec());
        let rows = [(
            &BENCHMARKS[0],
            [
                of(&[0.3, 0.1, 0.2]),
                of(&[0.1, 0.1, 0.4]),
                of(&[0.22, 0.22, 0.22]),
            ],
        )];
        let text = table(&rows);
        let row = text.lines().find(|line| line.starts_with("life")).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        let expected = "life 100.0 / 200.0 / 300.0 100.0 / 100.0 / 400.0 0.500 1.100";
        assert_eq!(words.join(" "), expected);
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
