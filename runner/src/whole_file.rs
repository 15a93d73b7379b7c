//! Files that a crash leaves old or new, never half of one.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tempfile::NamedTempFile;

/// Replaces the file at `path`, or makes it, with what `fill` writes; it is on the disk when this returns.
pub(crate) fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut NamedTempFile>) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut temporary = NamedTempFile::new_in(folder)?;
    let mut buffered = BufWriter::new(&mut temporary);
    fill(&mut buffered)?;
    buffered.into_inner().map_err(io::IntoInnerError::into_error)?;
    // Readable like any other file, although temporary files are private.
    temporary.as_file().set_permissions(Permissions::from_mode(0o644))?;
    temporary.as_file().sync_all()?;
    temporary.persist(path)?;
    sync_folder(folder)
}

/// Waits until the names of a folder's files are on the disk.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
