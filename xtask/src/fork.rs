//! The fork as a dependency of packages that tasks write below `target/`.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use toml::Table;
use xshell::{Cmd, Shell, cmd};

/// The published version whose interface the fork has, and with which the fork is compared.
pub(crate) const PUBLISHED: &str = "1.13.0";

pub(crate) fn folder(sh: &Shell) -> PathBuf {
    sh.current_dir().join("rayon-fork")
}

pub(crate) fn manifest(sh: &Shell) -> Result<Table> {
    manifest_in(sh, &folder(sh))
}

pub(crate) fn manifest_in(sh: &Shell, folder: &Path) -> Result<Table> {
    let file = folder.join("Cargo.toml");
    sh.read_file(&file)?
        .parse()
        .with_context(|| file.display().to_string())
}

pub(crate) fn path(sh: &Shell) -> Table {
    Table::from_iter([("path".to_owned(), folder(sh).display().to_string().into())])
}

pub(crate) fn patch(sh: &Shell) -> Table {
    let fork = Table::from_iter([("rayon-core".to_owned(), path(sh).into())]);
    Table::from_iter([("crates-io".to_owned(), fork.into())])
}

/// Returns the rayon-core that the package in `package` links, and whether that is the fork. If a
/// patch does not fit, Cargo only warns, and links the published crate.
pub(crate) fn linked_core(sh: &Shell, package: &Path) -> Result<(String, bool)> {
    let fork = folder(sh).display().to_string();
    let _dir = sh.push_dir(package);
    let tree = cmd!(sh, "cargo tree --quiet --invert rayon-core --depth 0");
    let tree = tree.quiet().ignore_stderr().read()?.trim().to_owned();
    let is_fork = tree.contains(&fork);
    Ok((tree, is_fork))
}

/// Merges the documentation examples of the `test` command into one program, which takes a fraction
/// of the time. Before edition 2024, merging needs a flag that stable compilers do not know.
pub(crate) fn examples(test: Cmd<'_>) -> Cmd<'_> {
    test.arg("--doc")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTDOCFLAGS", "-Zunstable-options --merge-doctests=yes")
}
