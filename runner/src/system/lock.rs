//! Locks of files, for which commands wait; and the host's lock, which keeps a second sweep from
//! disturbing the first sweep.

use std::fs::{File, OpenOptions, TryLockError, create_dir_all};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::stop::Stop;
use crate::system::{interrupt, whole_file};

/// Locks the file at `path`, and makes the file if necessary. Until the result is dropped, no other
/// process gets the lock. While another command has the lock, prints what that command `does`, and
/// waits.
///
/// # Errors
/// If the lock cannot be made; [`Stop::Interrupted`] after Ctrl-C.
pub fn wait(path: &Path, does: &str) -> Result<File> {
    let shown = path.display();
    let remedy = "make it writable, or name another folder with CARGO_TARGET_DIR";
    let describe = || format!("{shown} cannot be locked; {remedy}");
    create_dir_all(whole_file::folder_of(path)).with_context(describe)?;
    let file = File::create(path).with_context(describe)?;
    let mut is_told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(error).with_context(describe),
            Err(TryLockError::WouldBlock) => {}
        }
        if interrupt::is_requested() {
            bail!(Stop::Interrupted(format!(
                "interrupted while another command has {shown}"
            )));
        }
        if !is_told {
            tell!("waiting for another command that {does} …");
            is_told = true;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Environment variable with which tests name another file for the host's lock.
pub const HOST_LOCK: &str = "WORK_STEALING_SWEEP_LOCK";

/// The host's lock. While a measured sweep holds this lock, no other sweep runs on this host.
/// Simulated sweeps share the lock, because other programs do not change the virtual time of
/// simulated sweeps.
#[derive(Debug)]
pub struct HostLock {
    _file: File,
}

impl HostLock {
    /// Takes the lock for a sweep. If the sweep `is_simulated`, other simulated sweeps may hold the
    /// lock, too.
    ///
    /// # Errors
    /// [`Stop::HostNotFit`](crate::stop::Stop) if another sweep runs on this host. A simulated
    /// sweep is refused only if the other sweep measures the host.
    pub fn take(is_simulated: bool) -> Result<Self> {
        let path = Self::path();
        // The file is first opened without `create`. In a shared temporary folder, the kernel may
        // refuse `create` for another user's file, but a lock only needs read access.
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = File::open(&path).or_else(|_| options.open(&path));
        let file = file.with_context(|| format!("{} cannot be opened", path.display()))?;
        let locked = if is_simulated {
            file.try_lock_shared()
        } else {
            file.try_lock()
        };
        whole_file::check_locked(locked, &path, || {
            let path = path.display();
            format!(
                "another sweep runs on this host, and the two would disturb each other; wait for it or end it \
                 (`fuser -v {path}` shows its process)"
            )
        })?;
        Ok(Self { _file: file })
    }

    fn path() -> PathBuf {
        std::env::var_os(HOST_LOCK).map_or_else(
            || PathBuf::from("/var/tmp/work-stealing-sweep.lock"),
            PathBuf::from,
        )
    }

    pub(crate) fn is_held() -> Result<bool, String> {
        is_held(&Self::path())
    }
}

fn is_held(path: &Path) -> Result<bool, String> {
    let unknown = |error: io::Error| format!("{} cannot be read: {error}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        // Every sweep makes the lock file, so without this file no sweep runs.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(unknown(error)),
    };
    // This check takes a shared lock, so that two processes that only check do not mistake each
    // other for a sweep.
    match file.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(unknown(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_command_waits_until_the_first_has_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("made/lock");
        let first = wait(&path, "works").unwrap();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| wait(&path, "works").unwrap());
            std::thread::sleep(Duration::from_millis(50));
            assert!(!second.is_finished());
            drop(first);
            second.join().unwrap();
        });
    }

    #[test]
    fn whether_a_sweep_runs_is_unknown_where_its_lock_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        assert_eq!(is_held(&path), Ok(false));
        let locked = File::create(&path).unwrap();
        assert_eq!(is_held(&path), Ok(false));
        locked.lock().unwrap();
        assert_eq!(is_held(&path), Ok(true));
        let below = path.join("lock");
        let reason = is_held(&below).unwrap_err();
        assert!(reason.contains("lock/lock cannot be read: "), "{reason}");
    }
}
