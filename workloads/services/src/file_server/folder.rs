//! Opens files below a root, and nothing else.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};

use crate::http::{Status, Wrong};

const FORBIDDEN: Wrong = (Status(403, "Forbidden"), "");
const NOT_FOUND: Wrong = (Status::NOT_FOUND, "");
const INTERNAL_SERVER_ERROR: Wrong = (Status(500, "Internal Server Error"), "");

/// A directory of files to serve.
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens the directory at `root`.
    ///
    /// # Errors
    /// If it cannot be opened, or the kernel cannot confine names to it (Linux before 5.6).
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let folder = Self(File::open(root)?.into());
        if !folder.file(b".")?.metadata()?.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        Ok(folder)
    }

    /// Opens the file of that name, and returns its length.
    ///
    /// # Errors
    /// If there is no such file, or the server may not serve it.
    pub(super) fn find(&self, name: &[u8]) -> Result<(File, u64), Wrong> {
        let wrong = |error: io::Error| match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ENAMETOOLONG | Errno::ELOOP) => NOT_FOUND,
            // The first error means that the name leads out of the root.
            Some(Errno::EXDEV | Errno::EACCES | Errno::EPERM) => FORBIDDEN,
            _ => INTERNAL_SERVER_ERROR,
        };
        let file = self.file(name).map_err(wrong)?;
        let metadata = file.metadata().map_err(wrong)?;
        if !metadata.is_file() {
            return Err(FORBIDDEN);
        }
        Ok((file, metadata.len()))
    }

    /// Opens a name below the root. The kernel refuses every name that leads out of the root by
    /// `..`, an absolute name or a symbolic link, even if files change meanwhile.
    fn file(&self, name: &[u8]) -> io::Result<File> {
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let how = OpenHow::new().flags(flags).resolve(resolve);
        Ok(openat2(&self.0, OsStr::from_bytes(name), how)?.into())
    }
}
