//! A lock for one that writes or many that read, of the interface of `std::sync::RwLock`.

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};

use crate::atomic::{AtomicU32, Ordering};
use crate::engine;
use crate::lock::{LockResult, TryLockError, TryLockResult};

/// A thread has a [`RwLock`] to write.
const WRITTEN: u32 = u32::MAX;

/// A lock for one writer or many readers. A thread that must wait blocks at once, and threads that
/// came first have no right of way. The lock is never poisoned.
#[derive(Debug, Default)]
pub struct RwLock<T: ?Sized> {
    /// How many read, or [`WRITTEN`].
    state: AtomicU32,
    waiting: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: as of `std::sync::RwLock`: a writer is alone, so a value that can be sent can be lent to
// one thread after another.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: as above, and threads that read share the value, which can be shared.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

impl<T: ?Sized> UnwindSafe for RwLock<T> {}
impl<T: ?Sized> RefUnwindSafe for RwLock<T> {}

/// Grants reading the value of a [`RwLock`] until dropped.
pub struct RwLockReadGuard<'a, T: ?Sized>(&'a RwLock<T>);

/// Grants writing the value of a [`RwLock`] until dropped.
pub struct RwLockWriteGuard<'a, T: ?Sized>(&'a RwLock<T>);

impl<T> RwLock<T> {
    /// A free lock around `value`.
    #[must_use]
    pub const fn new(value: T) -> Self {
        let [state, waiting] = [const { AtomicU32::new(0) }; 2];
        Self {
            state,
            waiting,
            value: UnsafeCell::new(value),
        }
    }

    /// The value.
    ///
    /// # Errors
    /// Never: it is not poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

impl<T: ?Sized> RwLock<T> {
    /// Blocks until no thread writes.
    ///
    /// # Errors
    /// Never: it is not poisoned.
    #[track_caller]
    pub fn read(&self) -> LockResult<RwLockReadGuard<'_, T>> {
        self.take(|state| (state != WRITTEN).then(|| state + 1));
        Ok(RwLockReadGuard(self))
    }

    /// Blocks until no thread reads or writes.
    ///
    /// # Errors
    /// Never: it is not poisoned.
    #[track_caller]
    pub fn write(&self) -> LockResult<RwLockWriteGuard<'_, T>> {
        self.take(|state| (state == 0).then_some(WRITTEN));
        Ok(RwLockWriteGuard(self))
    }

    /// Takes it to read if no thread writes.
    ///
    /// # Errors
    /// If somebody does.
    #[track_caller]
    pub fn try_read(&self) -> TryLockResult<RwLockReadGuard<'_, T>> {
        let next = |state: u32| (state != WRITTEN).then(|| state + 1);
        let taken = self
            .state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, next);
        taken
            .map(|_| RwLockReadGuard(self))
            .map_err(|_| TryLockError::WouldBlock)
    }

    /// Takes it to write if no thread reads or writes.
    ///
    /// # Errors
    /// If somebody does.
    #[track_caller]
    pub fn try_write(&self) -> TryLockResult<RwLockWriteGuard<'_, T>> {
        let taken = self
            .state
            .compare_exchange(0, WRITTEN, Ordering::Acquire, Ordering::Relaxed);
        taken
            .map(|_| RwLockWriteGuard(self))
            .map_err(|_| TryLockError::WouldBlock)
    }

    /// The value, by exclusive access.
    ///
    /// # Errors
    /// Never: it is not poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }

    /// Whether a thread panicked that had the lock; the answer is no.
    pub fn is_poisoned(&self) -> bool {
        false
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(&self.state) as usize
    }

    #[track_caller]
    fn take(&self, next: impl Fn(u32) -> Option<u32>) {
        let at = Location::caller();
        while self
            .state
            .fetch_update(Ordering::Acquire, Ordering::Relaxed, &next)
            .is_err()
        {
            self.waiting.fetch_add(1, Ordering::Relaxed);
            let is_taken = || next(self.state.load_at(at)).is_none();
            engine::block_for_a_lock(self.address(), is_taken, at);
            self.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn free(&self, is_free: bool) {
        if is_free && self.waiting.load(Ordering::Relaxed) > 0 {
            engine::wake(self.address(), usize::MAX, Location::caller());
        }
    }
}

impl<T: ?Sized> Deref for RwLockReadGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: while this guard is there nobody writes.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> Deref for RwLockWriteGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one of either kind.
        unsafe { &*self.0.value.get() }
    }
}

impl<T: ?Sized> DerefMut for RwLockWriteGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in `deref`, and it is borrowed mutably.
        unsafe { &mut *self.0.value.get() }
    }
}

impl<T: ?Sized> Drop for RwLockReadGuard<'_, T> {
    fn drop(&mut self) {
        self.0
            .free(self.0.state.fetch_sub(1, Ordering::Release) == 1);
    }
}

impl<T: ?Sized> Drop for RwLockWriteGuard<'_, T> {
    fn drop(&mut self) {
        self.0.state.store(0, Ordering::Release);
        self.0.free(true);
    }
}
