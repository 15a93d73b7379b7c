//! The fork's tests under Miri and under the thread sanitizer, which need a nightly compiler.

use anyhow::{Result, bail};
use runner::stop::Stop;
use xshell::{Cmd, Shell, cmd};

use crate::shell::step;
use crate::variants::Variant;

/// The compiler that has Miri and `-Z` flags. `rust-toolchain.toml` names the compiler for
/// everything else.
const TOOLCHAIN: &str = "nightly";

/// Miri interprets the source of the standard library, and the sanitizer compiles that source
/// again.
const COMPONENTS: [&str; 2] = ["miri", "rust-src"];

/// The sanitizer's only platform on which this was tried; the flags below need it spelled out.
const TSAN_TARGET: &str = "x86_64-unknown-linux-gnu";

const MIRI_FLAGS: [&str; 3] = [
    // Stacked Borrows rejects the intrusive list of crossbeam-epoch, below every deque.
    "-Zmiri-tree-borrows",
    // No code ends the global pool, adopted threads never leave their pool, and the epochs of
    // crossbeam keep garbage of threads that have ended.
    "-Zmiri-ignore-leaks",
    // crossbeam-epoch keeps tags in the low bits of pointers by way of integers. The flag silences
    // the warning about these casts, which also work without the flag.
    "-Zmiri-permissive-provenance",
];

/// A test target and the tests in it that Miri leaves out.
struct MiriTarget {
    target: &'static [&'static str],
    skip: &'static [&'static str],
}

const MIRI_TARGETS: [MiriTarget; 4] = [
    MiriTarget {
        target: &["--lib"],
        // These tests count on one thread, without `unsafe`, so Miri can find nothing. Long
        // histories and pools of 65 535 workers, for every variant, would take longer than all the
        // rest.
        skip: &["sleep::counters"],
    },
    MiriTarget {
        target: &["--test", "behaviour"],
        skip: &[],
    },
    MiriTarget {
        target: &["--test", "stress"],
        skip: &[],
    },
    // Examples of public items: short programs, each alone with its global pool.
    MiriTarget {
        target: &["--doc"],
        skip: &[],
    },
];

/// Runs the fork's tests on `variants` under Miri, each with the seeds `0..seeds` of its scheduler.
pub(crate) fn miri(sh: &Shell, seeds: u32, variants: &[Variant], names: &[String]) -> Result<()> {
    prove_installed(sh)?;
    let flags = format!("{} -Zmiri-many-seeds=0..{seeds}", MIRI_FLAGS.join(" "));
    let _flags = sh.push_env("MIRIFLAGS", flags);
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/miri"));
    for variant in variants {
        for MiriTarget { target, skip } in &MIRI_TARGETS {
            let features = variant.features();
            let skip = skip.iter().flat_map(|tests| ["--skip", tests]);
            let test = nightly_cargo(sh, "miri")
                .args(["test", "--package", "rayon-core", "--features", &features])
                .args(*target)
                .args(["--", "--quiet"])
                .args(skip)
                .args(names);
            step(
                &format!("Miri, {}, {}", variant.name(), target.join(" ")),
                test,
            )?;
        }
    }
    Ok(())
}

pub(crate) fn tsan(sh: &Shell, variants: &[Variant]) -> Result<()> {
    prove_installed(sh)?;
    let _flags = sh.push_env("RUSTFLAGS", "-Zsanitizer=thread");
    let suppressions = sh.current_dir().join("rayon-fork/tsan-suppressions.txt");
    let options = format!("halt_on_error=1 suppressions='{}'", suppressions.display());
    let _options = sh.push_env("TSAN_OPTIONS", options);
    // The flags and the standard library differ from those of every other build.
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/tsan"));
    for variant in variants {
        let features = variant.features();
        let test = nightly_cargo(sh, "test")
            // Uninstrumented, the standard library's locks and channels would look like races.
            .args(["-Zbuild-std", "--target", TSAN_TARGET])
            .args([
                "--quiet",
                "--package",
                "rayon-core",
                "--features",
                &features,
            ])
            .args([
                "--lib",
                "--test",
                "behaviour",
                "--test",
                "process",
                "--test",
                "stress",
            ])
            // The sanitizer ends a forked child of a process with threads when that child starts
            // threads of its own.
            .args(["--", "--skip", "a_fork_may_build_pools_of_its_own"]);
        step(&format!("thread sanitizer, {}", variant.name()), test)?;
    }
    Ok(())
}

fn nightly_cargo<'sh>(sh: &'sh Shell, command: &str) -> Cmd<'sh> {
    // This program runs under the stable Cargo, which sets `CARGO`; Miri would call that Cargo.
    cmd!(sh, "rustup run {TOOLCHAIN} cargo {command}").env_remove("CARGO")
}

fn prove_installed(sh: &Shell) -> Result<()> {
    let installed = cmd!(
        sh,
        "rustup component list --toolchain {TOOLCHAIN} --installed"
    )
    .quiet()
    .ignore_stderr()
    .ignore_status()
    .read()
    .map_err(|error| {
        Stop::HostNotFit(format!(
            "Miri and the sanitizer need rustup (https://rustup.rs), to have two compilers: {error}"
        ))
    })?;
    refuse_without_components(&installed)
}

/// The list of rustup shows some components with their platform.
fn refuse_without_components(installed: &str) -> Result<()> {
    let lacks = |component: &&str| {
        let mut rests = installed
            .lines()
            .filter_map(|it| it.strip_prefix(component));
        !rests.any(|rest| rest.is_empty() || rest.starts_with('-'))
    };
    let missing: Vec<&str> = COMPONENTS.into_iter().filter(lacks).collect();
    if !missing.is_empty() {
        bail!(Stop::HostNotFit(format!(
            "the toolchain `{TOOLCHAIN}` lacks {}; to install it: \
             rustup toolchain install {TOOLCHAIN} --profile minimal --component {}",
            missing.join(" and "),
            COMPONENTS.join(","),
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_component_is_a_host_that_is_not_fit() {
        refuse_without_components("miri-x86_64-unknown-linux-gnu\nrust-src\n").unwrap();
        let error = refuse_without_components("mirilike-x\nrust-src\n").unwrap_err();
        assert!(error.is::<Stop>(), "{error}");
        let told = "lacks miri; to install it: rustup toolchain";
        assert!(error.to_string().contains(told), "{error}");
    }
}
