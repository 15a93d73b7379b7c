//! SHA-256 in hexadecimal: build provenance of binaries, identities of folders.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::system::whole_file::files_below;

/// Digest of some bytes, 64 hexadecimal digits.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
            text
        })
}

/// Digest of a file's content.
pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    std::fs::read(path).map(|bytes| of_bytes(&bytes))
}

/// Digest of what a build may read of a folder: all its files but what cargo and git keep there, by
/// their places in it.
pub(crate) fn of_tree(root: &Path) -> io::Result<String> {
    let places = files_below(root)?
        .into_iter()
        .filter(|place| root.join(place).is_file());
    let file = |place: PathBuf| Ok((place.display().to_string(), of_file(&root.join(place))?));
    let mut files = places.map(file).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    Ok(of_bytes(&serde_json::to_vec(&files)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::testing::MockRoot;

    #[test]
    fn a_change_anywhere_below_changes_the_digest_of_a_folder() {
        let mock = MockRoot::new(&[("a/b/one", "1")]);
        let folder = mock.host().path("");
        let digest = || of_tree(&folder).unwrap();
        let before = digest();
        assert_eq!(before, digest());
        mock.write("a/b/one", "2");
        let changed = digest();
        std::fs::rename(folder.join("a/b/one"), folder.join("a/b/two")).unwrap();
        let names = [before, changed, digest()];
        assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    }
}
