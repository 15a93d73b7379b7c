//! Reads the input files of workloads. Simulated machines have no files, so this lies outside
//! `kinds/`.

use std::fs;
use std::io;
use std::path::Path;

/// Why a file cannot be read.
pub(crate) enum Unusable {
    Unreadable(io::Error),
    NotRegular,
    /// The file has this many bytes.
    TooLong(u64),
}

/// Reads a regular file of at most `longest` bytes.
pub(crate) fn read(path: &Path, longest: u64) -> Result<Vec<u8>, Unusable> {
    // Checked before it is opened: opening a pipe would wait for its other end.
    let facts = fs::metadata(path).map_err(Unusable::Unreadable)?;
    if !facts.is_file() {
        return Err(Unusable::NotRegular);
    }
    if facts.len() > longest {
        return Err(Unusable::TooLong(facts.len()));
    }
    fs::read(path).map_err(Unusable::Unreadable)
}
