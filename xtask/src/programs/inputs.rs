//! What programs read: made-up files, the same on every machine, and folders that are at hand.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use flate2::Crc;
use flate2::write::ZlibEncoder;
use xshell::Shell;

use super::builds::Built;
use super::catalogue::{Input, Program};
use crate::registry;

/// Bytes of the made-up file.
const BYTES: usize = 200_000_000;

/// Width and height of the made-up picture.
const PIXELS: (u32, u32) = (480, 320);

/// Of what is random in the made-up files.
const SEED: u64 = 1;

/// Folders of this checkout that have sources.
const FOLDERS: [&str; 6] = ["manycore", "probes", "rayon-fork", "runner", "workloads", "xtask"];

/// All arguments of the program; makes its input if it is missing.
pub(super) fn arguments(sh: &Shell, program: &Program, built: &Built) -> Result<Vec<OsString>> {
    let made = sh.current_dir().join("target/programs/inputs");
    sh.create_dir(&made)?;
    let input = match program.input {
        Input::Sources => {
            let own = FOLDERS.iter().map(|name| sh.current_dir().join(name));
            own.chain(registry::packages(sh, &built.folder)?).collect()
        }
        Input::Bytes => vec![make(made.join(format!("{BYTES}-bytes")), || Ok(bytes()))?],
        Input::Picture => {
            let (width, height) = PIXELS;
            vec![make(made.join(format!("{width}x{height}.png")), picture)?]
        }
    };
    let arguments = program.arguments.iter().map(OsString::from);
    Ok(arguments.chain(input.into_iter().map(PathBuf::into_os_string)).collect())
}

/// Writes the file unless it is there; never half of it.
fn make(file: PathBuf, content: impl FnOnce() -> io::Result<Vec<u8>>) -> Result<PathBuf> {
    let write = |file: &Path| {
        let unfinished = file.with_extension("unfinished");
        std::fs::write(&unfinished, content()?)?;
        std::fs::rename(unfinished, file)
    };
    if !file.exists() {
        write(&file).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(file)
}

fn bytes() -> Vec<u8> {
    let mut bytes = vec![0; BYTES];
    fastrand::Rng::with_seed(SEED).fill(&mut bytes);
    bytes
}

/// A PNG of slow gradients with some noise, as photographs have, compressed badly.
fn picture() -> io::Result<Vec<u8>> {
    let mut random = fastrand::Rng::with_seed(SEED);
    let (width, height) = PIXELS;
    let mut lines = ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    for y in 0..height {
        // The line is filtered by nothing.
        lines.write_all(&[0])?;
        for x in 0..width {
            for wave in [x / 3 + y / 5, x / 4, (x + y) / 6] {
                lines.write_all(&[wave.to_le_bytes()[0] ^ random.u8(..4)])?;
            }
        }
    }
    let mut header = [width.to_be_bytes(), height.to_be_bytes()].concat();
    // Eight bits for each of three colours; no choice for the rest.
    header.extend([8, 2, 0, 0, 0]);
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, content) in [(b"IHDR", header), (b"IDAT", lines.finish()?), (b"IEND", Vec::new())] {
        png.extend(u32::try_from(content.len()).map_err(io::Error::other)?.to_be_bytes());
        let mut sum = Crc::new();
        for part in [&kind[..], &content] {
            sum.update(part);
            png.extend(part);
        }
        png.extend(sum.sum().to_be_bytes());
    }
    Ok(png)
}
