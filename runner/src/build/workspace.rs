//! The Cargo workspace that links the workloads to one branch's rayon-core. Each branch has its own
//! workspace, because two rayon-cores cannot share a binary, and a patch is a property of a
//! workspace. The runner writes the workspace from `branches.toml`, the checkout's release profile
//! and its lock file.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use protocol::MachineRequest;
use serde::Deserialize;
use serde_json::json;
use toml::{Table, Value};

use crate::build::rewriting::Rewritten;
use crate::config::catalogue::Programs;
use crate::config::checkout::Checkout;
use crate::config::{Branch, Source, git};
use crate::system::digest::{self, Id};
use crate::system::whole_file::{self, write_if_changed};

/// The option of LLVM's linker that shuffles sections; a seed gives the same order on every
/// machine.
pub(super) const SHUFFLE: &str = "--shuffle-sections";

const WORKLOADS: &str = "workloads";
const SERVICES: &str = "workloads/services";
pub(super) const WHOLE: &str = "workloads/programs";

pub(super) const WHOLE_TABLE: &str = "whole.json";

#[derive(Debug)]
pub(super) struct Recipe<'a> {
    pub checkout: &'a Checkout,
    pub config_folder: &'a Path,
    pub layouts: u32,
    pub programs: Programs,
    pub edited: PathBuf,
    /// The simulated machine on which builds name their variant; `None` for builds that run on
    /// hosts.
    pub machine: Option<MachineRequest>,
}

impl Recipe<'_> {
    pub(super) fn is_simulated(&self) -> bool {
        self.machine.is_some()
    }

    pub(super) fn package(branch: &str) -> String {
        format!("branch-{branch}")
    }

    /// The name of a branch's binary in link order `layout`: 0 is the linker's own order; other
    /// numbers are seeds of shuffled orders.
    pub(super) fn binary(branch: &str, layout: u32) -> String {
        match layout {
            0 => Self::package(branch),
            seed => format!("{}-layout-{seed}", Self::package(branch)),
        }
    }

    /// Returns the seeds of a branch's shuffled link orders: none for an instrumented or simulated
    /// build, which is not timed on a host.
    pub(super) fn layouts_of(&self, source: &Source) -> std::ops::RangeInclusive<u32> {
        1..=if source.is_instrumented() || self.is_simulated() {
            0
        } else {
            self.layouts
        }
    }

    pub(super) fn folder(&self, source: &Source) -> Option<PathBuf> {
        match source {
            Source::Fork { .. } => Some(self.checkout.root().join("rayon-fork")),
            Source::Path { path, .. } => Some(self.config_folder.join(path)),
            Source::Edited { .. } => Some(
                self.edited
                    .join(Id::of(source).to_string())
                    .join("rayon-core"),
            ),
            Source::Published { .. } | Source::Git { .. } => None,
        }
    }

    /// Writes the workspace in `folder`, which uses the `rewritten` crates in place of their
    /// originals. A file that already has the right content keeps its time stamp, so that cargo
    /// rebuilds only what changed.
    pub(super) fn write(
        &self,
        branch: &Branch,
        folder: &Path,
        rewritten: &[Rewritten],
    ) -> Result<()> {
        fs::create_dir_all(folder.join("src"))
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        let root_lock = self.lock()?;
        let manifest = format!(
            "# Written by `cargo runner`; changes here are overwritten.\n{}",
            self.manifest(branch, rewritten)?
        );
        let mut program = main_program(&branch.source, self.programs);
        if self.is_simulated() {
            program.push_str(SIMULATED_HEAP);
        }
        write_if_changed(&folder.join("src/main.rs"), &program)?;
        let shuffle = folder.join("build.rs");
        if !self.layouts_of(&branch.source).is_empty() {
            write_if_changed(&shuffle, self.shuffling_program(branch))?;
        } else if shuffle.exists() {
            fs::remove_file(&shuffle)
                .with_context(|| format!("{} cannot be removed", shuffle.display()))?;
        }
        let is_new_manifest = write_if_changed(&folder.join("Cargo.toml"), &manifest)?;
        // Cargo adapts the copied lock file to this workspace. Copying the file again for each
        // build would make cargo query the registry each time.
        let stamp = digest::of_bytes(root_lock.as_bytes());
        let is_new_lock = write_if_changed(&folder.join("root-lock.sha256"), &stamp)?;
        let lock = folder.join("Cargo.lock");
        if is_new_manifest || is_new_lock || !lock.exists() {
            fs::write(&lock, root_lock)
                .with_context(|| format!("{} cannot be written", lock.display()))?;
        }
        Ok(())
    }

    /// Returns the checkout's lock file, from which cargo starts. Cargo adds the packages that only
    /// the branch's rayon-core needs.
    pub(super) fn lock(&self) -> Result<String> {
        Ok(whole_file::text_of_checkout(
            self.checkout.root(),
            "Cargo.lock",
        )?)
    }

    pub(super) fn programs(&self) -> (&'static str, &'static str, &'static [&'static str]) {
        match self.programs {
            Programs::Study => ("workloads", WORKLOADS, &[]),
            Programs::Workloads => ("workloads", WORKLOADS, &["further"]),
            Programs::Services => ("services", SERVICES, &[]),
            Programs::Whole(_) => ("programs", WHOLE, &[]),
        }
    }

    pub(super) fn manifest(&self, branch: &Branch, rewritten: &[Rewritten]) -> Result<String> {
        let root = self.checkout.root();
        let version = match &branch.source {
            Source::Published { version } => format!("={version}"),
            // The patch chooses the version; a check before the build shows whether cargo uses the
            // patch.
            _ => "1".to_owned(),
        };
        let (package, folder, features) = self.programs();
        let is_programs = |it: &&Rewritten| it.name == package;
        let copy = rewritten.iter().find(is_programs);
        let mut manifest = json!({
            "workspace": { "resolver": "3" },
            "package": {
                "name": Self::package(&branch.name),
                "version": "0.0.0",
                "edition": "2024",
                "publish": false,
            },
            "dependencies": {
                // The default features include the workloads' command line. A measured binary needs
                // no command line, because the runner sends it requests.
                "workloads": {
                    "package": package,
                    "path": copy.map_or_else(|| root.join(folder), |it| it.folder.clone()),
                    "default-features": false,
                    "features": features,
                },
                "rayon-core": { "version": version, "features": branch.source.features() },
            },
            "profile": { "release": self.profile()? },
        });
        if self.is_simulated() {
            manifest["dependencies"]["manycore"] = json!({ "path": root.join("manycore") });
        }
        let patch = match (&branch.source, self.folder(&branch.source)) {
            (_, Some(folder)) => Some(json!({ "path": folder })),
            (Source::Git { url, rev, .. }, None) => {
                Some(json!({ "git": git::address(url, self.config_folder), "rev": rev }))
            }
            (_, None) => None,
        };
        let pool = rewritten.iter().filter(|it| !is_programs(it));
        for (name, patch) in pool.map(Rewritten::patch) {
            manifest["patch"]["crates-io"][name] = serde_json::to_value(patch)?;
        }
        if let Some(patch) = patch.filter(|_| rewritten.is_empty()) {
            manifest["patch"]["crates-io"]["rayon-core"] = patch;
        }
        let layouts = std::iter::once(0).chain(self.layouts_of(&branch.source));
        let binary =
            |layout| json!({ "name": Self::binary(&branch.name, layout), "path": "src/main.rs" });
        manifest["bin"] = layouts.map(binary).collect();
        toml::to_string(&manifest).context("the branch's Cargo.toml cannot be written as TOML")
    }

    /// A build script that makes the linker shuffle the functions of each link order. The addresses
    /// of functions decide which of them share predictor entries and cache sets. This alone changes
    /// the speed of equal builds by some per cent.
    fn shuffling_program(&self, branch: &Branch) -> String {
        let line = |seed| {
            let binary = Self::binary(&branch.name, seed);
            let flag = shuffling(seed);
            format!("    println!(\"cargo::rustc-link-arg-bin={binary}={flag}\");\n")
        };
        let lines: String = self.layouts_of(&branch.source).map(line).collect();
        format!(
            "// Written by `cargo runner`; changes here are overwritten.\n\
             fn main() {{\n    println!(\"cargo::rerun-if-changed=build.rs\");\n{lines}}}\n"
        )
    }

    pub(super) fn profile(&self) -> Result<Table> {
        let text = whole_file::text_of_checkout(self.checkout.root(), "Cargo.toml")?;
        let manifest: Table =
            toml::from_str(&text).context("the checkout's Cargo.toml is not TOML")?;
        let release = manifest.get("profile").and_then(|it| it.get("release"));
        let release = release.and_then(Value::as_table).cloned();
        Ok(release.unwrap_or_default())
    }
}

pub(super) fn shuffling(seed: u32) -> String {
    format!("-Wl,{SHUFFLE}=.text*={seed}")
}

const INSTRUMENTED_PROGRAM: &str = include_str!("../../templates/instrumented_program.rs");

/// An addition for programs on simulated machines: a heap that decides which objects share a line
/// of memory.
const SIMULATED_HEAP: &str =
    "\n#[global_allocator]\nstatic HEAP: manycore::Heap = manycore::Heap;\n";

fn main_program(source: &Source, programs: Programs) -> String {
    if source.is_instrumented() {
        return INSTRUMENTED_PROGRAM.to_owned();
    }
    let variant = match source {
        Source::Fork { .. } => "rayon_core::rayon_fork_variant()",
        // Other sources cannot name their variant; the runner checks the version that cargo
        // resolved. The import of rayon-core keeps the dependency in use, which selects the
        // features.
        _ => "\"upstream\"",
    };
    let whole = match programs {
        Programs::Whole(_) => format!(", env!(\"CARGO_BIN_NAME\"), include_str!({WHOLE_TABLE:?})"),
        _ => String::new(),
    };
    format!(
        "// Written by `cargo runner`; changes here are overwritten.\n\
         use rayon_core as _;\n\n\
         fn main() -> std::process::ExitCode {{\n    workloads::main({variant}{whole})\n}}\n"
    )
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    source: Option<String>,
}

/// Returns the packages, each as `name version`, that both lock files name, but whose version only
/// the branch's has. Leaves out packages of a path, and rayon-core, whose versions are under
/// comparison.
pub(super) fn strayed_from_lock(lock: &str, branch_lock: &Path) -> Result<Vec<String>> {
    let branch_text = fs::read_to_string(branch_lock)
        .with_context(|| format!("{} cannot be read", branch_lock.display()))?;
    let parse = |text: &str| {
        toml::from_str::<Lock>(text)
            .with_context(|| format!("{} is not a lock file", branch_lock.display()))
    };
    let mut known: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for Locked { name, version, .. } in parse(lock)?.package {
        known.entry(name).or_default().insert(version);
    }
    let mut packages = parse(&branch_text)?.package;
    packages.retain(
        |Locked {
             name,
             version,
             source,
         }| {
            let is_known = known
                .get(name)
                .is_none_or(|versions| versions.contains(version));
            source.is_some() && name != "rayon-core" && !is_known
        },
    );
    let name = |it: Locked| format!("{} {}", it.name, it.version);
    Ok(packages.into_iter().map(name).collect())
}

/// Returns a lock file without its entry of rayon-core. Cargo then chooses the version of
/// rayon-core again, so that a patch may have another version.
pub(super) fn freed(lock: &str) -> String {
    const HEAD: &str = "[[package]]\n";
    let mut parts: Vec<&str> = lock.split(HEAD).collect();
    parts.retain(|it| !it.starts_with("name = \"rayon-core\"\n"));
    parts.join(HEAD)
}
