//! SHA-256: in hexadecimal for the provenance of binaries and folders, and shortened to 64 bits for
//! the identities of configurations and trials.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::system::whole_file::files_below;

pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
    }
    text
}

pub(crate) fn of_file(path: &Path) -> io::Result<String> {
    std::fs::read(path).map(|bytes| of_bytes(&bytes))
}

/// Returns the digest of all files in a folder that a build may read, with the files' paths in that
/// folder.
pub(crate) fn of_tree(root: &Path) -> io::Result<String> {
    let places = files_below(root)?
        .into_iter()
        .filter(|place| root.join(place).is_file());
    let file = |place: PathBuf| Ok((place.display().to_string(), of_file(&root.join(place))?));
    let mut files = places.map(file).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    Ok(of_bytes(&serde_json::to_vec(&files)?))
}

/// An identity: the first 64 bits of the digest of a value's JSON form, written as 16 hexadecimal
/// digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Id(u64);

impl Id {
    /// Returns the identity of a value.
    ///
    /// # Panics
    /// If the value has no JSON form (a map whose keys are not strings).
    pub(crate) fn of(value: &impl Serialize) -> Self {
        let json = serde_json::to_vec(value).expect("identities are made of plain values");
        let digest = Sha256::digest(json);
        let first = digest.first_chunk().expect("SHA-256 has 32 bytes");
        Self(u64::from_be_bytes(*first))
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let id = u64::from_str_radix(&text, 16).map(Self);
        id.ok()
            .filter(|id| id.to_string() == text)
            .ok_or_else(|| format!("`{text}` is not an identity of 16 hexadecimal digits"))
    }
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
        assert!(before != changed && changed != digest());
    }

    #[test]
    fn an_identity_is_the_beginning_of_the_digest_of_the_json_form() {
        // The expected identity is the beginning of the output of `printf '["a",1]' | sha256sum`.
        let expected = "135f17a475a61afd";
        let id = Id::of(&("a", 1));
        let text = serde_json::to_string(&id).unwrap();
        assert_eq!(text, format!("\"{expected}\""));
        assert_eq!(serde_json::from_str::<Id>(&text).unwrap(), id);
        for wrong in [
            "",
            "+123456789abcdef",
            "0123456789ABCDEF",
            "0123456789abcdef0",
        ] {
            let text = serde_json::to_string(wrong).unwrap();
            assert!(serde_json::from_str::<Id>(&text).is_err(), "{wrong}");
        }
    }
}
