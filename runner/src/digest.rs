//! SHA-256 in hexadecimal: identities of cells, receipts of binaries.

use std::io;
use std::path::Path;

use serde::Serialize;
use sha2::{Digest, Sha256};

/// Digest of some bytes, 64 hexadecimal digits.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    Sha256::digest(bytes).iter().fold(String::with_capacity(64), |mut text, byte| {
        let _ = write!(text, "{byte:02x}"); // writing to a String cannot fail
        text
    })
}

/// Digest of a file's content.
///
/// # Errors
/// If the file cannot be read.
pub fn of_file(path: &Path) -> io::Result<String> {
    std::fs::read(path).map(|bytes| of_bytes(&bytes))
}

/// Short identity (16 hexadecimal digits) of a value: the digest of its JSON form.
///
/// # Panics
/// If the value has no JSON form (a map whose keys are not strings); ours all have.
#[must_use]
pub fn identity(value: &impl Serialize) -> String {
    let json = serde_json::to_vec(value).expect("identities are made of plain values");
    of_bytes(&json)[..16].to_owned()
}
