//! Packages of whole programs. Finds the program that `compare --program` names. Copies each whole
//! program's package for each branch, with the branch's rayon-core.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, Node, Package};
use protocol::WholeProgram;
use toml::{Table, Value};

use crate::build::edits::copy_folder;
use crate::build::workspace::{Recipe, freed};
use crate::config::{Branch, Features, catalogue};
use crate::stop::Stop;
use crate::system::{digest, subprocess};

pub(super) const OF_USER: &str = "user";

const LISTED: &str = "programs";

const STDERR_LINES: usize = 10;

/// Finds the program that `--program`, `--bin` and the words after `--` name. If there is no such
/// program, the error says what the folder lacks, or which binaries it has.
pub(crate) fn find(
    typed: &Path,
    binary: Option<&str>,
    arguments: &[String],
) -> Result<WholeProgram> {
    let shown = format!("--program {}", typed.display());
    let bad = |why: String| Stop::BadInput(format!("{shown}: {why}"));
    let folder = typed
        .canonicalize()
        .map_err(|error| bad(format!("{error}; name the folder of a Cargo package")))?;
    let manifest = folder.join("Cargo.toml");
    if !manifest.is_file() {
        bail!(bad(
            "there is no Cargo.toml; name the folder of a Cargo package".to_owned()
        ));
    }
    let metadata = described(&folder).map_err(|why| bad(format!("{why:#}")))?;
    let is_here = |it: &&Package| it.manifest_path.as_std_path() == manifest;
    let own: Vec<&Package> = metadata.packages.iter().filter(is_here).collect();
    let among = if own.is_empty() {
        metadata.packages.iter().collect()
    } else {
        own
    };
    let (package, binary) = pick(&among, binary).map_err(bad)?;
    let is_taken = catalogue::find(&binary).is_some();
    let name = format!("{}{binary}", if is_taken { "my-" } else { "" });
    let home = package
        .manifest_path
        .parent()
        .context("the manifest's path has no parent folder")?;
    Ok(WholeProgram::of_user(
        name,
        package.name.to_string(),
        binary,
        home.as_std_path().to_owned(),
        arguments.to_vec(),
    ))
}

fn pick<'p>(among: &[&'p Package], wanted: Option<&str>) -> Result<(&'p Package, String), String> {
    let binaries = |package: &'p Package| {
        let targets = package.targets.iter().filter(|it| it.is_bin());
        targets.map(move |it| (package, it.name.clone()))
    };
    let all: Vec<(&Package, String)> = among.iter().copied().flat_map(binaries).collect();
    let names = all.iter().map(|(_, name)| format!("`{name}`"));
    let names = names.collect::<Vec<_>>().join(", ");
    if all.is_empty() {
        return Err("no package there has a binary".to_owned());
    }
    if let Some(wanted) = wanted {
        let found = all.into_iter().find(|(_, name)| name == wanted);
        return found.ok_or_else(|| format!("no binary `{wanted}`; known: {names}"));
    }
    let default = among.iter().find_map(|it| it.default_run.as_ref());
    let mut meant = all.iter().filter(|(package, name)| {
        all.len() == 1 || (package.default_run.as_ref() == Some(name) && default == Some(name))
    });
    match (meant.next(), meant.next()) {
        (Some(it), None) => Ok(it.clone()),
        _ => Err(format!("several binaries; name one by --bin: {names}")),
    }
}

/// Asks cargo about a package and its workspace, but not about dependencies, so that cargo writes
/// no lock file.
fn described(folder: &Path) -> Result<Metadata> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version=1"])
        .current_dir(folder)
        .output()
        .context("`cargo` cannot be run")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = subprocess::last_lines(&said, STDERR_LINES).unwrap_or_default();
        bail!("cargo cannot read the package:\n{said}");
    }
    serde_json::from_slice(&output.stdout)
        .context("the output of `cargo metadata` is not in a form that this runner can read")
}

/// The folders that a program is built from: its workspace, and the workspaces of path dependencies
/// beside it.
#[derive(Debug, PartialEq, Eq)]
struct Tree {
    base: PathBuf,
    workspace: PathBuf,
    parts: Vec<PathBuf>,
}

impl Tree {
    fn of(home: &Path) -> Result<Self> {
        let first = described(home)?;
        let workspace = first.workspace_root.as_std_path().to_owned();
        let mut roots = vec![workspace.clone()];
        let mut left = vec![first];
        while let Some(metadata) = left.pop() {
            let dependencies = metadata.packages.iter().flat_map(|it| &it.dependencies);
            for folder in dependencies.filter_map(|it| it.path.as_ref()) {
                let folder = folder.as_std_path();
                if !roots.iter().any(|root| folder.starts_with(root)) {
                    let further = described(folder)?;
                    roots.push(further.workspace_root.as_std_path().to_owned());
                    left.push(further);
                }
            }
        }
        roots.sort();
        let holds_all = |folder: &&Path| roots.iter().all(|root| root.starts_with(folder));
        let base = workspace.ancestors().find(holds_all).unwrap_or(&workspace);
        let seen = |root: &Path| root.strip_prefix(base).map(Path::to_owned);
        Ok(Self {
            workspace: seen(&workspace)?,
            parts: roots
                .iter()
                .map(|root| seen(root))
                .collect::<Result<_, _>>()?,
            base: base.to_owned(),
        })
    }
}

pub(super) struct Copied {
    pub(super) folder: PathBuf,
    pub(super) is_direct: bool,
}

/// Copies the package of a program from `home` for a branch, and makes the copy use the branch's
/// rayon-core.
pub(super) fn copy(
    recipe: &Recipe<'_>,
    folder: &Path,
    branch: &Branch,
    program: &WholeProgram,
    home: &Path,
) -> Result<Copied> {
    let tree = Tree::of(home)?;
    let place = digest::of_bytes(tree.base.as_os_str().as_encoded_bytes());
    let kind = match program.folder {
        Some(_) => OF_USER,
        None => LISTED,
    };
    let copy = folder.join(&branch.name).join(kind);
    let copy = copy.join(format!("{}-{}", program.name, &place[..8]));
    let root = tree.base.join(&tree.workspace);
    let lock = fs::read_to_string(root.join("Cargo.lock")).ok();
    let package = home.strip_prefix(&tree.base)?.join("Cargo.toml");
    let workspace = tree.workspace.join("Cargo.toml");
    let mut manifests = vec![package.clone(), workspace.clone()];
    manifests.dedup();
    let ours: Table = recipe.manifest(branch, &[])?.parse()?;
    let mut texts: Vec<(PathBuf, String)> = Vec::new();
    let mut is_direct = false;
    for place in manifests {
        let file = tree.base.join(&place);
        let text = fs::read_to_string(&file)
            .with_context(|| format!("{} cannot be read", file.display()))?;
        let mut manifest: Table = text.parse()?;
        if place == package {
            is_direct = depend(&ours, &mut manifest);
        }
        if place == workspace {
            patch(&ours, &mut manifest);
            // Without this table, cargo would take a package that has no workspace for a member of
            // the checkout's workspace.
            let own = manifest.entry("workspace");
            own.or_insert_with(|| Table::new().into());
        }
        let stamp = digest::of_bytes(lock.as_deref().unwrap_or_default().as_bytes());
        let text = format!(
            "# Written by `cargo runner` beside the lock file {stamp}.\n{}",
            toml::to_string(&manifest)?
        );
        texts.push((place, text));
    }
    // Cargo adapts the copied lock file. The adapted file is kept while the manifests do not
    // change.
    let is_adapted = texts.iter().all(|(place, text)| {
        fs::read_to_string(copy.join(place)).is_ok_and(|earlier| earlier == *text)
    });
    let copied_lock = tree.workspace.join("Cargo.lock");
    let adapted = is_adapted
        .then(|| fs::read_to_string(copy.join(&copied_lock)).ok())
        .flatten();
    let new_lock = adapted.or_else(|| lock.as_deref().map(freed));
    for part in &tree.parts {
        let new_text = |file: &Path| {
            let file = part.join(file);
            let is_it = |(place, _): &&(PathBuf, String)| *place == file;
            let manifest = texts.iter().find(is_it).map(|(_, text)| text);
            let lock = new_lock.as_ref().filter(|_| file == copied_lock);
            manifest.or(lock).map(|text| text.clone().into_bytes())
        };
        copy_folder(&tree.base.join(part), &copy.join(part), new_text)?;
    }
    Ok(Copied {
        folder: copy.join(package.parent().unwrap_or(Path::new(""))),
        is_direct,
    })
}

/// Makes a package depend on the rayon-core of `ours`, the manifest of a branch. Removes features
/// of rayon-core that choose a variant of the fork, since the program also runs on pools that do
/// not have these features. Returns whether the package itself named rayon-core.
fn depend(ours: &Table, manifest: &mut Table) -> bool {
    let ours = &ours["dependencies"]["rayon-core"];
    let dependencies = manifest
        .entry("dependencies")
        .or_insert_with(|| Table::new().into());
    let Some(dependencies) = dependencies.as_table_mut() else {
        return false;
    };
    let own = dependencies.get("rayon-core").cloned();
    let mut merged = ours.as_table().cloned().unwrap_or_default();
    if let Some(own) = own.as_ref().and_then(Value::as_table) {
        let features = |it: &Table| {
            let listed = it.get("features").and_then(Value::as_array).cloned();
            listed.unwrap_or_default()
        };
        let variants = &Features::of_the_fork().names;
        let is_variant = |it: &Value| {
            let name = it.as_str();
            name.is_some_and(|it| it == "champion" || variants.contains(it))
        };
        let mut all = features(&merged);
        all.extend(features(own).into_iter().filter(|it| !is_variant(it)));
        merged.insert("features".to_owned(), all.into());
        let kept = own.iter().filter(|(key, _)| *key == "optional");
        merged.extend(kept.map(|(key, it)| (key.clone(), it.clone())));
    }
    dependencies.insert("rayon-core".to_owned(), merged.into());
    own.is_some()
}

fn patch(ours: &Table, manifest: &mut Table) {
    let ours = ours.get("patch").and_then(|it| it.get("crates-io"));
    let ours = ours.and_then(Value::as_table).cloned().unwrap_or_default();
    let take = |from: &mut Table, key: &str| match from.remove(key) {
        Some(Value::Table(own)) => own,
        _ => Table::new(),
    };
    let mut patches = take(manifest, "patch");
    let mut of_registry = take(&mut patches, "crates-io");
    of_registry.remove("rayon-core");
    of_registry.extend(ours);
    patches.insert("crates-io".to_owned(), of_registry.into());
    manifest.insert("patch".to_owned(), patches.into());
}

pub(super) fn uses_rayon(program: &WholeProgram, is_direct: bool, metadata: &Metadata) -> bool {
    let nodes = metadata.resolve.as_ref().map_or(&[][..], |it| &it.nodes);
    let depends = |node: &&Node| {
        let mut dependencies = node.deps.iter();
        dependencies.any(|it| metadata[&it.pkg].name == "rayon-core")
    };
    let is_added = |node: &Node| {
        let package = &metadata[&node.id];
        package.source.is_none() && *package.name == program.package && !is_direct
    };
    nodes.iter().filter(depends).any(|node| !is_added(node))
}

#[cfg(test)]
#[path = "package_tests.rs"]
mod tests;
