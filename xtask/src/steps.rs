//! The steps of each task: its parts in their order, up to the first failure.

use std::time::Instant;

use anyhow::{Result, anyhow};
use xshell::{Shell, cmd};

use crate::dependency;
use crate::findings;
use crate::fork::examples;
use crate::python;
use crate::shell::step;
use crate::sources::Stamp;
use crate::variants::Variant;

/// A part of the test suite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    /// The fork, on a few variants that have every feature among them.
    Fork,
    /// The fork in a stranger's program: lock file, oldest compiler, and stack on two variants.
    Dependency,
    /// The model checks of the fork's sleep protocol, the fast set.
    Models,
    /// Simulated machines, and the fork on them.
    Simulated,
    /// The measured programs.
    Workloads,
    /// Other crates' pools under programs written for rayon.
    Rivals,
    /// The programs for maintainers of rayon.
    Findings,
    /// The sweep tool and this one.
    Runner,
    /// The Python package and its notebooks.
    Analysis,
}

/// How far the model checker goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Bounds that finish within a minute or two.
    Fast,
    /// The bounds of the table in `rayon-fork/src/sleep/README.md`.
    Deep,
}

/// What every part reads: versions, settings, and this program.
const SHARED: [&str; 8] = [
    ".cargo",
    "Cargo.lock",
    "Cargo.toml",
    "branches-more.toml",
    "branches-rivals.toml",
    "branches.toml",
    "rust-toolchain.toml",
    "xtask",
];

impl Part {
    /// Files and folders of the checkout that the part reads beside [`SHARED`].
    fn reads(self) -> &'static [&'static str] {
        match self {
            Self::Fork | Self::Dependency => &["rayon-fork"],
            Self::Models => &["rayon-fork", "workloads"],
            Self::Simulated => {
                &["machines", "manycore", "probes", "rayon-fork", "results/model.json"]
            }
            Self::Workloads => &["protocol", "rayon-fork", "workloads"],
            Self::Rivals => &["clippy.toml", "protocol", "rivals", "rustfmt.toml", "workloads"],
            Self::Findings => &["clippy.toml", "findings", "rustfmt.toml"],
            // Sweeps from end to end, what documents say of them, and commands that documents name.
            Self::Runner | Self::Analysis => &["."],
        }
    }
}

/// Runs the parts of the test suite that are asked for. What passed on the same files is left out unless `is_forced`.
pub(crate) fn test(sh: &Shell, only: &[Part], variants: &[Variant], is_forced: bool) -> Result<()> {
    let start = Instant::now();
    let due = |part: Part| -> Result<Option<Stamp>> {
        if !is_wanted(only, part) {
            return Ok(None);
        }
        let name = format!("{part:?}").to_lowercase();
        let stamp = Stamp::of(sh, &name, &[&SHARED, part.reads()].concat(), variants)?;
        if is_forced || !stamp.is_valid() {
            return Ok(Some(stamp));
        }
        eprintln!(
            "── {name}: passed before, and nothing that it reads has changed; --force runs it"
        );
        Ok(None)
    };
    // On one CPU while the other compiles.
    let analysis = due(Part::Analysis)?.map(|stamp| (stamp, std::thread::spawn(python::test)));
    let run = |part: Part, test: &dyn Fn() -> Result<()>| -> Result<()> {
        let Some(stamp) = due(part)? else { return Ok(()) };
        test()?;
        stamp.set(sh)
    };
    run(Part::Fork, &|| fork(sh, variants))?;
    // Each takes builds; the other variants are made of the parts of these two.
    let ends: Vec<_> =
        variants.first().into_iter().chain(variants.iter().skip(1).last()).cloned().collect();
    run(Part::Dependency, &|| {
        dependency::test(sh)?;
        dependency::stack::run(sh, &ends)
    })?;
    run(Part::Models, &|| models(sh, Depth::Fast))?;
    run(Part::Simulated, &|| simulated(sh, &ends))?;
    run(Part::Workloads, &|| {
        let packages = ["--package", "protocol", "--package", "workloads", "--package", "services"];
        step("workloads", cmd!(sh, "cargo test --quiet {packages...}"))
    })?;
    run(Part::Rivals, &|| rivals(sh))?;
    run(Part::Findings, &|| findings::test(sh))?;
    run(Part::Runner, &|| {
        step("runner and xtask", cmd!(sh, "cargo test --quiet --package runner --package xtask"))
    })?;
    if let Some((stamp, analysis)) = analysis {
        analysis.join().map_err(|_| anyhow!("the analysis' tests panicked"))??;
        stamp.set(sh)?;
    }
    eprintln!("all tests passed in {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// The simulated machines, and the fork's own sources on them: its deque, its pool, and its behaviour on `variants`.
fn simulated(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let packages = ["--package", "manycore", "--package", "probes"];
    step("simulated machines, and probes of hosts", cmd!(sh, "cargo test --quiet {packages...}"))?;
    // Cargo reads the flags in that folder's `.cargo/config.toml`.
    let _folder = sh.push_dir("rayon-fork/simulated");
    step("deque of simulated machines", cmd!(sh, "cargo test --quiet --release --lib deque"))?;
    step("pool on simulated machines", cmd!(sh, "cargo test --quiet --release --test pool"))?;
    let counted =
        cmd!(sh, "cargo test --quiet --release --test pool --features instrument counted");
    step("counts on simulated machines", counted)?;
    for variant in variants {
        let features = variant.features();
        step(
            &format!("behaviour on simulated machines, {}", variant.name()),
            cmd!(sh, "cargo test --quiet --release --test behaviour --features {features}"),
        )?;
    }
    Ok(())
}

/// Each rival alone, as a program has one: that programs written for rayon build and are right on it. A workspace of its
/// own, so its format and lints are checked here.
fn rivals(sh: &Shell) -> Result<()> {
    let _folder = sh.push_dir("rivals");
    step("format, rivals", cmd!(sh, "cargo fmt --check"))?;
    for rival in ["chili", "forte"] {
        // Forte declares a younger compiler than the pinned one, which builds it.
        let build = ["--quiet", "--locked", "--ignore-rust-version", "--features", rival];
        let clippy = cmd!(sh, "cargo clippy {build...} --lib -- -D warnings");
        step(&format!("lints, {rival}"), clippy)?;
        step(&format!("answers on {rival}"), cmd!(sh, "cargo test {build...}"))?;
    }
    Ok(())
}

/// Whether a part is among those asked for, which are all if none is named.
pub(crate) fn is_wanted(only: &[Part], part: Part) -> bool {
    only.is_empty() || only.contains(&part)
}

/// The answers of every workload on the last variant, which has the most modifiers. Plain tests of the workloads run
/// on `packed`, those of the runner on `master`; `cargo runner sweep --experiment answers` is for all branches, whose
/// builds take long.
pub(crate) fn answers(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let Some(variant) = variants.last() else { return Ok(()) };
    let features: Vec<String> = variant.features_of("rayon-core");
    let test = cmd!(
        sh,
        "cargo test --quiet --package workloads --package services --package rayon-core {features...} --test each every_workload"
    );
    step(&format!("answers of the workloads, {}", variant.name()), test)
}

/// The fork's tests. What no variant can change (interface, compile errors, examples in the
/// documentation) is tested on the first one alone.
fn fork(sh: &Shell, variants: &[Variant]) -> Result<()> {
    // Many builds that are run once: incremental state would only cost time.
    let _incremental = sh.push_env("CARGO_INCREMENTAL", "0");
    for (i, variant) in variants.iter().enumerate() {
        let features = variant.features();
        let subset = ["--lib", "--test", "behaviour", "--test", "process", "--test", "stress"];
        let targets = if i == 0 { &["--lib", "--tests", "--examples"][..] } else { &subset[..] };
        let package = ["--package", "rayon-core", "--features", features.as_str()];
        let test = cmd!(sh, "cargo test --quiet {package...} {targets...}");
        step(&format!("fork tests, {}", variant.name()), test)?;
        if i == 0 {
            step("examples", examples(cmd!(sh, "cargo test --quiet {package...}")))?;
        }
    }
    instrumented(sh, variants)
}

/// The fork's tests with the feature `instrument`, on the first and the last variant.
fn instrumented(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let between = if variants.len() > 1 { 1..variants.len() - 1 } else { 0..0 };
    for (i, variant) in variants.iter().enumerate().filter(|(i, _)| !between.contains(i)) {
        let features = variant.instrumented_features();
        let test = cmd!(
            sh,
            "cargo test --quiet --package rayon-core --features {features} --lib --test behaviour --test instrument"
        );
        step(&format!("fork tests, {} with instrument", variant.name()), test)?;
        if i == 0 {
            let package = ["--package", "rayon-core", "--features", features.as_str()];
            let test = cmd!(sh, "cargo test --quiet {package...} instrument");
            step("examples of instrument", examples(test))?;
        }
    }
    Ok(())
}

/// The long form of what `test` does on one driver.
pub(crate) fn faults(sh: &Shell) -> Result<()> {
    let _drivers = sh.push_env("FREQUENCY_FAULTS", "all");
    let faults = cmd!(sh, "cargo test --quiet --package runner --test command frequency::faults");
    step("faults between a fixed frequency and its restore", faults)?;
    let _kills = sh.push_env("SWEEP_KILLS", "120");
    let kills = cmd!(sh, "cargo test --quiet --package runner --test command resume::kills");
    step("sweeps that are killed and resumed", kills)
}

pub(crate) fn check(sh: &Shell, variants: &[Variant]) -> Result<()> {
    step("format", cmd!(sh, "cargo fmt --all --check"))?;
    // Not by RUSTFLAGS, with which everything would be compiled anew.
    let _docs = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    let deny = ["--", "-D", "warnings"];
    step("lints", cmd!(sh, "cargo clippy --quiet --workspace --all-targets {deny...}"))?;
    // The first variant is what the workspace has; the others are linted with `instrument`, and it by itself.
    let others = variants.iter().skip(1).map(Variant::instrumented_features);
    for features in std::iter::once("instrument".to_owned()).chain(others) {
        let clippy = cmd!(
            sh,
            "cargo clippy --quiet --package rayon-core --all-targets --features {features} {deny...}"
        );
        step(&format!("lints, {features}"), clippy)?;
    }
    step("documentation", cmd!(sh, "cargo doc --quiet --workspace --no-deps"))?;
    step(
        "documentation of instrument",
        cmd!(sh, "cargo doc --quiet --package rayon-core --no-deps --features instrument"),
    )?;
    python::check(sh)
}

/// The loom models, in a target folder of their own since the flags rebuild everything.
pub(crate) fn models(sh: &Shell, depth: Depth) -> Result<()> {
    let _cfg = sh.push_env("RUSTFLAGS", "--cfg fork_loom --cfg locks_loom");
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/loom"));
    let profile = if depth == Depth::Deep { "release" } else { "models" };
    let test = ["test", "--quiet", "--lib", "--profile", profile];
    let packages = ["--package", "rayon-core-models", "--package", "workloads-models"];
    let mut models = cmd!(sh, "cargo {test...} {packages...} models");
    if depth == Depth::Deep {
        // Larger bounds; every verdict is printed with the executions it took.
        models = models.env("FORK_LOOM_DEEP", "1").args(["--", "--nocapture"]);
    }
    step("models of the sleep protocol, of locks and of queues", models)
}

pub(crate) fn stress(sh: &Shell, seconds: u64, variants: &[Variant]) -> Result<()> {
    let _seconds = sh.push_env("FORK_STRESS_SECONDS", seconds.to_string());
    for variant in variants {
        let features = variant.features();
        let stress = cmd!(
            sh,
            "cargo test --quiet --release --package rayon-core --features {features} --test stress -- --nocapture"
        );
        step(&format!("stress, {}", variant.name()), stress)?;
    }
    Ok(())
}
