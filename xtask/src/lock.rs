//! Reads lock files, and finds the packages that only the second of two lock files has, except
//! rayon-core.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context as _, Result};
use toml::Table;
use xshell::Shell;

/// Names and versions of packages; a lock file may list several versions of one package.
pub(crate) type Locked = BTreeSet<(String, String)>;

pub(crate) fn locked(sh: &Shell, folder: &Path) -> Result<Locked> {
    let file = folder.join("Cargo.lock");
    let lock: Table = sh
        .read_file(&file)?
        .parse()
        .with_context(|| file.display().to_string())?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let packages = packages.with_context(|| format!("{} lists no packages", file.display()))?;
    let text = |package: &toml::Value, key: &str| {
        package
            .get(key)
            .and_then(toml::Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    Ok(packages
        .iter()
        .map(|package| (text(package, "name"), text(package, "version")))
        .collect())
}

pub(crate) fn added(before: &Locked, after: &Locked) -> Vec<String> {
    let new = after
        .difference(before)
        .filter(|(name, _)| name != "rayon-core");
    new.map(|(name, version)| format!("{name} {version}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Locked, added};

    fn lock(packages: &[(&str, &str)]) -> Locked {
        packages
            .iter()
            .map(|&(name, version)| (name.to_owned(), version.to_owned()))
            .collect()
    }

    #[test]
    fn another_version_of_rayon_core_is_not_added_and_of_any_other_package_is() {
        let before = lock(&[("either", "1.0.0"), ("rayon-core", "1.13.0")]);
        let fork = ("rayon-core", "1.13.90");
        assert!(added(&before, &lock(&[("either", "1.0.0"), fork])).is_empty());
        for (grown, told) in [
            (
                lock(&[("either", "1.0.0"), ("loom", "0.7.2"), fork]),
                "loom 0.7.2",
            ),
            (lock(&[("either", "1.1.0"), fork]), "either 1.1.0"),
            (
                lock(&[("either", "0.9.0"), ("either", "1.0.0"), fork]),
                "either 0.9.0",
            ),
        ] {
            assert_eq!(added(&before, &grown), [told]);
        }
    }
}
