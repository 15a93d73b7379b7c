//! Records which parts passed on which files with which compiler, so that an unchanged part need
//! not run again.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use xshell::{Shell, cmd};

use crate::variants::Variant;

/// Prefixes of environment variables that change a build, or the duration of its tests.
const VARIABLES: [&str; 5] = [
    "CARGO_PROFILE_",
    "FORK_",
    "FREQUENCY_",
    "RUSTFLAGS",
    "SWEEP_",
];

pub(crate) fn fingerprint(sh: &Shell, places: &[&str]) -> Result<String> {
    let files = cmd!(
        sh,
        "git ls-files -z --cached --others --exclude-standard -- {places...}"
    );
    let files = files
        .quiet()
        .read()
        .context("the files of the checkout cannot be listed")?;
    let mut hasher = DefaultHasher::new();
    cmd!(sh, "rustc --version --verbose")
        .quiet()
        .read()?
        .hash(&mut hasher);
    let asked = |name: &str| {
        VARIABLES
            .iter()
            .any(|beginning| name.starts_with(beginning))
    };
    let mut variables: Vec<_> = std::env::vars().filter(|(name, _)| asked(name)).collect();
    variables.sort();
    variables.hash(&mut hasher);
    for file in files.split_terminator('\0') {
        // If a file is deleted but still in Git's index, its content is `None`.
        (file, fs::read(sh.current_dir().join(file)).ok()).hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

pub(crate) struct Stamp {
    file: PathBuf,
    now: String,
}

impl Stamp {
    pub(crate) fn of(
        sh: &Shell,
        name: &str,
        places: &[&str],
        variants: &[Variant],
    ) -> Result<Self> {
        let names: Vec<String> = variants.iter().map(Variant::name).collect();
        let now = format!("{} on {}\n", fingerprint(sh, places)?, names.join(" "));
        Ok(Self {
            file: sh.current_dir().join("target/passed").join(name),
            now,
        })
    }

    pub(crate) fn is_valid(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|then| then == self.now)
    }

    /// Records that the part passed on the files that existed when this stamp was created.
    pub(crate) fn set(&self, sh: &Shell) -> Result<()> {
        Ok(sh.write_file(&self.file, &self.now)?)
    }
}

#[cfg(test)]
mod tests {
    use xshell::{Shell, cmd};

    use super::Stamp;

    #[test]
    fn a_part_runs_again_after_a_change_of_what_it_reads_and_of_nothing_else() {
        let sh = Shell::new().unwrap();
        let checkout = sh.create_temp_dir().unwrap();
        sh.change_dir(checkout.path());
        cmd!(sh, "git init --quiet").quiet().run().unwrap();
        let stamp = || Stamp::of(&sh, "fork", &["Cargo.lock", "rayon-fork"], &[]).unwrap();
        let passes = |place: &str, text: &str| {
            sh.write_file(place, text).unwrap();
            let known = stamp().is_valid();
            stamp().set(&sh).unwrap();
            known
        };
        assert!(!passes("rayon-fork/src/lib.rs", "one"));
        assert!(passes("rayon-fork/src/lib.rs", "one"));
        assert!(!passes("rayon-fork/src/lib.rs", "two"));
        assert!(
            !passes("rayon-fork/build.rs", ""),
            "a file that Git does not know yet"
        );
        assert!(passes("README.md", "read by others"));
        cmd!(sh, "git add --all").quiet().run().unwrap();
        assert!(
            stamp().is_valid(),
            "the same files, whatever Git knows of them"
        );
        sh.remove_path("rayon-fork/build.rs").unwrap();
        assert!(!stamp().is_valid());
    }
}
