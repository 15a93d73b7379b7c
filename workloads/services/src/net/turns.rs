//! A value that handlers wait for and the reader does not.
//!
//! The reader serves all connections. If it waited for a handler that lost its CPU while it held
//! one connection, all would wait. So the reader leaves word instead, and the handler looks for
//! word after it has released the value. With a fence between the two steps on either side, one of
//! them sees the other.

#[cfg(locks_loom)]
use loom::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, fence},
};
#[cfg(not(locks_loom))]
use std::sync::{
    Mutex, MutexGuard,
    atomic::{AtomicBool, Ordering::Relaxed, Ordering::SeqCst, fence},
};
use std::sync::{PoisonError, TryLockError};

/// See the file's header.
pub(super) struct Turns<T> {
    value: Mutex<T>,
    /// A thread came while another had the value.
    has_word: AtomicBool,
}

impl<T> Turns<T> {
    pub(super) fn new(value: T) -> Self {
        Self {
            value: Mutex::new(value),
            has_word: AtomicBool::new(false),
        }
    }

    /// Waits for the value. A holder that keeps it for longer than a moment asks
    /// [`Turns::take_word`] afterwards.
    pub(super) fn hold(&self) -> MutexGuard<'_, T> {
        // A thread that panicked left a whole value.
        self.value.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value; `None` if another thread has it, for which this call left word.
    pub(super) fn try_hold(&self) -> Option<MutexGuard<'_, T>> {
        if let Some(value) = self.hold_if_free() {
            return Some(value);
        }
        self.leave_word();
        self.hold_if_free()
    }

    pub(super) fn hold_if_free(&self) -> Option<MutexGuard<'_, T>> {
        match self.value.try_lock() {
            Ok(value) => Some(value),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(super) fn leave_word(&self) {
        self.has_word.store(true, Relaxed);
        // ORDERING: SeqCst fence between leaving word and trying the lock once more; pairs with the
        // one in `take_word`. Without it the lock may look taken by a thread that has looked for
        // word already.
        fence(SeqCst);
    }

    /// Whether a thread came while the value was taken; call it after the value was released.
    pub(super) fn take_word(&self) -> bool {
        // ORDERING: SeqCst fence between the release and looking for word; pairs with the one in
        // `leave_word`.
        fence(SeqCst);
        self.find_word()
    }

    /// After the fence in `take_word`.
    pub(super) fn find_word(&self) -> bool {
        // Relaxed: the fences order it. If the thread that left word got the value after all, its
        // word costs one needless look.
        self.has_word.load(Relaxed) && self.has_word.swap(false, Relaxed)
    }
}
