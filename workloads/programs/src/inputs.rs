//! Inputs of programs, generated from a seed and kept beside the builds.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use png::{ColorType, Compression, Encoder};
use protocol::WholeInput;
use workloads::random::Random;

/// Returns the path of the input, which an earlier trial or this call creates. An incomplete input
/// never gets the final name.
pub(crate) fn make(
    folder: &Path,
    input: WholeInput,
    amount: u64,
    seed: u64,
) -> io::Result<PathBuf> {
    let name = match input {
        WholeInput::Bytes => "bytes",
        WholeInput::Sources => "sources",
        WholeInput::Picture => "picture.png",
    };
    let made = folder.join(format!("{seed}-{amount}-{name}"));
    if made.exists() {
        return Ok(made);
    }
    fs::create_dir_all(folder)?;
    let mut random = Random::new(seed);
    // If another trial creates the input at the same time, one of the two trials deletes its copy.
    let unfinished = tempfile::tempdir_in(folder)?;
    let path = unfinished.path().join(name);
    match input {
        WholeInput::Bytes => bytes(&path, amount, &mut random)?,
        WholeInput::Sources => sources(&path, amount, &mut random)?,
        WholeInput::Picture => picture(&path, amount, &mut random)?,
    }
    match fs::rename(&path, &made) {
        Err(_) if made.exists() => Ok(made),
        renamed => renamed.map(|()| made),
    }
}

fn bytes(path: &Path, mebibytes: u64, random: &mut Random) -> io::Result<()> {
    const WORDS: u64 = (1 << 20) / 8;
    let mut writer = io::BufWriter::new(fs::File::create(path)?);
    for _ in 0..mebibytes * WORDS {
        writer.write_all(&random.word().to_le_bytes())?;
    }
    writer.flush()
}

fn sources(path: &Path, files: u64, random: &mut Random) -> io::Result<()> {
    for file in 0..files {
        let folder = path.join(format!("part_{}/piece_{}", file / 64, file / 8));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("file_{file}.rs")), source(random))?;
    }
    Ok(())
}

fn source(random: &mut Random) -> String {
    let line = |random: &mut Random| {
        let word = random.below(1 << 20);
        match word % 8 {
            0 => "\n".to_owned(),
            1 => format!("    // The {word}th of them.\n"),
            2 => format!("/* As long as {word}\n   is more than nothing. */\n"),
            3 => format!("    let text = \"// no comment {word}\";\n"),
            _ => format!(
                "    total = total.wrapping_mul({word}).max(before[{}]);\n",
                word % 97
            ),
        }
    };
    (0..10 + random.below(150)).map(|_| line(random)).collect()
}

/// Writes slow waves of three colours with noise, as a PNG that is not compressed.
#[expect(
    clippy::cast_possible_truncation,
    reason = "colours are below 256, and the largest picture has less than 2^32 bytes"
)]
fn picture(path: &Path, lines: u64, random: &mut Random) -> io::Result<()> {
    const WIDTH: u32 = 512;
    let mut colours = Vec::new();
    for y in 0..lines {
        for x in 0..u64::from(WIDTH) {
            let noise = random.below(4);
            colours.extend(
                [
                    x / 4 + noise,
                    (x + y) / 8 + noise,
                    255 - (y / 4 + noise) % 256,
                ]
                .map(|it| (it % 256) as u8),
            );
        }
    }
    let mut encoder = Encoder::new(fs::File::create(path)?, WIDTH, lines as u32);
    encoder.set_color(ColorType::Rgb);
    encoder.set_compression(Compression::NoCompression);
    encoder.write_header()?.write_image_data(&colours)?;
    Ok(())
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
    fn sources_are_as_many_files_as_asked_for_eight_in_a_folder_with_code_comments_and_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let made = make(folder.path(), WholeInput::Sources, 70, 1).unwrap();
        let files = |piece: &str| fs::read_dir(made.join(piece)).unwrap().count();
        assert_eq!(
            ["part_0", "part_0/piece_7", "part_1/piece_8"].map(files),
            [8, 8, 6]
        );
        let all: Vec<String> = (0..8)
            .map(|file| fs::read_to_string(made.join(format!("part_0/piece_0/file_{file}.rs"))))
            .collect::<io::Result<_>>()
            .unwrap();
        for part in ["    // The", "/* As", "\n\n", "    total = "] {
            assert!(all.iter().any(|file| file.contains(part)), "{part}");
        }
    }

    #[test]
    fn a_picture_is_a_png_of_so_many_lines_that_is_not_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let made = make(folder.path(), WholeInput::Picture, 100, 1).unwrap();
        let mut read = vec![0; 512 * 100 * 3];
        assert!(fs::metadata(&made).unwrap().len() > read.len() as u64);
        let file = io::BufReader::new(fs::File::open(made).unwrap());
        let mut picture = png::Decoder::new(file).read_info().unwrap();
        picture.next_frame(&mut read).unwrap();
        assert_eq!((picture.info().width, picture.info().height), (512, 100));
        assert!(read[0] < 4 && read[1] == read[0] && read[2] == 255 - read[0]);
    }
}
