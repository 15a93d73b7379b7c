//! Writes files atomically, so that a crash leaves the old file or the new file. Reads files that
//! other users may have made, and refuses pipes and devices, which could block the reader.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Serialize;
use tempfile::NamedTempFile;

use crate::stop::Stop;

const LONGEST_TEXT: u64 = 1 << 28;

/// Opens a file that any user may have put at `path`. A pipe, a socket or a device is an error.
pub(crate) fn open(path: &Path, options: &OpenOptions) -> io::Result<File> {
    // The path is checked before it is opened, because opening a pipe would wait for its other end,
    // and reading a device may never end.
    if is_special(path) {
        return Err(io::Error::new(ErrorKind::InvalidData, "not a regular file"));
    }
    options.open(path)
}

/// Reads a text file that any user may have put at `path`.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = open(path, OpenOptions::new().read(true))?;
    let read = file.take(LONGEST_TEXT + 1).read_to_string(&mut text)?;
    if read as u64 <= LONGEST_TEXT {
        return Ok(text);
    }
    let why = format!("it has more than {} MiB", LONGEST_TEXT >> 20);
    Err(io::Error::new(ErrorKind::InvalidData, why))
}

pub(crate) fn text_of_checkout(root: &Path, place: &str) -> Result<String, Stop> {
    read_text(&root.join(place)).map_err(|error| not_in_checkout(place, &error))
}

pub(crate) fn not_in_checkout(place: &str, error: &io::Error) -> Stop {
    Stop::BadInput(format!(
        "{place}: cannot be read: {error}; `git restore {place}` in the checkout puts it back"
    ))
}

/// Replaces or makes the file at `path`. `fill` writes the content, which is on the disk when this
/// function returns. A device or a pipe is not replaced; the content is written to the device or
/// the pipe.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> io::Result<()> {
    let filled = |file: &mut File| {
        let mut buffered = BufWriter::new(file);
        fill(&mut buffered)?;
        buffered.flush()
    };
    if is_special(path) {
        return filled(&mut OpenOptions::new().write(true).open(path)?);
    }
    // A symbolic link stays, and the file that the link names is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = folder_of(path);
    let mut temporary = NamedTempFile::new_in(folder)?;
    filled(temporary.as_file_mut())?;
    // Temporary files are private, but the new file must be readable like other files.
    temporary
        .as_file()
        .set_permissions(Permissions::from_mode(0o644))?;
    temporary.as_file().sync_all()?;
    temporary.persist(path)?;
    sync_folder(folder)
}

/// Whether a path leads to a special file, such as `/dev/stdout`, which is neither a file nor a
/// folder.
pub(crate) fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|it| !it.is_file() && !it.is_dir())
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|it| !it.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let probed = match fs::metadata(path) {
        Ok(it) if it.is_dir() => Err(ErrorKind::IsADirectory.into()),
        _ if is_special(path) => OpenOptions::new().write(true).open(path).map(drop),
        _ => NamedTempFile::new_in(folder_of(path)).map(drop),
    };
    probed.map_err(|error| {
        let reason = error.kind();
        let path = path.display();
        Stop::HostNotFit(format!(
            "{path}: cannot be written: {reason}; choose another file"
        ))
        .into()
    })
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write(path, |file| {
        serde_json::to_writer_pretty(&mut *file, value)?;
        file.write_all(b"\n")
    })
}

/// Writes the file unless the file already has this content, since other tools compare time stamps.
/// Returns whether it wrote the file.
///
/// # Errors
/// If the file exists and cannot be read, or if it cannot be written.
pub fn write_if_changed(path: &Path, content: impl AsRef<[u8]>) -> Result<bool> {
    match fs::read(path) {
        Ok(present) if present == content.as_ref() => return Ok(false),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("{} cannot be read", path.display()));
        }
        _ => {}
    }
    fs::write(path, content).with_context(|| format!("{} cannot be written", path.display()))?;
    Ok(true)
}

/// Returns the paths of the files below a folder, except those below folders called `target` or
/// `.git`. Symbolic links are not followed, because they may lead in a circle.
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

/// Turns a failed attempt to lock into an error, with the message of `held` if another process has
/// the lock.
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

pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_filled_stays_as_it_was_and_nothing_is_left_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write(&path, |file| file.write_all(b"before")).unwrap();
        let failed = write(&path, |file| {
            file.write_all(b"half of")?;
            Err(ErrorKind::StorageFull.into())
        });
        failed.unwrap_err();
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_regular_file_is_refused_at_once_and_so_is_a_text_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, link, socket, file] =
            ["pipe", "link", "socket", "file"].map(|name| folder.path().join(name));
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let endless = File::create(&file).unwrap();
        endless.set_len(LONGEST_TEXT + 1).unwrap();
        for (path, reason) in [
            (&*pipe, "not a regular file"),
            (&link, "not a regular file"),
            (&socket, "not a regular file"),
            (folder.path(), "Is a directory"),
            (&file, "it has more than 256 MiB"),
        ] {
            let said = read_text(path).unwrap_err().to_string();
            assert!(said.contains(reason), "{said}");
        }
        fs::write(&file, "text").unwrap();
        assert_eq!(read_text(&file).unwrap(), "text");
    }

    #[test]
    fn a_device_takes_what_is_written_and_is_not_replaced_and_a_link_stays_one() {
        let full = write(Path::new("/dev/full"), |file| file.write_all(b"text")).unwrap_err();
        assert_eq!(full.kind(), ErrorKind::StorageFull);
        let folder = tempfile::tempdir().unwrap();
        let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
        fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, |out| out.write_all(b"after")).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"after");
    }
}
