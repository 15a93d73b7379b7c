//! Checks `champion` on targets that differ from this host.

use anyhow::Result;
use xshell::{Shell, cmd};

use crate::shell::step;

/// Targets with 32 bits, with shorter cache lines, with another memory model, without `membarrier`, or without threads. The
/// last target has no atomics of 64 bits, so its workers share jobs without delay.
const TARGETS: [&str; 8] = [
    "i686-unknown-linux-gnu",
    "armv7-unknown-linux-gnueabihf",
    "aarch64-unknown-linux-gnu",
    "aarch64-linux-android",
    "aarch64-apple-darwin",
    "x86_64-pc-windows-gnu",
    "wasm32-unknown-unknown",
    "powerpc-unknown-linux-gnu",
];

/// Checks that `champion` compiles without a warning on each target whose standard library is
/// available.
pub(super) fn test(sh: &Shell) -> Result<()> {
    let target_dir = sh.current_dir().join("target/dependency/targets");
    let _target_dir = sh.push_env("CARGO_TARGET_DIR", target_dir);
    let _deny = sh.push_env("RUSTFLAGS", "-D warnings");
    for target in TARGETS {
        if cmd!(sh, "rustup --quiet target add {target}")
            .quiet()
            .run()
            .is_err()
        {
            eprintln!("   champion on {target}: left out, its standard library is not available");
            continue;
        }
        let check = cmd!(
            sh,
            "cargo check --quiet --package rayon-core --features champion --target {target}"
        );
        step(&format!("champion on {target}"), check)?;
    }
    Ok(())
}
