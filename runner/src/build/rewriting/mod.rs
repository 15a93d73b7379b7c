//! Rewrites the crates of a branch's pool, and the workloads' programs, so that they run on
//! simulated machines. The copies lie below `target/`.

pub(crate) mod places;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{
    Dependency, DependencyKind, Metadata, Package, PackageId, Target, TargetKind,
};
use serde_json::{Value, json};

use crate::build::edits::copy_folder;
use crate::stop::Stop;
use crate::system::digest::Id;
use crate::system::whole_file::files_below;

/// Folder of the copies. The compiler and the simulator name files of copies by paths that begin
/// with this name; `places` removes it.
pub const FOLDER: &str = "rewritten";

const ROOTS: [&str; 2] = ["rayon", "rayon-core"];

const POOL: &str = "rayon-core";

/// The folder of the programs in a crate of workloads. The rest of the crate is not rewritten,
/// because that rest runs on the host.
const PROGRAMS: &str = "src/kinds";

const FACADE: &str = "cores-std";

/// A crate of system calls. The facade [`FACADE`] has the calls of this crate that a simulated
/// machine implements.
const ANSWERED: &str = "rustix";

/// Crates of system calls that a simulated machine does not implement.
const SYSTEM: [&str; 9] = [
    "core_affinity",
    "hwloc",
    "hwlocality",
    "libc",
    "linux-raw-sys",
    "mio",
    "nix",
    "parking_lot_core",
    "windows-sys",
];

/// A crate that was copied and rewritten.
#[derive(Clone, Debug)]
pub struct Rewritten {
    /// The crate's name.
    pub name: String,
    /// The folder of the copy.
    pub folder: PathBuf,
    version: String,
}

impl Rewritten {
    /// The entry by which a workspace uses the copy in place of the original.
    #[must_use]
    pub fn patch(&self) -> (String, toml::Value) {
        let patch = [
            ("package", self.name.clone()),
            ("path", self.folder.display().to_string()),
        ];
        (
            format!("{}-{}", self.name, self.version.replace(['.', '+'], "_")),
            toml::Value::from(BTreeMap::from(patch)),
        )
    }
}

/// Copies and rewrites the crates of `metadata` that a pool consists of. `below` is the folder for
/// the copies. `facade` is the folder of the crate that replaces their standard library.
///
/// # Errors
/// [`Stop::BadInput`] with file, line and remedy for code that cannot be rewritten.
pub fn rewrite(metadata: &Metadata, below: &Path, facade: &Path) -> Result<Vec<Rewritten>> {
    copies(&pool(metadata)?, Path::new(""), below, facade)
}

pub(crate) fn rewrite_programs(
    name: &str,
    metadata: &Metadata,
    below: &Path,
    facade: &Path,
) -> Result<Vec<Rewritten>> {
    let packages = metadata.packages.iter();
    let packages: Vec<_> = packages.filter(|package| package.name == name).collect();
    copies(&packages, Path::new(PROGRAMS), below, facade)
}

fn copies(
    packages: &[&Package],
    inside: &Path,
    below: &Path,
    facade: &Path,
) -> Result<Vec<Rewritten>> {
    let copies: BTreeMap<&Path, PathBuf> = packages
        .iter()
        .map(|package| (folder_of(package), copy_of(package, below)))
        .collect();
    for package in packages {
        let copy = &copies[folder_of(package)];
        let manifest = manifest(package, &copies, facade)?;
        let texts = texts(package, inside)?;
        let new_text = |file: &Path| {
            if file == Path::new("Cargo.toml") {
                return Some(manifest.clone().into_bytes());
            }
            texts.get(file).cloned().map(String::into_bytes)
        };
        copy_folder(folder_of(package), copy, new_text)
            .with_context(|| format!("{} cannot be rewritten", folder_of(package).display()))?;
    }
    let rewritten = packages.iter().map(|package| Rewritten {
        name: package.name.to_string(),
        folder: copies[folder_of(package)].clone(),
        version: package.version.to_string(),
    });
    Ok(rewritten.collect())
}

pub(super) fn folder_of(package: &Package) -> &Path {
    let folder = package.manifest_path.as_std_path().parent();
    folder.unwrap_or(Path::new(""))
}

/// All branches share the copies of published crates. Crates that are not published may share a
/// name and a version, so the paths of their copies contain a hash of the original folder.
fn copy_of(package: &Package, below: &Path) -> PathBuf {
    match &package.source {
        Some(source) if source.is_crates_io() => below
            .join("registry")
            .join(format!("{}-{}", package.name, package.version)),
        _ => {
            let place = Id::of(&folder_of(package).display().to_string()).to_string();
            let name = folder_of(package)
                .file_name()
                .unwrap_or(package.name.as_str().as_ref());
            below.join(&place[..12]).join(name)
        }
    }
}

fn pool(metadata: &Metadata) -> Result<Vec<&Package>> {
    let nodes = metadata.resolve.as_ref().map_or(&[][..], |it| &it.nodes);
    let all = metadata.packages.iter();
    let roots = all.filter(|package| ROOTS.contains(&package.name.as_str()));
    let mut names: Vec<&PackageId> = roots.map(|package| &package.id).collect();
    let mut known = BTreeSet::new();
    let mut packages = Vec::new();
    while let Some(id) = names.pop() {
        if !known.insert(id) {
            continue;
        }
        let package = &metadata[id];
        let is_macro = |target: &Target| target.kind.contains(&TargetKind::ProcMacro);
        if package.targets.iter().any(is_macro) {
            continue;
        }
        packages.push(package);
        let own = nodes.iter().filter(|node| node.id == *id);
        for dependency in own.flat_map(|node| &node.deps) {
            let mut kinds = dependency.dep_kinds.iter();
            if !kinds.any(|it| it.kind == DependencyKind::Normal) {
                continue;
            }
            let name = metadata[&dependency.pkg].name.as_str();
            if SYSTEM.contains(&name) {
                bail!(Stop::BadInput(format!(
                    "{}: depends on {name}, which calls this host's system and not the simulated machine; leave it out \
                     there: move it to `[target.'cfg(not(manycore))'.dependencies]`, and put code that needs it behind \
                     `#[cfg(not(manycore))]`",
                    package.manifest_path
                )));
            }
            names.extend((name != ANSWERED).then_some(&dependency.pkg));
        }
    }
    packages.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(packages)
}

fn texts(package: &Package, part: &Path) -> Result<BTreeMap<PathBuf, String>> {
    let is_library = |target: &&Target| target.kind.contains(&TargetKind::Lib);
    let library = package.targets.iter().find(is_library);
    let library = library.with_context(|| format!("{} is not a library", package.name))?;
    let sources = library.src_path.as_std_path().parent();
    let sources = sources.unwrap_or(Path::new(""));
    let inside = sources.strip_prefix(folder_of(package)).map_err(|_| {
        Stop::BadInput(format!(
            "{}: the library's sources lie in {}; put them into the crate's own folder",
            package.manifest_path,
            sources.display()
        ))
    })?;
    let read = || -> io::Result<BTreeMap<PathBuf, String>> {
        let places = files_below(sources)?;
        let places = places
            .into_iter()
            .map(|file| inside.join(file))
            .filter(|it| {
                let is_source = it.extension().is_some_and(|it| it == "rs");
                is_source && it != Path::new("build.rs") && it.starts_with(part)
            });
        places
            .map(|it| fs::read_to_string(folder_of(package).join(&it)).map(|text| (it, text)))
            .collect()
    };
    let mut texts = read().with_context(|| format!("{} cannot be read", sources.display()))?;
    let fault = |file: &Path, fault: rewrite::Fault| {
        let file = folder_of(package).join(file);
        Stop::BadInput(format!("{}:{}: {}", file.display(), fault.line, fault.why))
    };
    let mut has_alloc = false;
    for (file, text) in &texts {
        has_alloc |= rewrite::has_alloc(text).map_err(|why| fault(file, why))?;
    }
    for (file, text) in &mut texts {
        *text = rewrite::rewritten(text, has_alloc).map_err(|why| fault(file, why))?;
        if package.name == POOL {
            *text = rewrite::with_own_instructions(text).map_err(|why| fault(file, why))?;
        }
    }
    Ok(texts)
}

/// The copy's `Cargo.toml`, made from cargo's data about the original, since the original may
/// inherit parts from a workspace.
fn manifest(package: &Package, copies: &BTreeMap<&Path, PathBuf>, facade: &Path) -> Result<String> {
    let mut manifest = json!({
        "package": { "name": package.name, "version": package.version, "edition": package.edition.as_str() },
        "dependencies": { FACADE: { "path": facade } },
    });
    if let Some(links) = &package.links {
        manifest["package"]["links"] = links.as_str().into();
    }
    for target in &package.targets {
        let path = target.src_path.as_std_path();
        let path = path.strip_prefix(folder_of(package)).unwrap_or(path);
        if target.kind.contains(&TargetKind::CustomBuild) {
            manifest["package"]["build"] = json!(path);
        } else if target.kind.contains(&TargetKind::Lib) {
            manifest["lib"] = json!({ "name": target.name, "path": path });
        }
    }
    // A build script may read this table; the fork's build script does.
    if toml::Value::try_from(&package.metadata).is_ok_and(|it| it.is_table()) {
        manifest["package"]["metadata"] = package.metadata.clone();
    }
    // The copy is not linked with the crate of system calls, so no feature of the copy may turn on
    // a feature of that crate.
    let is_answered =
        |on: &str| on.trim_start_matches("dep:").split(['?', '/']).next() == Some(ANSWERED);
    for (name, on) in &package.features {
        manifest["features"][name] = on
            .iter()
            .filter(|it| !is_answered(it))
            .map(String::as_str)
            .collect();
    }
    for dependency in package.dependencies.iter().filter(|it| it.name != ANSWERED) {
        let kind = match dependency.kind {
            DependencyKind::Normal => "dependencies",
            DependencyKind::Build => "build-dependencies",
            _ => continue,
        };
        let place = match &dependency.target {
            Some(target) => &mut manifest["target"][target.to_string()],
            None => &mut manifest,
        };
        let name = dependency.rename.as_ref().unwrap_or(&dependency.name);
        place[kind][name] = wanted(dependency, copies);
    }
    toml::to_string_pretty(&manifest).context("the copy's Cargo.toml cannot be written as TOML")
}

fn wanted(dependency: &Dependency, copies: &BTreeMap<&Path, PathBuf>) -> Value {
    let mut wanted = json!({
        "package": dependency.name,
        "version": dependency.req,
        "optional": dependency.optional,
        "default-features": dependency.uses_default_features,
        "features": dependency.features,
    });
    if let Some(path) = &dependency.path {
        wanted["path"] = json!(
            copies
                .get(path.as_std_path())
                .map_or(path.as_std_path(), PathBuf::as_path)
        );
    }
    wanted
}

#[cfg(test)]
mod tests {
    use cargo_metadata::MetadataCommand;

    use super::*;

    #[test]
    fn programs_of_workloads_are_rewritten_and_what_is_around_them_is_not() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let metadata = MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .exec()
            .unwrap();
        let below = tempfile::tempdir().unwrap();
        let facade = root.join("manycore/std");
        let copies = rewrite_programs("workloads", &metadata, below.path(), &facade).unwrap();
        let [copy] = &copies[..] else {
            panic!("{copies:?}");
        };
        let read = |folder: &Path, file| fs::read_to_string(folder.join(file)).unwrap();
        let jobs = read(&copy.folder, "src/kinds/jobs.rs");
        assert!(jobs.contains("use ::cores_std::sync::atomic::"));
        let (original, machine) = (root.join("workloads"), "src/machine_simulated.rs");
        assert_eq!(read(&copy.folder, machine), read(&original, machine));
        let manifest: toml::Table = read(&copy.folder, "Cargo.toml").parse().unwrap();
        let dependencies = manifest["dependencies"].as_table().unwrap();
        assert!(dependencies.contains_key(FACADE) && dependencies.contains_key("protocol"));
    }
}
