//! Recognises compressed instance files, so that an error message does not call such a file
//! damaged. The runner checks a file before it builds anything, and a program checks each file that
//! it reads.

/// Returns the name of the program that compressed a file with these first bytes.
#[must_use]
pub fn by(bytes: &[u8]) -> Option<&'static str> {
    const BEGINNINGS: [(&[u8], &str); 6] = [
        (b"\x1f\x8b", "gzip"),
        (b"\x1f\x9d", "compress"),
        (b"BZh", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"\x28\xb5\x2f\xfd", "zstd"),
        (b"PK\x03\x04", "zip"),
    ];
    let found = BEGINNINGS.iter().find(|(it, _)| bytes.starts_with(it));
    found.map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::by;

    #[test]
    fn a_packed_file_is_known_by_its_first_bytes() {
        assert_eq!(by(b"\x1f\x8b\x08rest"), Some("gzip"));
        assert_eq!(by(b"\x28\xb5\x2f\xfdrest"), Some("zstd"));
        assert_eq!(by(b"NAME : square"), None);
        assert_eq!(by(b""), None);
    }
}
