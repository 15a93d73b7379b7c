//! Whole programs of the registry, each built with one branch's rayon-core and otherwise as its
//! package says: with the lock file and the release profile that it was published with.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use protocol::{WholeBuilds, WholeProgram};
use toml::{Table, Value};

use crate::build::edits::copy_folder;
use crate::build::user;
use crate::build::workspace::{Recipe, WHOLE, freed, shuffling};
use crate::build::{Builder, features_on, write_if_changed};
use crate::config::Branch;
use crate::system::digest;

/// The program that links in all layouts.
const LINKER: &str = "linker";

impl Builder<'_> {
    /// Builds the whole programs of a branch in each of its layouts, and says where they are: a
    /// [`WholeBuilds`] in JSON.
    pub(super) fn build_whole(&self, branch: &Branch, target: &Path) -> Result<String> {
        let mut built = WholeBuilds::default();
        let layouts = *self.recipe.layouts_of(&branch.source).end();
        for program in self.recipe.programs.whole() {
            let folder = match &program.folder {
                Some(home) => user::copy(&self.recipe, &self.folder, branch, program, home)?.folder,
                None => self.prepare_whole(branch, program)?,
            };
            built.user = program
                .folder
                .as_ref()
                .map(|_| program.clone())
                .or(built.user);
            let all = program.x86_64_features.join(",+");
            let has_features = cfg!(target_arch = "x86_64") && !all.is_empty();
            let features = has_features
                .then(|| format!("--config=build.rustflags=['-Ctarget-feature=+{all}']"));
            let shuffled = self.folder_of_layouts(branch, program, layouts);
            let linker = format!("-Clinker={}", shuffled.join(LINKER).display());
            let mut to_link = vec![];
            if layouts > 0 {
                write_linker(&shuffled, layouts)?;
                to_link.extend(["--", &linker]);
            }
            let options = features.iter().map(String::as_str);
            let options = ["--bin", &program.binary]
                .into_iter()
                .chain(options)
                .chain(to_link);
            let more: Vec<&OsStr> = [target.as_os_str()]
                .into_iter()
                .chain(options.map(OsStr::new))
                .collect();
            let rustc = ["rustc", "--release", "--quiet", "--locked", "--target-dir"];
            self.cargo(branch, &folder, &rustc, &more)?;
            for layout in 0..=layouts {
                let made = match layout {
                    0 => target.join("release").join(&program.binary),
                    seed => shuffled.join(seed.to_string()),
                };
                let (copy, _) = self.keep_copy(&made)?;
                let binary = Recipe::binary(&branch.name, layout);
                let binaries = built.binaries.entry(binary).or_default();
                binaries.insert(program.name.clone(), copy);
            }
        }
        Ok(serde_json::to_string(&built)?)
    }

    /// Where the linker of a program with so many layouts is, and then the shuffled binaries by
    /// their seeds: by their number, since cargo links again where the linker has another path.
    fn folder_of_layouts(&self, branch: &Branch, program: &WholeProgram, layouts: u32) -> PathBuf {
        let folder = self.folder.join(&branch.name).join(&program.name);
        folder.with_extension(format!("{layouts}-layouts"))
    }

    /// Copies a program's package, has the copy take the branch's rayon-core, and checks that cargo
    /// does so.
    fn prepare_whole(&self, branch: &Branch, program: &WholeProgram) -> Result<PathBuf> {
        let from = match &program.version {
            Some(version) => self.published(branch, &program.package, version)?,
            None => self
                .recipe
                .checkout
                .root()
                .join(WHOLE)
                .join(&program.package),
        };
        let folder = self.folder.join(&branch.name).join(&program.name);
        let read = |path: &Path| {
            fs::read_to_string(path).with_context(|| {
                format!(
                    "program `{}`: {} cannot be read",
                    program.name,
                    path.display()
                )
            })
        };
        let lock = read(&from.join("Cargo.lock"))?;
        let own: Table = read(&from.join("Cargo.toml"))?
            .parse()
            .with_context(|| format!("program `{}`: its Cargo.toml is not TOML", program.name))?;
        let manifest = format!(
            "# Written by `cargo runner build` beside the lock file {}.\n{}",
            digest::of_bytes(lock.as_bytes()),
            toml::to_string(&self.patched(own, branch)?)?
        );
        // Cargo adapts the lock file; as long as nothing changes, it need not do so again.
        let is_adapted =
            fs::read_to_string(folder.join("Cargo.toml")).is_ok_and(|it| it == manifest);
        let adapted = is_adapted
            .then(|| fs::read(folder.join("Cargo.lock")).ok())
            .flatten();
        let new_text = |file: &Path| match file.to_str()? {
            "Cargo.toml" => Some(manifest.clone().into_bytes()),
            "Cargo.lock" => Some(adapted.clone().unwrap_or_else(|| freed(&lock).into_bytes())),
            _ => None,
        };
        copy_folder(&from, &folder, new_text).with_context(|| {
            format!(
                "{} cannot be copied to {}",
                from.display(),
                folder.display()
            )
        })?;
        let metadata = self.metadata(branch, &folder)?;
        let package = self.resolved(branch, &metadata)?;
        features_on(branch, &metadata, &package)?;
        Ok(folder)
    }

    /// A package's manifest with the branch's rayon-core.
    fn patched(&self, mut manifest: Table, branch: &Branch) -> Result<Table> {
        let ours: Table = self.recipe.manifest(branch, &[])?.parse()?;
        let dependencies = manifest
            .entry("dependencies")
            .or_insert_with(|| Table::new().into());
        if let Some(dependencies) = dependencies.as_table_mut() {
            let it = ours["dependencies"]["rayon-core"].clone();
            dependencies.insert("rayon-core".to_owned(), it);
        }
        manifest.extend(ours.into_iter().filter(|(key, _)| key == "patch"));
        manifest.insert("workspace".to_owned(), Value::Table(Table::new()));
        Ok(manifest)
    }
}

/// Writes a linker into `folder` that links what was compiled once in each layout as well: to
/// compile a program again for each, optimized as a whole, took most of the time.
fn write_linker(folder: &Path, layouts: u32) -> Result<()> {
    let link = |seed| format!("cc \"$@\" {} -o \"$folder/{seed}\"", shuffling(seed));
    let script = format!(
        "#!/bin/sh -e\n# Written by `cargo runner build`: the last `-o` counts.\n\
         folder=$(dirname \"$0\")\ncc \"$@\"\n{}\n",
        (1..=layouts).map(link).collect::<Vec<_>>().join("\n")
    );
    let linker = folder.join(LINKER);
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    write_if_changed(&linker, script)?;
    fs::set_permissions(&linker, Permissions::from_mode(0o755))
        .with_context(|| format!("{} cannot be made executable", linker.display()))
}
