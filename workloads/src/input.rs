//! Reads the files that workloads are given. Files are the host's, so this lies outside `kinds/`.

use std::fs;
use std::io;
use std::path::Path;

/// Why a file is not read.
pub(crate) enum Unusable {
    Unreadable(io::Error),
    NotRegular,
    /// It has so many bytes.
    TooLong(u64),
}

/// Reads a regular file of at most `longest` bytes.
pub(crate) fn read(path: &Path, longest: u64) -> Result<Vec<u8>, Unusable> {
    // Asked before it is opened: a pipe would wait for its other end.
    let facts = fs::metadata(path).map_err(Unusable::Unreadable)?;
    if !facts.is_file() {
        return Err(Unusable::NotRegular);
    }
    if facts.len() > longest {
        return Err(Unusable::TooLong(facts.len()));
    }
    fs::read(path).map_err(Unusable::Unreadable)
}
