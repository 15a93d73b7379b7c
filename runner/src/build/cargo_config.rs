//! Reads the settings of Cargo's configuration files that change code. No environment variable
//! shows such flags, and sweeps that differ in them must not be compared.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Tables that change the code or how it is linked; others may hold names and tokens.
const ABOUT_CODE: [&str; 4] = ["build", "target", "profile", "unstable"];

/// Keys of `build` that do.
const OF_BUILD: [&str; 6] = [
    "rustflags",
    "target",
    "rustc",
    "rustc-wrapper",
    "rustc-workspace-wrapper",
    "incremental",
];

/// By file, innermost first as `0 checkout`, `1 above it` …, `home`: what it says about code, as
/// TOML. Files that say nothing about it are left out.
pub(crate) fn about_code(root: &Path) -> BTreeMap<String, String> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
    let above = root.ancestors().enumerate().map(|(level, folder)| {
        let name = if level == 0 {
            "0 checkout".to_owned()
        } else {
            format!("{level} above it")
        };
        (name, folder.join(".cargo"))
    });
    let all = above.filter(|(_, folder)| Some(folder) != home.as_ref());
    all.chain(home.clone().map(|home| ("home".to_owned(), home)))
        .filter_map(|(name, folder)| Some((name, in_folder(&folder)?)))
        .collect()
}

fn in_folder(folder: &Path) -> Option<String> {
    // Cargo prefers the older name where both are there.
    let text = ["config", "config.toml"]
        .iter()
        .find_map(|it| fs::read_to_string(folder.join(it)).ok())?;
    let mut table: Table = text.parse().ok()?; // Cargo itself complains about what is no TOML
    table.retain(|name, _| ABOUT_CODE.contains(&name));
    if let Some(Value::Table(build)) = table.get_mut("build") {
        build.retain(|key, _| OF_BUILD.contains(&key));
    }
    table.retain(|_, value| value.as_table().is_none_or(|table| !table.is_empty()));
    if table.is_empty() {
        None
    } else {
        Some(toml::to_string(&table).ok()?.trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::testing::MockRoot;

    /// Returns the settings that a checkout with this configuration file has.
    fn said(config: &str) -> Option<String> {
        let root = MockRoot::new(&[(".cargo/config.toml", config)]);
        about_code(&root.host().path("")).remove("0 checkout")
    }

    #[test]
    fn flags_for_the_compiler_are_told_and_tokens_and_files_without_flags_are_not() {
        let other = "[alias]\nx = 'run'\n[registry]\ntoken = 'secret'\n[build]\njobs = 3\n";
        assert_eq!(said(other), None);
        let flags = "rustflags = ['-Ctarget-cpu=native']\n[target.x86_64-unknown-linux-gnu]\nlinker = 'clang'";
        let said = said(&format!("{other}{flags}")).unwrap();
        assert!(
            said.contains("-Ctarget-cpu=native") && said.contains("linker = \"clang\""),
            "{said}"
        );
        assert!(
            !said.contains("secret") && !said.contains("jobs") && !said.contains("alias"),
            "{said}"
        );
    }
}
