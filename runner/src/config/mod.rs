//! `branches.toml`, read and checked; the list of workloads; the places of files in the checkout.

pub mod catalogue;
mod check;
pub mod checkout;
mod features;
pub(crate) mod git;
pub mod pick;
pub(crate) mod spec;

use std::collections::BTreeSet;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::config::pick::{Known, hint, pick_grouped, plain};
use crate::system::whole_file;

pub use check::parse;
pub use features::Features;

/// Suffix of the baseline's A/A control.
pub const TWIN_SUFFIX: &str = "-again";
/// Suffix of a branch's instrumented build.
pub const INSTRUMENTED_SUFFIX: &str = "-instrumented";

/// The branches of one file, in the order of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// All rows; exactly one is the baseline.
    pub branches: Vec<Branch>,
}

impl Config {
    /// Picks branches by their names and groups, in the order of the file.
    ///
    /// # Errors
    /// The errors of [`pick::pick`].
    pub fn pick(&self, field: &str, list: &str) -> anyhow::Result<Vec<&str>> {
        let known = self.branches.iter().map(|it| Known {
            name: &it.name,
            group: it.group.as_deref(),
        });
        let known: Vec<Known<'_>> = known.collect();
        pick_grouped(field, "branch", list, &known)
    }

    pub(crate) fn baseline(&self) -> &Branch {
        self.branches
            .iter()
            .find(|branch| branch.baseline)
            .expect("checked when parsed")
    }
}

/// A build under comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// Name in tables, records and folders.
    pub name: String,
    /// The source of the branch's rayon-core.
    pub source: Source,
    /// Whether the other branches are compared with this branch.
    pub baseline: bool,
    /// The group by which users pick the branch. `all` picks the branches without a group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The hypothesis of the branch's author, in prose; may be empty.
    pub hypothesis: String,
    /// The branch's hypotheses in a form that the analysis tests; may be empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub claims: Vec<Claim>,
    /// The argument of the command line that names the branch, for messages.
    #[serde(skip)]
    pub typed: Option<String>,
}

/// The fork's feature that counts events. No row may name this feature, because a build that counts
/// events is not timed.
pub const INSTRUMENT: &str = "instrument";

impl Branch {
    pub(crate) fn new(name: String, source: Source) -> Self {
        Self {
            name,
            source,
            baseline: false,
            group: None,
            hypothesis: String::new(),
            claims: Vec::new(),
            typed: None,
        }
    }

    /// Returns the branch as a build that counts events; `None` unless the branch's source is the
    /// fork.
    #[must_use]
    pub fn instrumented(&self) -> Option<Self> {
        let Source::Fork { features } = &self.source else {
            return None;
        };
        let mut features = features.clone();
        features.insert(INSTRUMENT.to_owned());
        let name = format!("{}{INSTRUMENTED_SUFFIX}", self.name);
        Some(Self::new(name, Source::Fork { features }))
    }

    /// The branch's name in messages: the argument that the user typed, if any, otherwise the name.
    pub(crate) fn called(&self) -> String {
        self.typed.as_ref().map_or_else(
            || format!("branch `{}`", self.name),
            |typed| format!("`{typed}`"),
        )
    }
}

/// The source of a branch's rayon-core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Source {
    /// A release on crates.io, unchanged.
    Published {
        /// Exact version, for example `1.13.0`.
        version: String,
    },
    /// A release on crates.io with edits.
    Edited {
        /// Exact version.
        version: String,
        /// The file of edits, relative to the folder of `branches.toml`.
        edits: PathBuf,
    },
    /// The scheduler in `rayon-fork/`.
    Fork {
        /// The fork's features to switch on; without any, the variant is `packed`.
        features: BTreeSet<String>,
    },
    /// A working tree.
    Path {
        /// The folder of the tree's `Cargo.toml`, relative to the folder of `branches.toml`.
        path: PathBuf,
        /// Features to switch on.
        features: BTreeSet<String>,
    },
    /// A commit of a Git repository.
    Git {
        /// Address, or the path of a repository, relative to the folder of `branches.toml`.
        url: String,
        /// Commit.
        rev: String,
        /// Features to switch on.
        features: BTreeSet<String>,
    },
}

impl Source {
    /// Whether builds of this source count events, so that their times mean nothing.
    pub(crate) fn is_instrumented(&self) -> bool {
        matches!(self, Self::Fork { features } if features.contains(INSTRUMENT))
    }

    /// The features that the row requests.
    #[must_use]
    pub fn features(&self) -> BTreeSet<String> {
        match self {
            Self::Published { .. } | Self::Edited { .. } => BTreeSet::new(),
            Self::Fork { features } | Self::Path { features, .. } | Self::Git { features, .. } => {
                features.clone()
            }
        }
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Published { version } => write!(f, "rayon-core {version} as published")?,
            Self::Edited { version, edits } => {
                write!(f, "rayon-core {version} with {}", edits.display())?;
            }
            Self::Fork { .. } => write!(f, "rayon-fork")?,
            Self::Path { path, .. } => write!(f, "{}", path.display())?,
            Self::Git { url, rev, .. } => write!(f, "{url} at {rev}")?,
        }
        let features: Vec<String> = self.features().into_iter().collect();
        if features.is_empty() {
            Ok(())
        } else {
            write!(f, " with {}", features.join(", "))
        }
    }
}

/// A pre-registered hypothesis that trials can confirm, falsify or leave open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The expected result of the comparison.
    pub expect: Expectation,
    /// The other branch of the comparison; `None` means the baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The workloads of the hypothesis; empty means all that were measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
    /// The thread counts of the hypothesis, for example `16..=cpus`, whose words the analysis
    /// resolves. `None` means all thread counts that were measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<String>,
    /// The quantity that is compared.
    #[serde(default, alias = "figure")]
    pub quantity: Quantity,
}

/// The results that a hypothesis may expect for a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Expectation {
    /// The quantity is less than that of the other branch.
    Faster,
    /// The quantity is more than that of the other branch.
    Slower,
    /// The two quantities are equivalent, within a margin that the analysis sets.
    Equal,
    /// The branch is equal or slower.
    NoFaster,
    /// The branch is equal or faster.
    NoSlower,
}

/// The quantity that is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Wall time per unit of work.
    #[default]
    Time,
    /// CPU time per unit of work.
    Cpu,
}

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
        let text = whole_file::read_text(file).map_err(|error| ConfigError {
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

/// Returns the absolute folder of a file of branches. Relative paths in the file start from this
/// folder.
pub(crate) fn folder_of(file: &Path) -> io::Result<PathBuf> {
    let absolute = std::path::absolute(file)?;
    // Links are resolved, so that `..` leads to the folder above.
    absolute.parent().unwrap_or(Path::new("/")).canonicalize()
}

/// Returns a path that was typed in the folder `here` as a path relative to `folder`, so that
/// results reveal little of a machine's paths. Both folders are absolute.
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

/// A fault in a file of the checkout such as `branches.toml`: its place, the reason, and the
/// remedy.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}{}: {message}", .line.map(|line| format!(":{line}")).unwrap_or_default())]
pub struct ConfigError {
    /// The name of the file.
    pub file: String,
    /// 1-based line; `None` if the file cannot be read.
    pub line: Option<usize>,
    /// The message: row, key, value and remedy, as far as the fault has them.
    pub message: String,
}

impl ConfigError {
    pub(crate) fn of_parser(file: &str, text: &str, error: &toml::de::Error) -> Self {
        let offset = error.span().unwrap_or_default().start;
        let said = plain(error.message());
        let mut words = error.message().split('`').skip(1).step_by(2);
        let hint = match words.next() {
            Some(unknown) if said.starts_with("unknown key") => hint(unknown, words),
            _ => String::new(),
        };
        FileText { file, text }.at(offset, said.replacen("; ", &format!("; {hint}"), 1))
    }
}

pub(crate) struct FileText<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
}

impl FileText<'_> {
    pub(crate) fn at(&self, offset: usize, message: String) -> ConfigError {
        let before = &self.text[..offset.min(self.text.len())];
        ConfigError {
            file: self.file.to_owned(),
            line: Some(1 + before.matches('\n').count()),
            message,
        }
    }
}
