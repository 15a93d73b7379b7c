//! A lock for which user threads wait by using up their quantum.

use std::cell::{Cell, RefCell, RefMut};
use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};

use super::Current;

/// A value that one user thread at a time can reach. As all share one OS thread, a thread that
/// finds the lock held finds it held for the rest of its quantum.
#[derive(Debug, Default)]
pub struct SpinLock<T> {
    is_held: Cell<bool>,
    /// Borrowed while the lock is held, so two holders at a time would be a panic.
    value: RefCell<T>,
}

impl<T> SpinLock<T> {
    /// A free lock.
    pub fn new(value: T) -> Self {
        Self {
            is_held: Cell::new(false),
            value: RefCell::new(value),
        }
    }

    /// Spins until the lock is free.
    pub fn lock(&self, me: &Current<'_>) -> SpinGuard<'_, T> {
        while self.is_held.replace(true) {
            spin_loop();
            me.safepoint();
        }
        SpinGuard {
            is_held: &self.is_held,
            value: self.value.borrow_mut(),
        }
    }

    /// The value, when no thread needs the lock any more.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// The lock is held while this lives.
pub struct SpinGuard<'a, T> {
    is_held: &'a Cell<bool>,
    /// Dropped after `is_held` was cleared, and before any other thread runs.
    value: RefMut<'a, T>,
}

impl<T> Deref for SpinGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for SpinGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for SpinGuard<'_, T> {
    fn drop(&mut self) {
        self.is_held.set(false);
    }
}
