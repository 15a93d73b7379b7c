//! Writes packages below `target/`. Each package is independent, like a user's program, and has the
//! rayon-core that the task selects.

use std::path::PathBuf;

use anyhow::Result;
use runner::system::whole_file::write_if_changed;
use toml::{Table, Value};
use xshell::Shell;

use crate::fork;

pub(crate) struct Scratch<'s> {
    sh: &'s Shell,
    pub(crate) folder: PathBuf,
    pub(crate) manifest: Table,
}

#[derive(Clone, Copy)]
pub(crate) enum Core<'v> {
    /// The published rayon-core whose interface the fork has.
    Published,
    /// The fork with these features, separated by commas.
    Fork(&'v str),
}

impl Core<'_> {
    /// The value of `rayon-core =` in a manifest.
    pub(crate) fn dependency(self, sh: &Shell) -> Value {
        match self {
            Self::Published => format!("={}", fork::PUBLISHED).into(),
            Self::Fork(features) => {
                let mut fork = fork::path(sh);
                let features = features.split(',').filter(|name| !name.is_empty());
                let features: Vec<Value> = features.map(Value::from).collect();
                if !features.is_empty() {
                    fork.insert("features".to_owned(), features.into());
                }
                fork.into()
            }
        }
    }
}

impl<'s> Scratch<'s> {
    /// A package for the folder `target/PLACE`, which [`Self::write`] makes. Its manifest has a
    /// name, a workspace of its own, and `more`.
    pub(crate) fn new(sh: &'s Shell, place: &str, more: Table) -> Self {
        let mut manifest = toml::toml! {
            package = { name = "scratch", version = "0.0.0", edition = "2021" }
            workspace = {}
        };
        for (key, value) in more {
            match (manifest.get_mut(&key), value) {
                (Some(Value::Table(there)), Value::Table(more)) => there.extend(more),
                (_, value) => drop(manifest.insert(key, value)),
            }
        }
        Self {
            sh,
            folder: sh.current_dir().join("target").join(place),
            manifest,
        }
    }

    pub(crate) fn on(mut self, core: Core<'_>) -> Self {
        let core = core.dependency(self.sh);
        let dependencies = self
            .manifest
            .entry("dependencies")
            .or_insert_with(|| Table::new().into());
        if let Value::Table(dependencies) = dependencies {
            dependencies.insert("rayon-core".to_owned(), core);
        }
        self
    }

    pub(crate) fn write(&self) -> Result<()> {
        self.file("Cargo.toml", &toml::to_string(&self.manifest)?)
    }

    /// Writes one of the package's files, unless the file already has this text: Cargo recompiles
    /// each file that was written.
    pub(crate) fn file(&self, name: &str, text: &str) -> Result<()> {
        let file = self.folder.join(name);
        self.sh.create_dir(file.parent().unwrap_or(&self.folder))?;
        write_if_changed(&file, text).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::{Core, Scratch};
    use crate::fork;
    use crate::shell::at_root;

    #[test]
    fn a_package_has_a_workspace_of_its_own_and_the_core_that_it_was_given() {
        let sh = at_root().unwrap();
        let more = toml::toml! {
            package = { edition = "2024" }
            dependencies = { either = "1" }
        };
        let scratch = Scratch::new(&sh, "place", more).on(Core::Fork("split,no-jec"));
        let path = fork::folder(&sh).display().to_string();
        let mut expected = toml::toml! {
            package = { name = "scratch", version = "0.0.0", edition = "2024" }
            workspace = {}
            dependencies = { either = "1", rayon-core = { features = ["split", "no-jec"] } }
        };
        expected["dependencies"]["rayon-core"]
            .as_table_mut()
            .unwrap()
            .insert("path".to_owned(), path.into());
        assert_eq!(scratch.manifest, expected);
        let scratch = scratch.on(Core::Published);
        assert_eq!(
            scratch.manifest["dependencies"]["rayon-core"].as_str(),
            Some("=1.13.0")
        );
    }
}
