//! Builds whole programs: from the registry, from `workloads/programs/`, or from the user. Each
//! build uses one branch's rayon-core, and the lock file and release profile of the program's
//! package.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use protocol::{WholeBuilds, WholeProgram};

use crate::build::package;
use crate::build::workspace::{Recipe, WHOLE, shuffling};
use crate::build::{Builder, write_if_changed};
use crate::config::Branch;
use crate::stop::Stop;

const LINKER: &str = "linker";

impl Builder<'_> {
    /// Copies the package of each whole program for a branch. Checks that the program uses
    /// rayon-core, and that cargo resolves the branch's rayon-core for it.
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
                self.resolved(branch, &metadata)?;
                Ok(copied.folder)
            })
            .collect()
    }

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
    /// Returns the paths of the binaries: a [`WholeBuilds`] in JSON.
    pub(super) fn build_whole(
        &self,
        branch: &Branch,
        folders: &[PathBuf],
        target: &Path,
    ) -> Result<String> {
        let mut built = WholeBuilds::default();
        let layouts = *self.recipe.layouts_of(&branch.source).end();
        for (program, folder) in self.recipe.programs.whole().zip(folders) {
            if program.folder.is_some() {
                built.user = Some(program.clone());
            }
            let all = program.x86_64_features.join(",+");
            let features = format!("--config=build.rustflags=['-Ctarget-feature=+{all}']");
            // Cargo links again if the linker's path changes, so the path contains the number of
            // link orders.
            let shuffled = self.folder.join(&branch.name).join(&program.name);
            let shuffled = shuffled.with_extension(format!("{layouts}-layouts"));
            let linker = format!("-Clinker={}", shuffled.join(LINKER).display());
            let mut more = vec![
                target.as_os_str(),
                "--bin".as_ref(),
                program.binary.as_ref(),
            ];
            if cfg!(target_arch = "x86_64") && !all.is_empty() {
                more.push(features.as_ref());
            }
            if layouts > 0 {
                write_linker(&shuffled, layouts)?;
                more.extend(["--", &linker].map(OsStr::new));
            }
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
}

/// Writes a linker into `folder` that links the compiled program in the linker's own order, and
/// once for each shuffled order. Compiling the program for each link order would take most of the
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
