//! SHA-256: in hexadecimal for the provenance of binaries and folders, shortened for the identities
//! of configurations and trials.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

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

/// Digest of the files in a folder that a build may read, by their paths in it. Leaves out the
/// files that cargo and Git keep there.
pub(crate) fn of_tree(root: &Path) -> io::Result<String> {
    let places = files_below(root)?
        .into_iter()
        .filter(|place| root.join(place).is_file());
    let file = |place: PathBuf| Ok((place.display().to_string(), of_file(&root.join(place))?));
    let mut files = places.map(file).collect::<io::Result<Vec<_>>>()?;
    files.sort();
    Ok(of_bytes(&serde_json::to_vec(&files)?))
}

/// The first 64 bits of the digest of a value's JSON form; written as 16 hexadecimal digits.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(u64);

impl Id {
    /// The identity of a value.
    ///
    /// # Panics
    /// If the value has no JSON form (a map whose keys are not strings); ours all have.
    pub(crate) fn of(value: &impl Serialize) -> Self {
        let mut hasher = Hasher(Sha256::new());
        serde_json::to_writer(&mut hasher, value).expect("identities are made of plain values");
        let digest = hasher.0.finalize();
        let first = digest.first_chunk().expect("SHA-256 has 32 bytes");
        Self(u64::from_be_bytes(*first))
    }
}

/// Feeds written bytes into a digest, so that the text of a value is never in memory as a whole.
struct Hasher(Sha256);

impl io::Write for Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
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

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Digits;
        impl Visitor<'_> for Digits {
            type Value = Id;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an identity of 16 hexadecimal digits")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Id, E> {
                let wrong = || E::invalid_value(de::Unexpected::Str(text), &self);
                let is_one = text.len() == 16
                    && text
                        .bytes()
                        .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                if !is_one {
                    return Err(wrong());
                }
                u64::from_str_radix(text, 16).map(Id).map_err(|_| wrong())
            }
        }
        deserializer.deserialize_str(Digits)
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
        let names = [before, changed, digest()];
        assert!(names[0] != names[1] && names[1] != names[2], "{names:?}");
    }
}

#[cfg(test)]
mod id_tests {
    use super::*;

    #[test]
    fn an_identity_is_the_beginning_of_the_digest_of_the_json_form() {
        // `printf '["a",1]' | sha256sum`
        let expected = "135f17a475a61afd";
        assert_eq!(Id::of(&("a", 1)).to_string(), expected);
    }

    #[test]
    fn an_identity_is_read_back_as_it_was_written_and_nothing_else_is_one() {
        for value in [0, 1, 77] {
            let id = Id::of(&value);
            let text = serde_json::to_string(&id).unwrap();
            assert_eq!(serde_json::from_str::<Id>(&text).unwrap(), id, "{text}");
        }
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
