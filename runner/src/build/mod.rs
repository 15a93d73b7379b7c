//! Builds each branch from its own sources, which may be edited or rewritten: one binary, and one
//! for each shuffled link order. A binary must name its variant before the runner trusts it.

pub mod binary;
pub mod edits;
pub(crate) mod package;
pub mod rewriting;
pub(crate) mod variant;
mod whole;
mod workspace;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail};
use cargo_metadata::{Metadata, Package};
use protocol::MachineRequest;

use crate::build::edits::Edits;
use crate::build::rewriting::{folder_of, places};
use crate::build::variant::who_are_you;
use crate::build::workspace::{Recipe, SHUFFLE, WHOLE_TABLE, strayed_from_lock};
use crate::config::catalogue::Programs;
use crate::config::checkout::{Checkout, Commit, commit_of};
use crate::config::{Branch, Source};
use crate::record::manifest::{Provenance, Toolchain};
use crate::stop::Stop;
use crate::system::digest::{self, Id};
use crate::system::interrupt;
use crate::system::lock;
use crate::system::subprocess;
use crate::system::whole_file::write_if_changed;

const STDERR_LINES: usize = 40;

const MOST_AT_ONCE: usize = 4;

#[derive(Clone, Debug)]
pub(crate) struct BranchBuild {
    /// Copies of the binary that later builds do not change: one for each shuffled link order, in
    /// the order of the seeds from 1 on. Without shuffling, there is one copy, with the linker's
    /// own order.
    pub(crate) binaries: Vec<PathBuf>,
    pub(crate) receipt: Provenance,
}

#[derive(Debug)]
pub(crate) struct BuildPlan {
    package: Package,
    features: Vec<String>,
    whole: Vec<PathBuf>,
}

/// Builds branches in shared target folders, so that each folder compiles common dependencies once.
/// Cargo locks a target folder while it builds there, so a second folder lets a second CPU work.
#[derive(Debug)]
pub(crate) struct Builder<'a> {
    recipe: Recipe<'a>,
    folder: PathBuf,
    host_triple: String,
    rustc: Vec<String>,
}

impl<'a> Builder<'a> {
    /// Prepares to build branches of a file in `config_folder`, with `layouts` binaries of each
    /// branch. If `layouts` is 1, the linker keeps its own order.
    pub(crate) fn new(
        checkout: &'a Checkout,
        config_folder: &'a Path,
        layouts: u32,
    ) -> Result<Self> {
        let unfit = |why: String| {
            Stop::HostNotFit(format!(
                "{why}. Nothing was built or measured, and no sweep was changed"
            ))
        };
        let output = Command::new("rustc")
            .arg("-vV")
            .current_dir(checkout.root())
            .output();
        let output = output.map_err(|error| {
            unfit(format!(
                "`rustc` cannot be run: {error}; install Rust by rustup, which reads rust-toolchain.toml, and put \
                 ~/.cargo/bin into PATH"
            ))
        })?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let rustc: Vec<String> = text.lines().map(str::to_owned).collect();
        let host = rustc.iter().find_map(|line| line.strip_prefix("host: "));
        let host_triple = host.map(str::to_owned).ok_or_else(|| {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = subprocess::last_lines(&said, STDERR_LINES).unwrap_or(text);
            unfit(format!(
                "`rustc -vV` names no host; it printed:\n{said}\nRun `rustup toolchain install` in this folder, which \
                 installs the one of rust-toolchain.toml"
            ))
        })?;
        let folder = folder(checkout.root());
        let layouts = if layouts > 1 { layouts } else { 0 };
        let recipe = Recipe {
            checkout,
            config_folder,
            layouts,
            programs: Programs::Workloads,
            edited: folder.join("edited"),
            machine: None,
        };
        Ok(Self {
            recipe,
            folder,
            host_triple,
            rustc,
        })
    }

    pub(crate) fn with(mut self, programs: Programs) -> Self {
        self.recipe.programs = programs;
        self
    }

    pub(crate) fn simulated(mut self, machine: Option<MachineRequest>) -> Self {
        if machine.is_some() {
            self.folder = simulated_folder(self.recipe.checkout.root());
            self.recipe.machine = machine;
        }
        self
    }

    pub(crate) fn toolchain(&self) -> Result<Toolchain> {
        let checkout = self.recipe.checkout;
        let changes_code = |name: &str| {
            name.contains("RUSTFLAGS")
                || name.starts_with("CARGO_PROFILE_")
                || name.starts_with("RUSTC_")
                || name == "RUSTC"
                || name == "CARGO_INCREMENTAL"
        };
        let flags: BTreeMap<String, String> = std::env::vars()
            .filter(|(name, _)| changes_code(name))
            .map(|(name, value)| (name, checkout.without_folders(&value)))
            .collect();
        Ok(Toolchain {
            rustc: self.rustc.clone(),
            profile: toml::to_string(&self.recipe.profile()?)?
                .trim_end()
                .to_owned(),
            flags,
            lock_sha256: digest::of_bytes(self.recipe.lock()?.as_bytes()),
        })
    }

    /// Returns how many of `builds` builds run at the same time. Each simultaneous build has its
    /// own target folder. Another folder saves time only if every folder gets at least two builds.
    pub(crate) fn at_once(builds: usize) -> usize {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        (builds / 2).clamp(1, cpus.min(MOST_AT_ONCE))
    }

    pub(crate) fn is_new(&self) -> bool {
        !self.target(0).exists()
    }

    /// Copies the first target folder until there are `at_once` folders. Cargo compares the times
    /// of files, so the copies keep these times. If a copy fails, builds in that folder compile the
    /// dependencies again.
    pub(crate) fn copy_first_target(&self, at_once: usize) {
        for copy in (1..at_once).map(|number| self.target(number)) {
            // The copy gets its final name at the end, so that no build uses an interrupted copy.
            let part = copy.with_extension("part");
            let mut command = Command::new("cp");
            command.arg("-a").arg(self.target(0).join(".")).arg(&part);
            if command.status().is_ok_and(|status| status.success()) {
                let _ = fs::rename(&part, &copy);
            }
        }
    }

    pub(crate) fn built_in(&self, branch: &Branch) -> Option<usize> {
        (0..MOST_AT_ONCE).find(|&folder| self.made(folder, branch, 0).is_file())
    }

    /// Digest of the sources of a branch that no version or commit identifies: a working tree, or
    /// edits.
    fn content(&self, branch: &Branch) -> Option<std::io::Result<String>> {
        match &branch.source {
            Source::Path { path, .. } => {
                Some(digest::of_tree(&self.recipe.config_folder.join(path)))
            }
            Source::Edited { edits, .. } => {
                Some(digest::of_file(&self.recipe.config_folder.join(edits)))
            }
            _ => None,
        }
    }

    pub(crate) fn shared_sources(&self, branches: &[Branch]) -> Result<String> {
        let root = self.recipe.checkout.root();
        let has_fork = branches
            .iter()
            .any(|branch| matches!(branch.source, Source::Fork { .. }));
        let mut folders: Vec<PathBuf> = [
            ("protocol", true),
            ("workloads", true),
            ("manycore", self.recipe.is_simulated()),
            ("rayon-fork", has_fork),
        ]
        .into_iter()
        .filter(|(_, is_used)| *is_used)
        .map(|(folder, _)| root.join(folder))
        .collect();
        let programs = self.recipe.programs;
        folders.extend(programs.whole().filter_map(|it| it.folder.clone()));
        let shared = folders.iter().map(|folder| digest::of_tree(folder));
        let contents = branches.iter().filter_map(|branch| self.content(branch));
        let all: std::io::Result<Vec<String>> = shared.chain(contents).collect();
        let all = all.context("the sources of the branches and their programs cannot be read")?;
        Ok(Id::of(&all).to_string())
    }

    /// Keeps other runners from writing the same workspaces until the returned file is dropped.
    /// Shards on several machines may share one checkout.
    pub(crate) fn lock(&self) -> Result<fs::File> {
        let does = format!("builds in {}", self.folder.display());
        lock::wait(&self.folder.join("build.lock"), &does)
    }

    /// Writes a branch's workspace and checks the versions that cargo resolves. Callers do this for
    /// all branches before they compile any, because compiling takes minutes.
    pub(crate) fn prepare(&self, branch: &Branch) -> Result<BuildPlan> {
        let workspace = self.folder.join(&branch.name);
        self.edit(branch)?;
        let is_rewritten = self.recipe.is_simulated();
        let original = workspace.join(if is_rewritten { "original" } else { "" });
        self.recipe.write(branch, &original, &[])?;
        let metadata = self.metadata(branch, &original)?;
        let package = self.resolved(branch, &metadata)?;
        self.check_versions(branch, &original)?;
        let features = features_on(&metadata, &package);
        if is_rewritten {
            self.rewrite(branch, &workspace, &metadata)?;
        }
        Ok(BuildPlan {
            package,
            features,
            whole: self.prepare_whole(branch)?,
        })
    }

    fn rewrite(&self, branch: &Branch, workspace: &Path, original: &Metadata) -> Result<()> {
        let facade = self.recipe.checkout.root().join("manycore/std");
        let below = self.folder.join(rewriting::FOLDER);
        let mut rewritten = rewriting::rewrite(original, &below, &facade)?;
        let (programs, _, _) = self.recipe.programs();
        rewritten.extend(rewriting::rewrite_programs(
            programs, original, &below, &facade,
        )?);
        self.recipe.write(branch, workspace, &rewritten)?;
        let taken = self.metadata(branch, workspace)?;
        let is_left = |name: &str| {
            let mut packages = taken.packages.iter();
            packages.any(|it| it.name == name && it.source.is_some())
        };
        if let Some(left) = rewritten.iter().find(|it| is_left(&it.name)) {
            bail!(Stop::BuildFailed(format!(
                "branch `{}`: cargo ignores {} in {}",
                branch.name,
                left.name,
                left.folder.display()
            )));
        }
        Ok(())
    }

    fn edit(&self, branch: &Branch) -> Result<()> {
        let (Source::Edited { version, edits }, Some(to)) =
            (&branch.source, self.recipe.folder(&branch.source))
        else {
            return Ok(());
        };
        let edits = edits_of(self.recipe.config_folder, version, edits)?;
        let published = self.published(branch, "rayon-core", version)?;
        edits.copy(&published, &published, &to)?;
        Ok(())
    }

    /// Returns the folder in which cargo keeps a release of a package. Cargo prints that folder
    /// only for libraries; the folder of a program is beside it.
    fn published(&self, branch: &Branch, name: &str, version: &str) -> Result<PathBuf> {
        let probe = self
            .folder
            .join("published")
            .join(format!("{name}-{version}"));
        fs::create_dir_all(probe.join("src"))
            .with_context(|| format!("{} cannot be made", probe.display()))?;
        write_if_changed(&probe.join("src/lib.rs"), "")?;
        let needed = BTreeMap::from([
            ("rayon-core", "1".to_owned()),
            (name, format!("={version}")),
        ]);
        let manifest = format!(
            "[package]\nname = \"probe\"\nedition = \"2024\"\n\n[dependencies]\n{}\n[workspace]\n",
            toml::to_string(&needed)?
        );
        write_if_changed(&probe.join("Cargo.toml"), manifest)?;
        let metadata = self.metadata(branch, &probe)?;
        let mut packages = metadata.packages.iter();
        let library = packages.find(|package| package.name == "rayon-core");
        let folder = library.and_then(|it| folder_of(it).parent());
        let folder = folder.map(|beside| beside.join(format!("{name}-{version}")));
        folder
            .filter(|it| it.is_dir())
            .with_context(|| format!("cargo does not say where it keeps {name} {version}"))
    }

    /// Builds a branch and checks that the binary matches the branch's row in `branches.toml`.
    /// `target` is the number of the target folder for a branch that was never built; every folder
    /// gives the same binary.
    pub(crate) fn build(
        &self,
        branch: &Branch,
        prepared: BuildPlan,
        target: usize,
    ) -> Result<BranchBuild> {
        let BuildPlan {
            package,
            features,
            whole,
        } = prepared;
        let target = self.built_in(branch).unwrap_or(target);
        let workspace = self.folder.join(&branch.name);
        if let Programs::Whole(_) = self.recipe.programs {
            let table = self.build_whole(branch, &whole, &self.target(target))?;
            write_if_changed(&workspace.join("src").join(WHOLE_TABLE), table)?;
        }
        let mut arguments = vec!["build", "--release", "--quiet", "--locked", "--target-dir"];
        if let Source::Path { .. } = branch.source {
            // The working tree's dependencies may declare a newer compiler than the pinned one.
            arguments.insert(1, "--ignore-rust-version");
        }
        self.cargo(
            branch,
            &workspace,
            &arguments,
            &[self.target(target).as_os_str()],
        )?;
        let keep_copy = |layout| self.keep_copy(&self.made(target, branch, layout));
        let (binary, binary_sha256) = keep_copy(0)?;
        let variant = who_are_you(branch, &binary, self.recipe.machine.as_ref())?;
        let mut binaries = Vec::new();
        let mut layouts_sha256 = Vec::new();
        for layout in self.recipe.layouts_of(&branch.source) {
            let (shuffled, sha256) = keep_copy(layout)?;
            who_are_you(branch, &shuffled, None)?;
            if sha256 == binary_sha256 || layouts_sha256.contains(&sha256) {
                bail!(Stop::BuildFailed(format!(
                    "branch `{}`: link order {layout} equals an earlier one, so the linker ignores \
                     `{SHUFFLE}`; use LLVM's linker, or --layouts 1",
                    branch.name
                )));
            }
            binaries.push(shuffled);
            layouts_sha256.push(sha256);
        }
        if binaries.is_empty() {
            binaries.push(binary.clone());
        }
        let lock = workspace.join("Cargo.lock");
        let receipt = Provenance {
            version: package.version.to_string(),
            origin: self.origin(&package),
            features,
            commit: self.commit(branch, &package),
            tree_sha256: self
                .content(branch)
                .transpose()
                .context("the branch's working tree or its edits cannot be read")?,
            variant,
            binary_bytes: fs::metadata(&binary).map_or(0, |file| file.len()),
            binary_sha256,
            layouts_sha256,
            lock_sha256: digest::of_file(&lock)
                .with_context(|| format!("{} cannot be read", lock.display()))?,
        };
        Ok(BranchBuild { binaries, receipt })
    }

    pub(crate) fn check_folder(&self, branch: &Branch) -> Result<()> {
        check_folder(self.recipe.config_folder, branch)
    }

    fn target(&self, number: usize) -> PathBuf {
        self.folder.join(match number {
            0 => "shared-target".to_owned(),
            _ => format!("shared-target-{}", number + 1),
        })
    }

    fn made(&self, target: usize, branch: &Branch, layout: u32) -> PathBuf {
        self.target(target)
            .join("release")
            .join(Recipe::binary(&branch.name, layout))
    }

    fn cargo(
        &self,
        branch: &Branch,
        workspace: &Path,
        arguments: &[&str],
        more: &[&std::ffi::OsStr],
    ) -> Result<Vec<u8>> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        // The checkout's cargo settings and toolchain file apply, wherever the target folder is. A
        // program of the user has its own settings.
        let of_user = self.folder.join(&branch.name).join(package::OF_USER);
        let settings = if workspace.starts_with(of_user) {
            workspace
        } else {
            self.recipe.checkout.root()
        };
        command
            .current_dir(settings)
            .args(&arguments[..1])
            .arg("--manifest-path")
            .arg(workspace.join("Cargo.toml"))
            .args(&arguments[1..])
            .args(more);
        if self.recipe.is_simulated() {
            // The compiler names files of the copies by paths that begin with `rewriting::FOLDER`;
            // `places::shown` removes this beginning. `--cap-lints=allow` suppresses warnings,
            // because most of these crates have other authors.
            let below = self.folder.join(rewriting::FOLDER);
            let remap = format!(
                "--remap-path-prefix={}={}",
                below.display(),
                rewriting::FOLDER
            );
            let flags = ["--cfg=manycore", "--cap-lints=allow", &remap].join("\x1f");
            command
                .env("CARGO_ENCODED_RUSTFLAGS", flags)
                .env_remove("RUSTFLAGS");
        }
        let done = subprocess::run(&mut command, b"", None).context(
            "`cargo` cannot be run; install Rust by rustup and put ~/.cargo/bin into PATH",
        )?;
        if done.is_interrupted {
            bail!(interrupt::while_building());
        }
        if !done.status.success() {
            let output = subprocess::last_lines(&done.stderr, STDERR_LINES).unwrap_or_default();
            let remedy = if self.recipe.layouts > 0 && output.contains(SHUFFLE) {
                "\nthe linker cannot shuffle functions: use LLVM's, or --layouts 1"
            } else if output.contains("cores_std") {
                "\n`cores_std` replaces the standard library on a simulated machine; it has no files, sockets, other \
                 processes, time of day or assembler; put code that needs them behind `#[cfg(not(manycore))]`"
            } else {
                ""
            };
            if let Some(told) = missing(branch, &output) {
                bail!(Stop::BadInput(told));
            }
            bail!(Stop::BuildFailed(format!(
                "{} ({}) cannot be built; the end of cargo's output:\n{}{remedy}",
                branch.called(),
                branch.source,
                places::shown(&output),
            )));
        }
        Ok(done.stdout)
    }

    fn metadata(&self, branch: &Branch, workspace: &Path) -> Result<Metadata> {
        let arguments = ["metadata", "--format-version=1", "--filter-platform"];
        let json = self.cargo(branch, workspace, &arguments, &[self.host_triple.as_ref()])?;
        serde_json::from_slice(&json)
            .context("the output of `cargo metadata` is not in a form that this runner can read")
    }

    /// Returns the rayon-core that cargo resolved, or an error if the branch requests another one.
    /// Cargo only warns if it ignores a patch (wrong version, wrong name).
    fn resolved(&self, branch: &Branch, metadata: &Metadata) -> Result<Package> {
        let packages = metadata.packages.iter();
        let found: Vec<&Package> = packages.filter(|it| it.name == "rayon-core").collect();
        let [package] = found[..] else {
            bail!(Stop::BuildFailed(format!(
                "branch `{}`: cargo resolved {} rayon-cores, expected one",
                branch.name,
                found.len()
            )));
        };
        self.check_origin(branch, package)?;
        Ok(package.clone())
    }

    fn check_versions(&self, branch: &Branch, workspace: &Path) -> Result<()> {
        let lock = self.recipe.lock()?;
        let strayed = strayed_from_lock(&lock, &workspace.join("Cargo.lock"))?;
        if !strayed.is_empty() {
            bail!(Stop::BuildFailed(format!(
                "branch `{}`: cargo chose versions that differ from the checkout's Cargo.lock: {}; \
                 run `cargo update -p NAME --precise VERSION` in the checkout, or undo the change \
                 that requires them",
                branch.name,
                strayed.join(", ")
            )));
        }
        Ok(())
    }

    fn check_origin(&self, branch: &Branch, package: &Package) -> Result<()> {
        let folder = folder_of(package);
        let source = package.source.as_ref();
        let is_as_asked = match &branch.source {
            Source::Published { version } => {
                source.is_some_and(cargo_metadata::Source::is_crates_io)
                    && package.version.to_string() == *version
            }
            Source::Edited { .. } | Source::Fork { .. } | Source::Path { .. } => {
                let asked = self.recipe.folder(&branch.source).unwrap_or_default();
                source.is_none() && asked.canonicalize().ok() == folder.canonicalize().ok()
            }
            Source::Git { .. } => source.is_some_and(|it| it.repr.starts_with("git+")),
        };
        if is_as_asked {
            return Ok(());
        }
        bail!(Stop::BuildFailed(format!(
            "branch `{}` asks for {}, but cargo linked rayon-core {} from {}; \
             a patch is ignored when its version is outside what rayon accepts (^1.13.0)",
            branch.name,
            branch.source,
            package.version,
            self.origin(package)
        )))
    }

    fn origin(&self, package: &Package) -> String {
        match &package.source {
            None => {
                let checkout = self.recipe.checkout;
                checkout.shown_without_folders(folder_of(package))
            }
            Some(source) if source.is_crates_io() => "registry".to_owned(),
            Some(source) => source.repr.clone(),
        }
    }

    fn commit(&self, branch: &Branch, package: &Package) -> Commit {
        if let Source::Edited { edits, .. } = &branch.source {
            let file = self.recipe.config_folder.join(edits);
            return commit_of(file.parent().unwrap_or(&file));
        }
        if let Some(folder) = self.recipe.folder(&branch.source) {
            return commit_of(&folder);
        }
        let resolved = package
            .source
            .as_ref()
            .and_then(|source| source.repr.split_once('#'));
        match (&branch.source, resolved) {
            (Source::Git { .. }, Some((_, commit))) => Commit {
                commit: Some(commit.to_owned()),
                dirty: Some(false),
            },
            _ => Commit::default(),
        }
    }

    /// Copies the binary to a name made of its digest. Thus a build that a user starts during a
    /// sweep does not change the binaries of the sweep.
    fn keep_copy(&self, built: &Path) -> Result<(PathBuf, String)> {
        let bytes =
            fs::read(built).with_context(|| format!("{} cannot be read", built.display()))?;
        let sha256 = digest::of_bytes(&bytes);
        let folder = self.folder.join("binaries");
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} cannot be made", folder.display()))?;
        // All names have the same length. A program's path lies on its stack, and paths of
        // different lengths would shift the stacks of branches by different amounts.
        let copy = folder.join(&sha256[..32]);
        if digest::of_file(&copy).ok().as_ref() != Some(&sha256) {
            let store = || -> std::io::Result<()> {
                let mut file = tempfile::NamedTempFile::new_in(&folder)?;
                std::io::Write::write_all(&mut file, &bytes)?;
                file.as_file()
                    .set_permissions(fs::Permissions::from_mode(0o755))?;
                file.persist(&copy)?;
                Ok(())
            };
            store().with_context(|| format!("{} cannot be written", copy.display()))?;
        }
        Ok((copy, sha256))
    }
}

fn folder(root: &Path) -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
    root.join(target).join("branches")
}

pub(crate) fn simulated_folder(root: &Path) -> PathBuf {
    folder(root).join("simulated")
}

fn missing(branch: &Branch, output: &str) -> Option<String> {
    match &branch.source {
        Source::Published { version } | Source::Edited { version, .. } => {
            let marks = [
                "failed to select a version for the requirement `rayon-core",
                "didn't match: ",
            ];
            let (_, rest) = output.split_once(marks[0])?;
            let known = rest.split_once(marks[1])?.1.lines().next()?;
            Some(format!(
                "{}: the registry has no rayon-core {version}; the newest are {known}",
                branch.called()
            ))
        }
        Source::Git { rev, url, .. } if output.contains("failed to load source for dependency") => {
            let why = output.lines().last().unwrap_or_default().trim();
            Some(format!(
                "{}: {url} gives no commit {rev}: {why}",
                branch.called()
            ))
        }
        _ => None,
    }
}

fn edits_of(config_folder: &Path, version: &str, edits: &Path) -> Result<Edits> {
    let read = Edits::read(&config_folder.join(edits), &edits.display().to_string())?;
    read.expect(version)?;
    Ok(read)
}

/// Checks that a `path` source exists and is rayon-core, and that edits are well formed. Relative
/// paths of `path` sources and of edits start from `config_folder`.
///
/// # Errors
/// [`Stop::BadInput`] with the wrong content of the folder, and the remedy.
pub fn check_folder(config_folder: &Path, branch: &Branch) -> Result<()> {
    if let Source::Edited { version, edits } = &branch.source {
        return edits_of(config_folder, version, edits).map(drop);
    }
    let Source::Path { path, .. } = &branch.source else {
        return Ok(());
    };
    let folder = config_folder.join(path);
    let manifest_of = |folder: &Path| fs::read_to_string(folder.join("Cargo.toml")).ok();
    let package_of = |text: &str| {
        let manifest = text.parse::<toml::Table>().ok()?;
        Some(manifest.get("package")?.get("name")?.as_str()?.to_owned())
    };
    let manifest = manifest_of(&folder);
    let there = match manifest.as_deref().map(package_of) {
        Some(Some(name)) if name == "rayon-core" => return Ok(()),
        Some(Some(name)) => format!("holds the package `{name}`"),
        Some(None) => "holds a Cargo.toml without a package".to_owned(),
        None if folder.is_dir() => "holds no Cargo.toml".to_owned(),
        None => "is not there".to_owned(),
    };
    let inner = manifest_of(&folder.join("rayon-core"))
        .as_deref()
        .and_then(package_of);
    let remedy = if inner.is_some_and(|name| name == "rayon-core") {
        "point it at the folder `rayon-core` in it"
    } else {
        "point it at the folder of a rayon-core's Cargo.toml"
    };
    let named = match &branch.typed {
        Some(_) => format!("{}: the folder", branch.called()),
        None => {
            format!(
                "{}: path = \"{}\", seen from branches.toml,",
                branch.called(),
                path.display()
            )
        }
    };
    Err(Stop::BadInput(format!("{named} {there}; {remedy}")).into())
}

fn features_on(metadata: &Metadata, package: &Package) -> Vec<String> {
    let nodes = metadata.resolve.iter().flat_map(|it| &it.nodes);
    let own = nodes.into_iter().find(|node| node.id == package.id);
    let on = own.iter().flat_map(|node| &node.features);
    on.map(ToString::to_string)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect()
}

#[cfg(test)]
mod tests;
