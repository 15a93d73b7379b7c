//! Builds whole programs, from the registry or from the user. Each uses one branch's rayon-core;
//! otherwise its package decides, with its own lock file and release profile.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use protocol::{WholeBuilds, WholeProgram};

use crate::build::package;
use crate::build::workspace::{Recipe, WHOLE, shuffling};
use crate::build::{Builder, features_on, write_if_changed};
use crate::config::Branch;
use crate::stop::Stop;

/// The linker program that links every link order.
const LINKER: &str = "linker";

impl Builder<'_> {
    /// Copies the package of each whole program for a branch, and checks that cargo uses the
    /// branch's rayon-core there and that the program uses it. Returns the copies' folders.
    pub(super) fn prepare_whole(&self, branch: &Branch) -> Result<Vec<PathBuf>> {
        let programs = self.recipe.programs.whole();
        programs
            .map(|program| {
                let copied = package::copy(
                    &self.recipe,
                    &self.folder,
                    branch,
                    program,
                    &self.home(branch, program)?,
                )?;
                let metadata = self.metadata(branch, &copied.folder)?;
                if !package::uses_rayon(program, copied.is_direct, &metadata) {
                    bail!(Stop::BadInput(format!(
                        "--program: `{}` does not use rayon-core, so every branch would be the same program; \
                         `cargo tree -i rayon-core` in its folder shows which crates use it",
                        program.binary
                    )));
                }
                let taken = self.resolved(branch, &metadata)?;
                features_on(branch, &metadata, &taken)?;
                let own = copied.own.filter(|_| branch.baseline && program.folder.is_some());
                let taken = taken.version.to_string();
                if let Some(note) = own.and_then(|it| it.note(&program.binary, branch, &taken)) {
                    tell!("{note}");
                }
                Ok(copied.folder)
            })
            .collect()
    }

    /// The folder of a program's package: the user's, cargo's folder of a release, or the
    /// checkout's.
    fn home(&self, branch: &Branch, program: &WholeProgram) -> Result<PathBuf> {
        match (&program.folder, &program.version) {
            (Some(folder), _) => Ok(folder.clone()),
            (None, Some(version)) => self.published(branch, &program.package, version),
            (None, None) => {
                let root = self.recipe.checkout.root();
                Ok(root.join(WHOLE).join(&program.package))
            }
        }
    }

    /// Builds the whole programs of a branch, whose packages are in `folders`, in each link order.
    /// Returns their paths: a [`WholeBuilds`] in JSON.
    pub(super) fn build_whole(
        &self,
        branch: &Branch,
        folders: &[PathBuf],
        target: &Path,
    ) -> Result<String> {
        let mut built = WholeBuilds::default();
        let layouts = *self.recipe.layouts_of(&branch.source).end();
        for (program, folder) in self.recipe.programs.whole().zip(folders) {
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
            self.cargo(branch, folder, &rustc, &more)?;
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

    /// The folder of the linker that makes so many link orders of a program, and of the shuffled
    /// binaries by their seeds. The number is in its name: cargo links again if the linker's path
    /// changes.
    fn folder_of_layouts(&self, branch: &Branch, program: &WholeProgram, layouts: u32) -> PathBuf {
        let folder = self.folder.join(&branch.name).join(&program.name);
        folder.with_extension(format!("{layouts}-layouts"))
    }
}

/// Writes a linker into `folder` that links the compiled program once for each link order.
/// Compiling the program again for each, with whole-program optimization, would take most of the
/// time.
fn write_linker(folder: &Path, layouts: u32) -> Result<()> {
    let link = |seed| format!("cc \"$@\" {} -o \"$folder/{seed}\"", shuffling(seed));
    let script = format!(
        "#!/bin/sh -e\n# Written by `cargo runner`: the last `-o` counts.\n\
         folder=$(dirname \"$0\")\ncc \"$@\"\n{}\n",
        (1..=layouts).map(link).collect::<Vec<_>>().join("\n")
    );
    let linker = folder.join(LINKER);
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    write_if_changed(&linker, script)?;
    fs::set_permissions(&linker, Permissions::from_mode(0o755))
        .with_context(|| format!("{} cannot be made executable", linker.display()))
}
