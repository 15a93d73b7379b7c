//! The fork in a program of somebody else: what it does to the lock file, the oldest compiler that
//! builds it, and the stack that it takes.

pub(crate) mod stack;

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use runner::stop::Stop;
use toml::Table;
use xshell::{Shell, cmd};

use crate::fork;
use crate::shell::step;
use crate::variants::all_features;

/// The oldest versions that satisfy the published crate, each after those that need a newer one.
const OLDEST: [(&str, &str); 3] =
    [("crossbeam-deque", "0.8.1"), ("crossbeam-epoch", "0.9.0"), ("crossbeam-utils", "0.8.0")];

/// Features that make no variant, and that a program may ask for.
const OTHER_FEATURES: [&str; 2] = ["instrument", "web_spin_lock"];

const PROGRAM: &str = "fn main() {\n    rayon::join(|| (), || ());\n    rayon_core::scope(|scope| scope.spawn(|_| ()));\n}\n";

/// A program with the oldest libraries that do for the published crate takes the fork by a patch: its lock
/// file stays as it is but for the version of rayon-core, and the oldest compiler
/// takes it without a warning.
pub(crate) fn test(sh: &Shell) -> Result<()> {
    let title = "the fork in a program of somebody else";
    eprintln!("── {title}");
    let folder = sh.current_dir().join("target/dependency/program");
    let fork = fork::folder(sh);
    let manifest = "[package]\nname = \"program\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
                    [dependencies]\nrayon = \"1.12\"\nrayon-core = \"1.13\"\n";
    let patch = format!("\n[patch.crates-io]\nrayon-core = {{ path = '{}' }}\n", fork.display());
    sh.remove_path(&folder)?;
    sh.write_file(folder.join("src/main.rs"), PROGRAM)?;
    sh.write_file(folder.join("Cargo.toml"), manifest)?;
    let published = fork::PUBLISHED;
    let update = |package: &str, version: &str| {
        let _dir = sh.push_dir(&folder);
        cmd!(sh, "cargo update --quiet --package {package} --precise {version}").quiet().run()
    };
    update("rayon-core", published)?;
    for (package, version) in OLDEST {
        update(package, version)?;
    }
    let before = locked(sh, &folder)?;

    sh.write_file(folder.join("Cargo.toml"), manifest.to_owned() + &patch)?;
    let (core, is_fork) = fork::linked_core(sh, &folder)?;
    ensure!(
        !is_fork,
        "Cargo uses a patch in spite of a lock file now ({core}): the READMEs say it does not"
    );
    {
        let _dir = sh.push_dir(&folder);
        cmd!(sh, "cargo update --quiet --package rayon-core").quiet().run()?;
    }
    let (core, is_fork) = fork::linked_core(sh, &folder)?;
    ensure!(is_fork, "the patched program has `{core}`, not the fork in {}", fork.display());
    let after = locked(sh, &folder)?;
    prove_unchanged(&before, &after)?;
    eprintln!("   {title}: {} packages in its lock file, as before", after.len());

    let oldest = oldest_compiler(sh)?;
    let _dir = sh.push_dir(&folder);
    let _target = sh.push_env("CARGO_TARGET_DIR", folder.join("target"));
    // Cargo shows strangers the warnings of a package that it has by path.
    let _deny = sh.push_env("RUSTFLAGS", "-D warnings");
    for features in all_features(&OTHER_FEATURES) {
        let of_core = features.iter().map(|name| format!("--features=rayon-core/{name}"));
        let build = cmd!(sh, "rustup run {oldest} cargo check --quiet").args(of_core);
        // This very program runs under another Cargo, which says so.
        step(&format!("rustc {oldest}, {}", features.join(",")), build.env_remove("CARGO"))?;
    }
    Ok(())
}

/// Names and versions in the lock file of the package in `folder`, without the package's own.
fn locked(sh: &Shell, folder: &std::path::Path) -> Result<BTreeMap<String, String>> {
    let lock: Table = sh.read_file(folder.join("Cargo.lock"))?.parse().context("Cargo.lock")?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let packages = packages.context("Cargo.lock lists no packages")?.iter();
    let text = |package: &toml::Value, key: &str| {
        package.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    };
    Ok(packages.map(|package| (text(package, "name"), text(package, "version"))).collect())
}

/// Whether a lock file has changed in more than the version of rayon-core.
fn prove_unchanged(
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Result<()> {
    let differs = |(name, version): &(&String, &String)| {
        name.as_str() != "rayon-core" && before.get(*name) != Some(version)
    };
    let new: Vec<_> =
        after.iter().filter(differs).map(|(name, version)| format!("{name} {version}")).collect();
    ensure!(
        new.is_empty(),
        "the fork adds to the lock file of a program that takes it: {}; see rayon-fork/Cargo.toml",
        new.join(", ")
    );
    Ok(())
}

/// The compiler that the fork's manifest names as its oldest; installed if it is missing.
fn oldest_compiler(sh: &Shell) -> Result<String> {
    let manifest = fork::manifest(sh)?;
    let version = manifest.get("package").and_then(|package| package.get("rust-version"));
    let version = version.and_then(toml::Value::as_str);
    let version = version.context("rayon-fork/Cargo.toml has no rust-version")?.to_owned();
    let installed = match cmd!(sh, "rustup toolchain list").quiet().read() {
        Ok(list) => list,
        Err(error) => bail!(Stop::HostNotFit(format!(
            "rustc {version} needs rustup (https://rustup.rs), to be there beside the newer one: {error}"
        ))),
    };
    if !installed.lines().any(|name| name.starts_with(&format!("{version}-"))) {
        let install = cmd!(sh, "rustup toolchain install {version} --profile minimal");
        step(&format!("installing rustc {version}"), install)?;
    }
    Ok(version)
}

#[cfg(test)]
mod tests {
    use super::prove_unchanged;

    #[test]
    fn a_lock_file_may_change_in_nothing_but_the_version_of_rayon_core() {
        let lock = |packages: &[(&str, &str)]| {
            packages.iter().map(|&(name, version)| (name.to_owned(), version.to_owned())).collect()
        };
        let before = lock(&[("either", "1.0.0"), ("rayon-core", "1.13.0")]);
        prove_unchanged(&before, &lock(&[("either", "1.0.0"), ("rayon-core", "1.13.90")])).unwrap();
        for (grown, told) in [
            (lock(&[("either", "1.0.0"), ("loom", "0.7.2"), ("rayon-core", "1.13.90")]), "loom"),
            (lock(&[("either", "1.1.0"), ("rayon-core", "1.13.90")]), "either 1.1.0"),
        ] {
            let error = prove_unchanged(&before, &grown).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }
}
