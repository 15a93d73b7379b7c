//! The files that people write into the checkout: branches, experiments, machines, workloads. Here
//! is `branches.toml` as used: every row checked once, so that nothing later has to doubt it.

mod branch;
pub mod catalogue;
mod check;
pub mod checkout;
mod claims;
mod fault;
mod features;
pub mod git;
pub mod pick;
pub mod spec;
mod wire;

use std::io;
use std::path::{Component, Path, PathBuf};

pub use branch::{Branch, Config, INSTRUMENT, INSTRUMENTED_SUFFIX, Source, TWIN_SUFFIX};
pub use check::parse;
pub use claims::{Claim, Expectation, Quantity};
pub use fault::ConfigError;
pub(crate) use fault::FileText;
pub use features::Features;

impl Config {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// [`ConfigError`], with file, line, key, value and remedy.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let shown = file
            .file_name()
            .unwrap_or(file.as_os_str())
            .to_string_lossy()
            .into_owned();
        let text = std::fs::read_to_string(file).map_err(|error| ConfigError {
            file: file.display().to_string(),
            line: None,
            message: format!("cannot be read: {error}; pass --config FILE if it lies elsewhere"),
        })?;
        let mut config = parse(&shown, &text)?;
        if let Ok(folder) = folder_of(file) {
            for branch in &mut config.branches {
                if let Source::Path { path, .. } | Source::Edited { edits: path, .. } =
                    &mut branch.source
                {
                    *path = seen_from(&folder, &folder, path);
                }
            }
        }
        Ok(config)
    }
}

/// The folder of a file of branches, absolute: relative paths in the file start there.
pub(crate) fn folder_of(file: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(file)?;
    // Without links, so that `..` leads to the folder above.
    absolute.parent().unwrap_or(Path::new("/")).canonicalize()
}

/// A path, typed in the folder `here`, as it is recorded: as seen from `folder`, since results tell
/// as little as possible of where things lie on a machine. Both folders are absolute.
pub(crate) fn seen_from(folder: &Path, here: &Path, typed: &Path) -> PathBuf {
    if typed.is_relative() && here == folder {
        return typed.to_owned();
    }
    let to = here.join(typed);
    let shared = folder
        .components()
        .zip(to.components())
        .take_while(|(a, b)| a == b)
        .count();
    let up = folder
        .components()
        .skip(shared)
        .map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}
