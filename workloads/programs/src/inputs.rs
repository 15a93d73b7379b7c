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
        WholeInput::Sources => "sources",
        WholeInput::Picture => "picture.png",
    };
    let made = folder.join(format!("{seed}-{amount}-{name}"));
    if made.exists() {
        return Ok(made);
    }
    fs::create_dir_all(folder)?;
    let mut random = Random::new(seed);
    // Of another trial at the same time, one is thrown away.
    let unfinished = tempfile::tempdir_in(folder)?;
    let path = unfinished.path().join(name);
    match input {
        WholeInput::Bytes => bytes(&path, amount, &mut random)?,
        WholeInput::Sources => sources(&path, amount, &mut random)?,
        WholeInput::Picture => fs::write(&path, picture(amount, &mut random))?,
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

/// Folders of eight files and folders of eight folders.
fn sources(path: &Path, files: u64, random: &mut Random) -> io::Result<()> {
    for file in 0..files {
        let folder = path.join(format!("part_{}/piece_{}", file / 64, file / 8));
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(format!("file_{file}.rs")), source(random))?;
    }
    Ok(())
}

/// Comments, empty lines and code of a made-up file.
fn source(random: &mut Random) -> String {
    let line = |random: &mut Random| {
        let word = random.below(1 << 20);
        match word % 8 {
            0 => "\n".to_owned(),
            1 => format!("    // The {word}th of them.\n"),
            2 => format!("/* As long as {word}\n   is more than nothing. */\n"),
            3 => format!("    let text = \"// no comment {word}\";\n"),
            _ => format!("    total = total.wrapping_mul({word}).max(before[{}]);\n", word % 97),
        }
    };
    (0..10 + random.below(150)).map(|_| line(random)).collect()
}

/// Slow waves of three colours with noise, 512 wide, as a PNG that is not compressed.
#[expect(
    clippy::cast_possible_truncation,
    reason = "colours are below 256, blocks below 2^16, and a picture of the most lines below 2^32 bytes"
)]
fn picture(lines: u64, random: &mut Random) -> Vec<u8> {
    const WIDTH: u32 = 512;
    let mut rows = Vec::new();
    for y in 0..lines {
        // No filter.
        rows.push(0);
        for x in 0..u64::from(WIDTH) {
            let noise = random.below(4);
            rows.extend(
                [x / 4 + noise, (x + y) / 8 + noise, 255 - (y / 4 + noise) % 256]
                    .map(|it| (it % 256) as u8),
            );
        }
    }
    let mut header = [WIDTH, lines as u32].map(u32::to_be_bytes).concat();
    // Eight bits each of red, green and blue.
    header.extend([8, 2, 0, 0, 0]);
    let mut data = vec![0x78, 0x01];
    let blocks = rows.chunks(0xffff);
    let last = blocks.len().saturating_sub(1);
    for (number, block) in blocks.enumerate() {
        let length = block.len() as u16;
        data.push(u8::from(number == last));
        data.extend([length, !length].map(u16::to_le_bytes).concat());
        data.extend(block);
    }
    let (a, b) = rows.iter().fold((1_u32, 0_u32), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65_521;
        (a, (a + b) % 65_521)
    });
    data.extend((b << 16 | a).to_be_bytes());
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, content) in [(b"IHDR", &header), (b"IDAT", &data), (b"IEND", &vec![])] {
        let named = [&kind[..], content].concat();
        png.extend((content.len() as u32).to_be_bytes());
        png.extend(&named);
        png.extend(crc(&named).to_be_bytes());
    }
    png
}

/// The sum that a PNG has behind each of its parts.
fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ ((sum & 1) * 0xedb8_8320))
    })
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

    #[test]
    fn sources_are_as_many_files_as_asked_for_eight_in_a_folder_with_code_comments_and_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let made = make(folder.path(), WholeInput::Sources, 70, 1).unwrap();
        let files = |piece: &str| fs::read_dir(made.join(piece)).unwrap().count();
        assert_eq!(["part_0", "part_0/piece_7", "part_1/piece_8"].map(files), [8, 8, 6]);
        let all: Vec<String> = (0..8)
            .map(|file| fs::read_to_string(made.join(format!("part_0/piece_0/file_{file}.rs"))))
            .collect::<io::Result<_>>()
            .unwrap();
        for part in ["    // The", "/* As", "\n\n", "    total = "] {
            assert!(all.iter().any(|file| file.contains(part)), "{part}");
        }
    }

    #[test]
    fn a_picture_is_a_png_of_so_many_lines_whose_parts_have_their_sums() {
        // That of the last part, which is empty, is the same in every PNG.
        assert_eq!(crc(b"IEND"), 0xae42_6082);
        let png = picture(100, &mut Random::new(1));
        let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().unwrap());
        assert_eq!((number(16), number(20)), (512, 100));
        let (mut at, mut kinds) = (8, Vec::new());
        while at < png.len() {
            let length = number(at) as usize;
            kinds.push(&png[at + 4..at + 8]);
            assert_eq!(number(at + 8 + length), crc(&png[at + 4..at + 8 + length]));
            at += 12 + length;
        }
        assert_eq!(kinds, [b"IHDR", b"IDAT", b"IEND"]);
    }
}
