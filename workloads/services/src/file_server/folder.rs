//! Opens files below a root, and nothing else.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use percent_encoding::{AsciiSet, CONTROLS, percent_encode};

use crate::http::{Status, Wrong};

const FORBIDDEN: Wrong = (Status(403, "Forbidden"), "");
const NOT_FOUND: Wrong = (Status::NOT_FOUND, "");
const INTERNAL_SERVER_ERROR: Wrong = (Status(500, "Internal Server Error"), "");

/// The file that a browser gets for a directory.
const INDEX: &str = "index.html";

/// Characters that must be escaped in an address.
const ESCAPED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'\\');

/// A directory of files to serve.
pub(super) struct Folder(OwnedFd);

/// The result of the lookup of a name.
pub(super) enum Found {
    File {
        file: File,
        bytes: u64,
        content_type: &'static str,
    },
    /// A directory whose name lacks its last slash, without which its page's links would be wrong.
    Elsewhere(String),
    Nothing(Wrong),
}

impl Folder {
    /// The directory at `root`.
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

    /// The file under a name, or the index of the directory under it.
    pub(super) fn find(&self, name: &[u8]) -> Found {
        match self.try_find(name) {
            Ok(found) => found,
            Err(error) => Found::Nothing(match error.raw_os_error().map(Errno::from_raw) {
                Some(Errno::ENOENT | Errno::ENOTDIR | Errno::ENAMETOOLONG | Errno::ELOOP) => {
                    NOT_FOUND
                }
                // The first: the name leads out of the root.
                Some(Errno::EXDEV | Errno::EACCES | Errno::EPERM) => FORBIDDEN,
                _ => INTERNAL_SERVER_ERROR,
            }),
        }
    }

    fn try_find(&self, name: &[u8]) -> io::Result<Found> {
        let is_root = name.is_empty();
        let file = self.file(if is_root { b"." } else { name })?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            if !is_root && !name.ends_with(b"/") {
                return Ok(Found::Elsewhere(format!(
                    "/{}/",
                    percent_encode(name, ESCAPED)
                )));
            }
            return self.try_find(&[name, INDEX.as_bytes()].concat());
        }
        if !metadata.is_file() {
            return Ok(Found::Nothing(FORBIDDEN));
        }
        let path = Path::new(OsStr::from_bytes(name));
        let content_type = mime_guess::from_path(path)
            .first_raw()
            .unwrap_or("application/octet-stream");
        Ok(Found::File {
            file,
            bytes: metadata.len(),
            content_type,
        })
    }

    /// Opens a name that the kernel itself confines: it refuses every name that leads out of the
    /// root, be it by `..`, an absolute name or a symbolic link, and however they are changed
    /// meanwhile.
    fn file(&self, name: &[u8]) -> io::Result<File> {
        // Without O_NONBLOCK, opening a pipe would wait for its other end.
        let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
        let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let how = OpenHow::new().flags(flags).resolve(resolve);
        Ok(openat2(&self.0, OsStr::from_bytes(name), how)?.into())
    }
}
