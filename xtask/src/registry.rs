//! Finds the sources of published packages, which Cargo fetches.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use cargo_metadata::MetadataCommand;
use toml::Table;
use xshell::Shell;

use crate::scratch::Scratch;

/// Returns the folder in which Cargo keeps the package's sources; fetches them if necessary.
pub(crate) fn sources(sh: &Shell, name: &str, version: &str) -> Result<PathBuf> {
    let dependency = Table::from_iter([(name.to_owned(), format!("={version}").into())]);
    let manifest = Table::from_iter([("dependencies".to_owned(), dependency.into())]);
    let probe = Scratch::new(sh, &format!("probe/{name}-{version}"), manifest);
    probe.file("src/lib.rs", "")?;
    probe.write()?;
    let metadata = MetadataCommand::new().current_dir(&probe.folder).exec();
    let packages = metadata
        .with_context(|| format!("fetching {name} {version}"))?
        .packages;
    let package = packages.into_iter().find(|package| package.name == name);
    let manifest = package.map(|package| package.manifest_path.into_std_path_buf());
    let folder = manifest.and_then(|file| Some(file.parent()?.to_owned()));
    folder.with_context(|| format!("Cargo does not say where {name} {version} is"))
}
