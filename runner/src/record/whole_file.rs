//! Files that a crash leaves old or new, never half of one; and files that keep their time stamps
//! where they are right.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::stop::Stop;

/// Replaces the file at `path`, or makes it, with what `fill` writes; it is on the disk when this
/// returns.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut NamedTempFile>) -> io::Result<()>,
) -> io::Result<()> {
    let folder = folder_of(path);
    let mut temporary = NamedTempFile::new_in(folder)?;
    let mut buffered = BufWriter::new(&mut temporary);
    fill(&mut buffered)?;
    buffered
        .into_inner()
        .map_err(io::IntoInnerError::into_error)?;
    // Readable like any other file, although temporary files are private.
    temporary
        .as_file()
        .set_permissions(Permissions::from_mode(0o644))?;
    temporary.as_file().sync_all()?;
    temporary.persist(path)?;
    sync_folder(folder)
}

/// The folder that a file is in, also of one that is named without it.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|it| !it.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

/// Checks that [`write`] can write a file, before anything is done for its sake.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let probed = NamedTempFile::new_in(folder_of(path));
    probed.map(drop).map_err(|error| {
        let reason = error.kind();
        let path = path.display();
        Stop::HostNotFit(format!(
            "{path}: cannot be written: {reason}; choose another place"
        ))
        .into()
    })
}

/// [`write`] of a value as indented JSON.
pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// Writes the file unless it says the same already, for those who look at time stamps; returns
/// whether it did.
pub(crate) fn write_if_changed(path: &Path, content: impl AsRef<[u8]>) -> Result<bool> {
    match fs::read(path) {
        Ok(present) if present == content.as_ref() => return Ok(false),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("{} cannot be read", path.display()));
        }
        _ => {}
    }
    fs::write(path, content).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(true)
}

/// Places of the files below a folder, but of what cargo and git keep there. Links are not
/// followed: they may lead in a circle.
pub(crate) fn files_below(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut left = vec![PathBuf::new()];
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let place = folder.join(entry.file_name());
            if !entry.file_type()?.is_dir() {
                files.push(place);
            } else if ![".git", "target"]
                .iter()
                .any(|kept| entry.file_name() == *kept)
            {
                left.push(place);
            }
        }
    }
    Ok(files)
}

/// Makes errors of locks that were not got: what `held` says, if somebody else has it.
pub(crate) fn check_locked(
    locked: Result<(), TryLockError>,
    path: &Path,
    held: impl FnOnce() -> String,
) -> Result<()> {
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Stop::HostNotFit(held()).into()),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("{} cannot be locked", path.display()))
        }
    }
}

/// Waits until the names of a folder's files are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
