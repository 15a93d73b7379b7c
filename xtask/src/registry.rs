//! Published packages: fetched by Cargo, and copied below `target/` to be built otherwise than as
//! published.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use toml::{Table, Value};
use xshell::{Shell, cmd};

use crate::scratch::Scratch;

/// A library without dependencies. Cargo says where it keeps it, and there are the others: it does
/// not say that of packages without a library.
const NEIGHBOUR: &str = "either";

/// Where Cargo keeps the package's sources; fetches them if it has not yet.
pub(crate) fn sources(sh: &Shell, name: &str, version: &str) -> Result<PathBuf> {
    let file_name = format!("{name}-{version}");
    let dependencies: Table = [
        (NEIGHBOUR.to_owned(), Value::from("1")),
        (name.to_owned(), format!("={version}").into()),
    ]
    .into_iter()
    .collect();
    let dependencies = Table::from_iter([("dependencies".to_owned(), dependencies.into())]);
    let probe = Scratch::new(sh, &format!("probe/{file_name}"), dependencies);
    probe.file("src/lib.rs", "")?;
    probe.write()?;
    let packages =
        packages(sh, &probe.folder).with_context(|| format!("fetching {name} {version}"))?;
    let is_neighbour = |folder: &&PathBuf| {
        folder
            .file_name()
            .is_some_and(|it| starts_with(it, NEIGHBOUR))
    };
    let neighbour = packages.iter().find(is_neighbour);
    let neighbour =
        neighbour.with_context(|| format!("cargo metadata does not know {NEIGHBOUR}"))?;
    let folder = neighbour.with_file_name(&file_name);
    ensure!(
        sh.path_exists(&folder),
        "Cargo did not put {name} {version} into {}",
        folder.display()
    );
    Ok(folder)
}

fn starts_with(file_name: &std::ffi::OsStr, name: &str) -> bool {
    file_name
        .to_string_lossy()
        .strip_prefix(name)
        .is_some_and(|rest| rest.starts_with('-'))
}

/// Folders of all packages of the registry that the package in `folder` needs on any system.
fn packages(sh: &Shell, folder: &Path) -> Result<Vec<PathBuf>> {
    let _dir = sh.push_dir(folder);
    let metadata = cmd!(sh, "cargo metadata --quiet --format-version 1")
        .quiet()
        .read()?;
    let metadata: serde_json::Value = serde_json::from_str(&metadata).context("cargo metadata")?;
    let packages = metadata["packages"]
        .as_array()
        .context("cargo metadata lists no packages")?;
    let published = packages
        .iter()
        .filter(|package| package["source"].is_string());
    let folder = |package: &serde_json::Value| {
        let manifest = package["manifest_path"].as_str().map(Path::new);
        manifest
            .and_then(Path::parent)
            .map(Path::to_owned)
            .context("a manifest lies in a folder")
    };
    published.map(folder).collect()
}

/// Copies all files of `from`, also into folders that are there already.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            // Read and write, not copy: the registry's files may be read-only.
            std::fs::write(&target, std::fs::read(entry.path())?)?;
        }
    }
    Ok(())
}
