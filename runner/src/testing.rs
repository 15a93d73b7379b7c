//! What unit tests share.

use std::path::{Path, PathBuf};
use std::process::Command;

/// An executable script in `folder`, to stand in the place of a workload binary.
///
/// It is copied by another process: a file that this process wrote could still be open for writing in
/// a child that another test is just starting, and the kernel refuses to run such a file.
pub(crate) fn script(folder: &Path, text: &str) -> PathBuf {
    let (written, script) = (folder.join("written"), folder.join("workload"));
    std::fs::write(&written, format!("#!/bin/sh\n{text}\n")).unwrap();
    let copy = Command::new("install").args(["-m", "755"]).arg(&written).arg(&script).status();
    assert!(copy.unwrap().success());
    script
}
