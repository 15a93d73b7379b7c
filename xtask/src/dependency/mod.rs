//! Tests the fork as a dependency of a user's program: the lock file, other targets, the oldest
//! compiler, and the stack.

pub(crate) mod stack;
mod targets;

use anyhow::{Context, Result, bail, ensure};
use runner::stop::Stop;
use toml::Value;
use xshell::{Shell, cmd};

use crate::fork;
use crate::lock::{added, locked};
use crate::scratch::Scratch;
use crate::shell::{alone, step};
use crate::variants::of_ci;

/// The oldest versions that the published crate accepts. A crate comes before the crates that it
/// depends on, because Cargo cannot lower a dependency first.
const OLDEST: [(&str, &str); 3] = [
    ("crossbeam-deque", "0.8.1"),
    ("crossbeam-epoch", "0.9.0"),
    ("crossbeam-utils", "0.8.0"),
];

const PROGRAM: &str = "fn main() {\n    rayon::join(|| (), || ());\n    rayon_core::scope(|scope| scope.spawn(|_| ()));\n}\n";

/// Patches the fork into a program whose libraries are the oldest that the published crate accepts,
/// and removes the patch again. Then compiles the fork for other targets, and by the oldest
/// compiler.
pub(crate) fn test(sh: &Shell) -> Result<()> {
    let title = "the fork in a user's program";
    eprintln!("── {title}");
    let _lock = alone(sh, "dependency")?;
    let fork = fork::folder(sh);
    let program = |features: &[&str]| {
        let features: Vec<Value> = features.iter().map(|&name| name.into()).collect();
        let mut more = toml::toml! {
            dependencies = { rayon = "1.12", rayon-core = { version = "1.13" } }
        };
        more["dependencies"]["rayon-core"]
            .as_table_mut()
            .expect("it is written above")
            .insert("features".to_owned(), features.into());
        Scratch::new(sh, "dependency/program", more)
    };
    let patched = |features: &[&str]| {
        let mut program = program(features);
        program
            .manifest
            .insert("patch".to_owned(), fork::patch(sh).into());
        program
    };
    let plain = program(&[]);
    let folder = plain.folder.clone();
    sh.remove_path(&folder)?;
    plain.file("src/main.rs", PROGRAM)?;
    plain.write()?;
    let published = fork::PUBLISHED;
    let update = |package: &str, version: &str| {
        let _dir = sh.push_dir(&folder);
        cmd!(
            sh,
            "cargo update --quiet --package {package} --precise {version}"
        )
        .quiet()
        .run()
    };
    update("rayon-core", published)?;
    for (package, version) in OLDEST {
        update(package, version)?;
    }
    let before = locked(sh, &folder)?;

    patched(&["champion"]).write()?;
    let stopped = fork::linked_core(sh, &folder);
    ensure!(
        stopped.is_err(),
        "Cargo accepts a feature of a patch that its lock file excludes: the READMEs say it stops"
    );
    patched(&[]).write()?;
    let (core, is_fork) = fork::linked_core(sh, &folder)?;
    ensure!(
        !is_fork,
        "Cargo uses a patch in spite of a lock file now ({core}): the READMEs say it does not"
    );
    let take = || {
        let _dir = sh.push_dir(&folder);
        cmd!(sh, "cargo update --quiet --package rayon-core")
            .quiet()
            .run()
    };
    take()?;
    let (core, is_fork) = fork::linked_core(sh, &folder)?;
    ensure!(
        is_fork,
        "the patched program has `{core}`, not the fork in {}",
        fork.display()
    );
    let after = locked(sh, &folder)?;
    let new = added(&before, &after);
    ensure!(
        new.is_empty(),
        "the fork adds to the lock file of a program that takes it: {}; see rayon-fork/Cargo.toml",
        new.join(", ")
    );
    eprintln!(
        "   {title}: {} packages in its lock file, as without the fork",
        after.len()
    );

    for features in [&["champion"][..], &[]] {
        patched(features).write()?;
        ensure!(
            fork::linked_core(sh, &folder)?.1,
            "{features:?} leaves the published crate"
        );
        plain.write()?;
        let (core, is_fork) = fork::linked_core(sh, &folder)?;
        ensure!(
            !is_fork,
            "without the patch the program still has `{core}`: the READMEs say it goes back"
        );
        let left = added(&before, &locked(sh, &folder)?);
        ensure!(
            left.is_empty(),
            "a program from which the patch was removed keeps {}",
            left.join(", ")
        );
        patched(&[]).write()?;
        take()?;
    }
    targets::test(sh)?;

    let oldest = oldest_compiler(sh)?;
    let _dir = sh.push_dir(&folder);
    let _target = sh.push_env("CARGO_TARGET_DIR", folder.join("target"));
    // Cargo shows the warnings of a package in a local folder, so a warning is an error here.
    let _deny = sh.push_env("RUSTFLAGS", "-D warnings");
    // Together these builds have every feature; each of them has `web_spin_lock`.
    for variant in of_ci().iter().skip(1) {
        let features = variant.features_of("rayon-core");
        let build = cmd!(
            sh,
            "rustup run {oldest} cargo check --quiet --features=rayon-core/web_spin_lock {features...}"
        );
        // The newer Cargo that runs this program sets `CARGO`.
        step(
            &format!("rustc {oldest}, {}", variant.name()),
            build.env_remove("CARGO"),
        )?;
    }
    Ok(())
}

/// Returns the oldest compiler that the fork's manifest allows; installs it if it is missing.
fn oldest_compiler(sh: &Shell) -> Result<String> {
    let manifest = fork::manifest(sh)?;
    let version = manifest
        .get("package")
        .and_then(|package| package.get("rust-version"));
    let version = version.and_then(Value::as_str);
    let version = version
        .context("rayon-fork/Cargo.toml has no rust-version")?
        .to_owned();
    let installed = match cmd!(sh, "rustup toolchain list").quiet().read() {
        Ok(list) => list,
        Err(error) => bail!(Stop::HostNotFit(format!(
            "rustc {version} needs rustup (https://rustup.rs), which installs it beside the newer one: {error}"
        ))),
    };
    if !installed
        .lines()
        .any(|name| name.starts_with(&format!("{version}-")))
    {
        let install = cmd!(sh, "rustup toolchain install {version} --profile minimal");
        step(&format!("installing rustc {version}"), install)?;
    }
    Ok(version)
}
