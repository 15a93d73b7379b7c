//! The fork's tests under Miri and under the thread sanitizer, which need a nightly compiler.

use anyhow::{Result, bail};
use runner::stop::Stop;
use xshell::{Cmd, Shell, cmd};

use crate::shell::step;
use crate::variants::Variant;

/// The compiler that has Miri and `-Z` flags. Other tasks use the compiler that
/// `rust-toolchain.toml` names. The part `dependency` also runs the oldest compiler that the fork
/// supports.
const TOOLCHAIN: &str = "nightly";

/// Miri interprets the source of the standard library, and the sanitizer compiles that source
/// again.
const COMPONENTS: [&str; 2] = ["miri", "rust-src"];

/// The date of the oldest Miri that we know to be good. The Miri of May 2026 may return a value from
/// a `SeqCst` load that C++20 forbids, and then reports a race in the fork's deque:
/// <https://github.com/rust-lang/miri/issues/5104>.
const OLDEST_MIRI: &str = "2026-10-28";

/// The only platform on which we tried the thread sanitizer. `-Zbuild-std` needs an explicit
/// `--target`.
const TSAN_TARGET: &str = "x86_64-unknown-linux-gnu";

const MIRI_FLAGS: [&str; 3] = [
    // Stacked Borrows rejects the intrusive list of crossbeam-epoch, below every deque.
    "-Zmiri-tree-borrows",
    // Three things leak by design: the global pool never ends, adopted threads never leave their
    // pool, and crossbeam-epoch keeps garbage of threads that have ended.
    "-Zmiri-ignore-leaks",
    // crossbeam-epoch stores tags in the low bits of pointers by integer casts. The flag only
    // silences the warning about these casts.
    "-Zmiri-permissive-provenance",
];

/// A test target, and the tests in it that Miri skips.
struct MiriTarget {
    target: &'static [&'static str],
    skip: &'static [&'static str],
}

const MIRI_TARGETS: [MiriTarget; 4] = [
    MiriTarget {
        target: &["--lib"],
        // These tests run on one thread, without `unsafe`, so Miri can find nothing. Their long
        // histories and pools of 65 535 workers would take longer than all other tests.
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
    // Examples of public items are short programs, each with a global pool of its own.
    MiriTarget {
        target: &["--doc"],
        skip: &[],
    },
];

/// Runs the fork's tests on `variants` under Miri, each with the seeds `0..seeds` of its scheduler.
pub(crate) fn miri(sh: &Shell, seeds: u32, variants: &[Variant], names: &[String]) -> Result<()> {
    prove_installed(sh)?;
    refuse_old_miri(&cmd!(sh, "rustup run {TOOLCHAIN} rustc --version").read()?)?;
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
    // The flags and the standard library differ from every other build, so this build has its own
    // folder.
    let _target = sh.push_env("CARGO_TARGET_DIR", sh.current_dir().join("target/tsan"));
    for variant in variants {
        let features = variant.features();
        let test = nightly_cargo(sh, "test")
            // Without `-Zbuild-std`, the sanitizer would report the standard library's locks and
            // channels as races.
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
            // If a process with threads forks, and the child starts threads, the sanitizer ends the
            // child.
            .arg("--")
            .args(["--skip", "a_fork_may_build_pools_of_its_own"])
            .args(["--skip", "a_child_that_is_forked"]);
        step(&format!("thread sanitizer, {}", variant.name()), test)?;
    }
    Ok(())
}

fn nightly_cargo<'sh>(sh: &'sh Shell, command: &str) -> Cmd<'sh> {
    // The stable Cargo that runs this program sets `CARGO`; Miri would call that Cargo.
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

/// rustup lists some components with their platform as a suffix.
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

/// A version of rustc ends with its date, as in `rustc 1.97.0-nightly (e50aa6fba 2026-05-19)`.
fn refuse_old_miri(version: &str) -> Result<()> {
    let date = version.rsplit(' ').next().unwrap_or(version);
    let date = date.trim_end_matches(')');
    if date < OLDEST_MIRI {
        bail!(Stop::HostNotFit(format!(
            "the toolchain `{TOOLCHAIN}` is of {date}, and a Miri older than {OLDEST_MIRI} may \
             report races that cannot happen; to update it: rustup update {TOOLCHAIN}"
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

    #[test]
    fn a_miri_that_reports_false_races_is_refused() {
        refuse_old_miri("rustc 1.101.0-nightly (92ffebece 2026-10-28)").unwrap();
        let error = refuse_old_miri("rustc 1.97.0-nightly (e50aa6fba 2026-05-19)").unwrap_err();
        assert!(error.is::<Stop>(), "{error}");
        let told = "is of 2026-05-19, and a Miri older than 2026-10-28";
        assert!(error.to_string().contains(told), "{error}");
    }
}
