//! Helpers that unit tests share.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Makes an executable script in `folder` that replaces a workload binary.
///
/// Another process copies the script. If this process wrote the script, a child of another test
/// could still have the script open for writing. The kernel would then refuse to run the script.
pub(crate) fn script(folder: &Path, text: &str) -> PathBuf {
    let (written, script) = (folder.join("written"), folder.join("workload"));
    std::fs::write(&written, format!("#!/bin/sh\n{text}\n")).unwrap();
    let copy = Command::new("install")
        .args(["-m", "755"])
        .arg(&written)
        .arg(&script)
        .status();
    assert!(copy.unwrap().success());
    script
}

pub(crate) struct MockRoot(tempfile::TempDir);

impl MockRoot {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for (path, content) in files {
            tree.write(path, content);
        }
        tree
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, format!("{content}\n")).unwrap();
    }

    pub(crate) fn host(&self) -> crate::host::Host {
        crate::host::Host::at(self.0.path())
    }
}
