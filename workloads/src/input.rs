//! Reads the input files of workloads. Simulated machines have no files, so this module lies
//! outside `kinds/`.

use std::fs;
use std::path::Path;

use protocol::{Refusal, packed};

pub(crate) fn refusal(path: &Path, fault: &str) -> Refusal {
    Refusal::new(format!("input {}: {fault}", path.display()))
}

/// Reads a regular file of at most `longest` bytes. `expected` names the file's format.
pub(crate) fn read(path: &Path, longest: u64, expected: &str) -> Result<Vec<u8>, Refusal> {
    let refuse = |fault: String| refusal(path, &format!("{fault}; expected {expected}"));
    // Checks the kind of file before reading, because opening a pipe would wait for a writer.
    let facts = fs::metadata(path).map_err(|error| refuse(error.to_string()))?;
    if !facts.is_file() {
        return Err(refuse("is no regular file".to_owned()));
    }
    if facts.len() > longest {
        return Err(refuse(format!(
            "has {} bytes, more than the {longest} that are read",
            facts.len()
        )));
    }
    let bytes = fs::read(path).map_err(|error| refuse(error.to_string()))?;
    match packed::by(&bytes) {
        None => Ok(bytes),
        Some(packer) => Err(refusal(
            path,
            &format!("is compressed ({packer}); unpack it and name the result"),
        )),
    }
}
