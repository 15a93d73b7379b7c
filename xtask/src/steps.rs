//! Runs the steps of each task in order, and stops at the first failure.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::conformance;
use crate::dependency;
use crate::findings;
use crate::fork::examples;
use crate::parts::Part;
use crate::python;
use crate::shell::step;
use crate::simulated;
use crate::variants::Variant;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Depth {
    /// Bounds with which the models finish within two minutes.
    Fast,
    /// The bounds that `rayon-fork/src/sleep/README.md` names.
    Deep,
}

/// Runs one part of the test suite on the fork's builds `variants`. By default, the first two
/// variants are `packed` and `champion`.
pub(crate) fn run(sh: &Shell, part: Part, variants: &[Variant]) -> Result<()> {
    // Parts with long builds run only on the first two variants.
    let named = &variants[..variants.len().min(2)];
    match part {
        Part::Fork => fork(sh, variants),
        Part::Dependency => dependency::test(sh),
        Part::Stack => dependency::stack::run(sh, named),
        Part::Conformance => conformance::test(sh, named),
        Part::Models => models(sh, Depth::Fast),
        Part::Simulated => simulated(sh, named),
        Part::Workloads => workloads(sh, named),
        Part::Services => {
            let packages = ["--package", "services", "--package", "programs"];
            step(
                "services and programs",
                cmd!(sh, "cargo test --quiet {packages...}"),
            )
        }
        Part::Rivals => rivals(sh),
        Part::Findings => findings::test(sh),
        Part::Runner => {
            // The tests run the branches' binaries only briefly, so optimizing them would take more
            // time than it saves. The tests' sweeps are small, so more threads of the analysis
            // would mostly wait for each other.
            let _level = sh.push_env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
            let _threads = sh.push_env("POLARS_MAX_THREADS", "1");
            let packages = ["runner", "xtask"].map(|it| format!("--package={it}"));
            step(
                "runner and xtask",
                cmd!(sh, "cargo test --quiet {packages...}"),
            )
        }
        Part::Analysis => python::test(sh),
    }
}

fn simulated(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let packages =
        ["manycore", "cores-std", "rewrite", "probes"].map(|it| format!("--package={it}"));
    step(
        "simulated machines, and probes of hosts",
        cmd!(sh, "cargo test --quiet {packages...}"),
    )?;
    simulated::test(sh, variants)
}

/// Lints the rivals, and tests `chili` and `fork-union`: each rival in a build of its own, because
/// a program can contain only one rival. The rivals are a separate workspace, so this function also
/// checks their format and lints.
fn rivals(sh: &Shell) -> Result<()> {
    let _folder = sh.push_dir("rivals");
    step("format, rivals", cmd!(sh, "cargo fmt --check"))?;
    // The rivals with only fork-join regions share `regions.rs`, so testing one of these rivals is
    // enough.
    let targets: [(&str, Option<&[&str]>); 3] = [
        ("chili", Some(&[])),
        ("fork-union", Some(&["--tests"])),
        ("openmp", None),
    ];
    for (rival, targets) in targets {
        let build = ["--quiet", "--locked", "--features", rival];
        let clippy = cmd!(sh, "cargo clippy {build...} --lib -- -D warnings");
        step(&format!("lints, {rival}"), clippy)?;
        if let Some(targets) = targets {
            let test = cmd!(sh, "cargo test {build...} {targets...}");
            step(&format!("answers on {rival}"), test)?;
        }
    }
    Ok(())
}

/// Runs the workloads' own tests, and checks each workload's answer on every variant but the first:
/// the workloads' own tests run on `packed`. `cargo runner sweep --experiment answers` checks the
/// answers on all branches, in the builds that sweeps measure.
fn workloads(sh: &Shell, variants: &[Variant]) -> Result<()> {
    let packages = ["--package", "protocol", "--package", "workloads"];
    step("workloads", cmd!(sh, "cargo test --quiet {packages...}"))?;
    // The step above has tested `packed`, the variant without features.
    for variant in variants.iter().filter(|it| !it.features().is_empty()) {
        let features = variant.features_of("rayon-core");
        let packages = ["--package", "workloads", "--package", "rayon-core"];
        let answers = ["--test", "each", "every_workload"];
        step(
            &format!("answers of the workloads, {}", variant.name()),
            cmd!(
                sh,
                "cargo test --quiet {packages...} {features...} {answers...}"
            ),
        )?;
    }
    Ok(())
}

/// Runs the tests of interface, compile errors and documentation examples only on the first
/// variant, because no variant changes their result. Skips tests of whole processes on builds that
/// count events.
fn fork(sh: &Shell, variants: &[Variant]) -> Result<()> {
    // Each build runs only once, so incremental state would only cost time.
    let _incremental = sh.push_env("CARGO_INCREMENTAL", "0");
    for (i, variant) in variants.iter().enumerate() {
        let features = variant.features();
        let mut targets = vec!["--lib", "--test", "behaviour", "--test", "stress"];
        targets.extend(if variant.is_instrumented() {
            &["--test", "instrument"][..]
        } else {
            &[
                "--test",
                "process",
                "--test",
                "threadless",
                "--test",
                "memory",
            ]
        });
        if i == 0 {
            targets = vec!["--lib", "--tests", "--examples"];
        }
        let package = ["--package", "rayon-core", "--features", features.as_str()];
        let test = cmd!(sh, "cargo test --quiet {package...} {targets...}");
        step(&format!("fork tests, {}", variant.name()), test)?;
        if i == 0 {
            step(
                "examples",
                examples(cmd!(sh, "cargo test --quiet {package...}")),
            )?;
        }
    }
    if let Some(variant) = variants.iter().find(|variant| variant.is_instrumented()) {
        let features = variant.features();
        let package = ["--package", "rayon-core", "--features", features.as_str()];
        let test = cmd!(sh, "cargo test --quiet {package...} instrument");
        step("examples of instrument", examples(test))?;
    }
    Ok(())
}

/// Runs the long form of two tests: faults while a frequency is fixed, and killed sweeps.
pub(crate) fn faults(sh: &Shell) -> Result<()> {
    let _hosts = sh.push_env("FREQUENCY_FAULTS", "all");
    let faults = cmd!(
        sh,
        "cargo test --quiet --package runner --test command frequency::faults"
    );
    step("faults between a fixed frequency and its restore", faults)?;
    let _kills = sh.push_env("SWEEP_KILLS", "120");
    let kills = cmd!(
        sh,
        "cargo test --quiet --package runner --test command resume::kills"
    );
    step("sweeps that are killed and resumed", kills)
}

/// The main files of the packages below `workloads/programs`; each package is a workspace of its
/// own.
fn sources_of_whole_programs(sh: &Shell) -> Result<Vec<std::path::PathBuf>> {
    let entries = sh.read_dir("workloads/programs")?.into_iter();
    let files = entries.map(|entry| entry.join("src/main.rs"));
    Ok(files.filter(|file| sh.path_exists(file)).collect())
}

fn workloads_programs(sh: &Shell) -> Result<Vec<std::path::PathBuf>> {
    let entries = sh.read_dir("workloads/src/kinds")?.into_iter();
    let file = entries.map(|entry| {
        if entry.is_dir() {
            entry.join("mod.rs")
        } else {
            entry
        }
    });
    Ok(file
        .filter(|file| !file.ends_with("kinds/mod.rs"))
        .collect())
}

pub(crate) fn check(sh: &Shell, variants: &[Variant]) -> Result<()> {
    step("format", cmd!(sh, "cargo fmt --all --check"))?;
    // `cargo fmt` does not see modules that a build script declares, nor packages outside the
    // workspace.
    let mut files = workloads_programs(sh)?;
    files.extend(sources_of_whole_programs(sh)?);
    step(
        "format of workloads",
        cmd!(sh, "rustfmt --check --edition 2024 {files...}"),
    )?;
    // rustdoc denies warnings by this variable. Clippy gets the flag as an argument: in RUSTFLAGS,
    // it would recompile everything.
    let _docs = sh.push_env("RUSTDOCFLAGS", "-D warnings");
    let deny = ["--", "-D", "warnings"];
    step(
        "lints",
        cmd!(
            sh,
            "cargo clippy --quiet --workspace --all-targets {deny...}"
        ),
    )?;
    // The step above has linted the first variant. The other variants change only these targets.
    for variant in variants.iter().skip(1) {
        let features = variant.features_of("rayon-core");
        let mut targets = vec!["--lib"];
        if variant.is_instrumented() {
            targets.extend(["--test", "instrument"]);
        }
        let clippy = ["--quiet", "--package", "rayon-core"];
        let clippy = cmd!(
            sh,
            "cargo clippy {clippy...} {targets...} {features...} {deny...}"
        );
        step(&format!("lints, {}", variant.name()), clippy)?;
    }
    // Builds the documentation of the crate that people outside this checkout use.
    let documented = ["--package", "rayon-core", "--features", "instrument"];
    let doc = cmd!(sh, "cargo doc --quiet --no-deps {documented...}");
    step("documentation of the fork", doc)?;
    python::check(sh)
}

/// Runs the loom models, in a separate target folder, because their flags would rebuild everything.
pub(crate) fn models(sh: &Shell, depth: Depth) -> Result<()> {
    let _cfg = sh.push_env("RUSTFLAGS", "--cfg fork_loom --cfg locks_loom");
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/loom"));
    let profile = if depth == Depth::Deep {
        "release"
    } else {
        "models"
    };
    let test = ["test", "--quiet", "--lib", "--profile", profile];
    let packages = [
        "--package",
        "rayon-core-models",
        "--package",
        "workloads-models",
    ];
    let mut models = cmd!(sh, "cargo {test...} {packages...} models");
    if depth == Depth::Deep {
        // The deep models have larger bounds, and print the number of executions of each model.
        models = models
            .env("FORK_LOOM_DEEP", "1")
            .args(["--", "--nocapture"]);
    } else {
        // The models run one at a time: each execution maps new stacks, and two executions would
        // block each other in the kernel for half of their time.
        models = models.args(["--", "--test-threads", "1"]);
    }
    step("models of the sleep protocol and of locks", models)
}
