//! SHA-256 in hexadecimal: receipts of binaries, identities of folders.

use std::io;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::plan::id::Id;

/// Digest of some bytes, 64 hexadecimal digits.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
        text
    })
}

/// Digest of a file's content.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    std::fs::read(path).map(|bytes| of_bytes(&bytes))
}

/// Digest of all files below some folders: their names and contents, in order of their names.
pub(crate) fn of_folders(folders: &[&Path]) -> io::Result<String> {
    let mut files = Vec::new();
    let mut left: Vec<_> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                left.push(path);
            } else {
                files.push((path.display().to_string(), of_file(&path)?));
            }
        }
    }
    files.sort();
    Ok(identity(&files))
}

/// Digest of what a working tree's build may read: all its files but what cargo and git keep there, by their places in
/// the tree.
pub(crate) fn of_tree(root: &Path) -> io::Result<String> {
    let mut files = Vec::new();
    let mut left = vec![root.to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let path = entry.path();
            // Links are not followed: they may lead in a circle.
            if entry.file_type()?.is_dir() {
                if !["target", ".git"].iter().any(|name| entry.file_name() == *name) {
                    left.push(path);
                }
            } else if path.is_file() {
                let place = path.strip_prefix(root).unwrap_or(&path).display().to_string();
                files.push((place, of_file(&path)?));
            }
        }
    }
    files.sort();
    Ok(of_bytes(&serde_json::to_vec(&files)?))
}

/// [`Id`] of a value, as text.
///
/// # Panics
/// As [`Id::of`].
pub(crate) fn identity(value: &impl Serialize) -> String {
    Id::of(value).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_anywhere_below_changes_the_digest_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("one"), "1").unwrap();
        let digest = || of_folders(&[folder.path()]).unwrap();
        let before = digest();
        assert_eq!(before, digest());
        std::fs::write(deep.join("one"), "2").unwrap();
        let changed = digest();
        std::fs::rename(deep.join("one"), deep.join("two")).unwrap();
        let names = [before, changed, digest()];
        assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    }
}
