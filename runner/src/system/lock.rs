//! A lock that commands at once wait for, since one would destroy what the other makes.

use std::fs::{File, TryLockError, create_dir_all};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use crate::stop::Stop;
use crate::system::interrupt;
use crate::system::whole_file::folder_of;

/// Locks the file at `path`, and makes it if it is not there; until the result is dropped, no other
/// process has it. If another command has it, which `does` something, says so and waits.
///
/// # Errors
/// If the lock cannot be made; [`Stop::Interrupted`].
pub fn wait(path: &Path, does: &str) -> Result<File> {
    let describe = || {
        format!(
            "{} cannot be locked; give yourself the right to write there, or name another folder by \
             CARGO_TARGET_DIR",
            path.display()
        )
    };
    create_dir_all(folder_of(path)).with_context(describe)?;
    let file = File::create(path).with_context(describe)?;
    let mut is_told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) if interrupt::is_requested() => {
                bail!(Stop::Interrupted(format!(
                    "interrupted while another command has {}",
                    path.display()
                )))
            }
            Err(TryLockError::WouldBlock) => {
                if !is_told {
                    tell!("waiting for another command that {does} …");
                    is_told = true;
                }
                std::thread::sleep(Duration::from_millis(200));
            }
            Err(TryLockError::Error(error)) => return Err(error).with_context(describe),
        }
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
}
