//! The platform's lock, which puts waiting threads to sleep.

use super::Lock;
use super::sync::{Mutex as Platform, PoisonError, TryLockError};

/// The standard library's mutex (a futex on Linux).
pub(in super::super) struct Mutex(Platform<()>);

// SAFETY: the standard library promises both. A poisoned lock is taken all the same: a panic ends
// the trial anyway, and mutual exclusion holds as before.
unsafe impl Lock for Mutex {
    fn new(_: usize) -> Self {
        Self(Platform::new(()))
    }

    fn hold<R>(&self, section: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        section()
    }

    fn try_hold<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        let _guard = match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(section())
    }
}
