//! A small package below the target directory that depends on the fork or on the published crate.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Fork,
    /// The published version whose interface the fork must have.
    Published,
}

pub(crate) struct Scratch {
    folder: PathBuf,
    /// The file is locked, because test runs may overlap.
    _lock: File,
}

impl Scratch {
    pub(crate) fn new(name: &str, source: Source) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("{name}-{source:?}").to_lowercase());
        fs::create_dir_all(folder.join("src")).unwrap();
        let lock = File::create(folder.join("in-use")).unwrap();
        lock.lock().unwrap();
        let this = Self {
            folder,
            _lock: lock,
        };

        let fork = Path::new(env!("CARGO_MANIFEST_DIR"));
        let requirement = match source {
            Source::Fork => format!("{{ path = '{}' }}", fork.display()),
            Source::Published => "\"=1.13.0\"".to_owned(),
        };
        this.write(
            "Cargo.toml",
            &format!(
                "[package]\nname = \"scratch\"\nedition = \"2024\"\n\n[workspace]\n\n\
                 [dependencies]\nrayon-core = {requirement}\n"
            ),
        );
        // The package uses the versions of the workspace's lock file.
        let versions = fs::read_to_string(fork.join("../Cargo.lock")).unwrap();
        this.write("Cargo.lock", &versions);
        this
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.folder.join(path);
        if fs::read_to_string(&path).is_ok_and(|old| old == text) {
            return;
        }
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.join(path)
    }

    pub(crate) fn cargo(&self, command: &str, arguments: &[&str]) -> Output {
        let run = |network: &[&str]| {
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo
                .arg(command)
                .args(network)
                .args(arguments)
                .current_dir(&self.folder);
            // The scratch package is built without the flags of this test run, such as a
            // sanitizer's.
            for flags in [
                "RUSTFLAGS",
                "CARGO_ENCODED_RUSTFLAGS",
                "RUSTDOCFLAGS",
                "CARGO_BUILD_TARGET",
            ] {
                cargo.env_remove(flags);
            }
            cargo.env("CARGO_TARGET_DIR", self.folder.join("target"));
            // Rustdoc's JSON is an unstable feature. The pinned compiler writes both crates' JSON,
            // so the two can be compared.
            cargo.env("RUSTC_BOOTSTRAP", "1");
            cargo.output().unwrap()
        };
        let offline = run(&["--offline"]);
        if String::from_utf8_lossy(&offline.stderr).contains("offline") {
            run(&[])
        } else {
            offline
        }
    }
}
