//! What programs read: made of a seed, the same on every machine, and kept beside the builds.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use protocol::WholeInput;
use workloads::random::Random;

/// Makes the input in a folder unless it is there; never half of it.
pub(crate) fn make(
    folder: &Path,
    input: WholeInput,
    amount: u64,
    seed: u64,
) -> io::Result<PathBuf> {
    let name = match input {
        WholeInput::Bytes => "bytes",
    };
    let made = folder.join(format!("{seed}-{amount}-{name}"));
    if made.exists() {
        return Ok(made);
    }
    fs::create_dir_all(folder)?;
    let mut unfinished = tempfile::NamedTempFile::new_in(folder)?;
    let mut random = Random::new(seed);
    match input {
        WholeInput::Bytes => bytes(unfinished.as_file_mut(), amount, &mut random)?,
    }
    unfinished.persist(&made)?;
    Ok(made)
}

fn bytes(file: &mut fs::File, mebibytes: u64, random: &mut Random) -> io::Result<()> {
    const WORDS: u64 = (1 << 20) / 8;
    let mut writer = io::BufWriter::new(file);
    for _ in 0..mebibytes * WORDS {
        writer.write_all(&random.word().to_le_bytes())?;
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_the_same_input_and_another_seed_another() {
        let folder = tempfile::tempdir().unwrap();
        let bytes = |place: &str, seed| {
            let made = make(&folder.path().join(place), WholeInput::Bytes, 1, seed).unwrap();
            fs::read(made).unwrap()
        };
        assert_eq!(bytes("one", 1), bytes("two", 1));
        assert_ne!(bytes("one", 1), bytes("one", 2));
    }

    #[test]
    fn an_input_is_as_large_as_asked_for_and_is_made_once() {
        let folder = tempfile::tempdir().unwrap();
        let made = || make(folder.path(), WholeInput::Bytes, 2, 1).unwrap();
        assert_eq!(fs::metadata(made()).unwrap().len(), 2 << 20);
        fs::write(made(), "another").unwrap();
        assert_eq!(fs::read(made()).unwrap(), b"another");
    }
}
