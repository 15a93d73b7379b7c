//! A program built twice: every package in the same version, but for rayon-core.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use toml::{Table, Value};
use xshell::{Shell, cmd};

use super::catalogue::Program;
use crate::lock::{added, locked};
use crate::variants::Variant;
use crate::{fork, registry};

/// Two binaries of one program.
pub(super) struct Built {
    /// With the published rayon-core.
    pub(super) published: PathBuf,
    /// With the fork.
    pub(super) fork: PathBuf,
    /// The package from which the first was built.
    pub(super) folder: PathBuf,
}

/// Fetches and builds `program` both ways.
pub(super) fn both(sh: &Shell, program: &Program, variant: &Variant) -> Result<Built> {
    let sources = registry::sources(sh, program.name, program.version)?;
    let home = sh.current_dir().join("target/programs").join(program.folder_name());
    let (with_fork, folder) = (home.join("fork"), home.join("published"));
    let manifest = registry::manifest(sh, &sources)?;
    let patched = on_fork(manifest.clone(), fork::dependency(sh), &fork::version(sh)?, variant)?;
    prepare(sh, &sources, &with_fork, &patched)?;
    let (core, is_fork) = fork::linked_core(sh, &with_fork)?;
    ensure!(is_fork, "it would be built with `{core}`, not with the fork");

    prepare(sh, &sources, &folder, &on_published(manifest)?)?;
    // The fork may need a newer version of what the program has, and then the published one must have that, too.
    if !added(&locked(sh, &with_fork)?, &locked(sh, &folder)?).is_empty() {
        sh.copy_file(with_fork.join("Cargo.lock"), folder.join("Cargo.lock"))?;
    }
    let (core, is_fork) = fork::linked_core(sh, &folder)?;
    ensure!(
        !is_fork && core.ends_with(&format!("v{}", fork::PUBLISHED)),
        "it would be built with `{core}`, not with the published rayon-core {}",
        fork::PUBLISHED
    );
    let strayed = added(&locked(sh, &with_fork)?, &locked(sh, &folder)?);
    ensure!(strayed.is_empty(), "with the fork it has other versions of {}", strayed.join(", "));
    Ok(Built {
        published: build(sh, program, &folder)?,
        fork: build(sh, program, &with_fork)?,
        folder,
    })
}

/// A copy of the package with another manifest, unless it is there already: what is written anew is built anew.
fn prepare(sh: &Shell, sources: &Path, folder: &Path, manifest: &Table) -> Result<()> {
    let manifest = manifest.to_string();
    let file = folder.join("Cargo.toml");
    if sh.path_exists(&file) && sh.read_file(&file)? == manifest {
        return Ok(());
    }
    sh.remove_path(folder)?;
    registry::copy_folder(sources, folder)
        .with_context(|| format!("copying {}", sources.display()))?;
    // Last: a copy that was cut short has the package's own.
    Ok(sh.write_file(file, manifest)?)
}

/// Returns the binary, away from where the next build puts its own.
fn build(sh: &Shell, program: &Program, folder: &Path) -> Result<PathBuf> {
    // One folder for all: what does not depend on rayon-core is built once.
    let target = sh.current_dir().join("target/programs/build");
    let _target = sh.push_env("CARGO_TARGET_DIR", &target);
    let binary = program.binary;
    let _dir = sh.push_dir(folder);
    let which = folder.file_name().unwrap_or_default().to_string_lossy();
    eprintln!("── building {}, {which}", program.title());
    let build = cmd!(sh, "cargo build --quiet --release --locked --bin {binary}");
    // Warnings about the program are its authors' business.
    let output = build.quiet().ignore_status().output()?;
    ensure!(output.status.success(), "{which}: {}", String::from_utf8_lossy(&output.stderr));
    let copy = folder.with_file_name(format!("{binary}-{which}"));
    sh.copy_file(target.join("release").join(binary), &copy)?;
    Ok(copy)
}

/// The manifest with the fork in place of rayon-core. Its exact version overrules the package's lock file, which pins
/// the published one.
fn on_fork(mut manifest: Table, fork: Table, version: &str, variant: &Variant) -> Result<Table> {
    let features = variant.features();
    let features = features.split(',').filter(|name| !name.is_empty());
    let features: Vec<Value> = features.map(|name| name.to_owned().into()).collect();
    let mut core = Table::from_iter([("features".to_owned(), features.into())]);
    core.insert("version".into(), format!("={version}").into());
    depend(&mut manifest, core)?;
    let patch = Table::from_iter([("crates-io".to_owned(), fork.into())]);
    manifest.insert("patch".into(), patch.into());
    Ok(manifest)
}

/// The manifest with exactly the version of rayon-core that the fork is compared with.
fn on_published(mut manifest: Table) -> Result<Table> {
    let version = format!("={}", fork::PUBLISHED);
    depend(&mut manifest, Table::from_iter([("version".to_owned(), version.into())]))?;
    Ok(manifest)
}

/// Makes the package a workspace of its own with this dependency, without which features of a dependency's dependency
/// cannot be chosen.
fn depend(manifest: &mut Table, core: Table) -> Result<()> {
    manifest.insert("workspace".into(), Table::new().into());
    let dependencies = manifest.entry("dependencies").or_insert_with(|| Table::new().into());
    let dependencies = dependencies.as_table_mut().context("[dependencies] is no table")?;
    dependencies.insert("rayon-core".into(), core.into());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_manifests_differ_in_rayon_core_alone() {
        let program = toml::toml! {
            [package]
            name = "program"
            [dependencies.rayon]
            version = "1.10"
            [dependencies.rayon-core]
            version = "1.12.1"
            [profile.release]
            lto = "fat"
        };
        let variant = Variant::of(["demand".to_owned(), "warm-install".to_owned()].into());
        let fork = toml::toml! { rayon-core = { path = "/fork" } };
        let mut on_fork = on_fork(program.clone(), fork, "1.13.90", &variant).unwrap();
        let mut on_published = on_published(program).unwrap();
        let core = |manifest: &mut Table| {
            manifest["dependencies"].as_table_mut().unwrap().remove("rayon-core").unwrap()
        };
        let expected = toml::toml! { version = "=1.13.90" features = ["demand", "warm-install"] };
        assert_eq!(core(&mut on_fork), Value::Table(expected));
        let expected = toml::toml! { version = "=1.13.0" };
        assert_eq!(core(&mut on_published), Value::Table(expected));
        let patch = toml::toml! { crates-io = { rayon-core = { path = "/fork" } } };
        assert_eq!(on_fork.remove("patch"), Some(Value::Table(patch)));
        assert_eq!(on_fork, on_published);
    }
}
