//! Locks of the interface of `std::sync`, over a word that cores share and queues of blocked cores.

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use crate::atomic::{AtomicU32, Ordering};
use crate::engine;

/// Nobody has the lock.
const FREE: u32 = 0;
/// Somebody has it, and nobody waits.
const TAKEN: u32 = 1;
/// Somebody has it, and somebody may wait.
const WAITED_FOR: u32 = 2;

/// A mutual exclusion lock in three states (U. Drepper, "Futexes Are Tricky", the second mutex). It is never poisoned.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: as of `std::sync::Mutex`: at most one guard exists at a time, so a value that can be sent can be lent to one
// thread after another.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T> Mutex<T> {
    /// A free lock around `value`.
    #[must_use]
    pub const fn new(value: T) -> Self {
        Self { state: AtomicU32::new(FREE), value: UnsafeCell::new(value) }
    }

    /// The value.
    ///
    /// # Errors
    /// Never: it is not poisoned.
    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(&self.state) as usize
    }

    /// Blocks until the lock is free, and takes it.
    ///
    /// # Errors
    /// Never: it is not poisoned.
    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let taken = self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        if taken.is_err() {
            self.lock_contended(Location::caller());
        }
        Ok(MutexGuard { lock: self, at: Location::caller() })
    }

    fn lock_contended(&self, at: &'static Location<'static>) {
        while self.state.swap_at(WAITED_FOR, at) != FREE {
            assert!(
                !engine::running().is_null(),
                "a lock of a simulation is taken, and nobody runs who frees it"
            );
            engine::block(self.address(), || self.state.load(Ordering::Relaxed) == WAITED_FOR, at);
        }
    }

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// If somebody has it.
    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        match self.state.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Ok(MutexGuard { lock: self, at: Location::caller() }),
            Err(_) => Err(TryLockError::WouldBlock),
        }
    }

    /// The value, by exclusive access.
    ///
    /// # Errors
    /// Never: it is not poisoned.
    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }

    /// Frees the lock, which was taken `at` that place: a guard does not know where it is dropped.
    fn unlock(&self, at: &'static Location<'static>) {
        if self.state.swap_at(FREE, at) == WAITED_FOR {
            engine::wake(self.address(), 1);
        }
    }
}

/// Grants access to the value of a [`Mutex`] until dropped.
#[must_use = "the lock is free again when the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    at: &'static Location<'static>,
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, so nobody else has a reference.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T: ?Sized> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one, and it is borrowed mutably.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.lock.unlock(self.at);
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A condition variable: a count of notifications, and those who wait for it to change.
#[derive(Debug, Default)]
pub struct Condvar {
    notifications: AtomicU32,
}

impl Condvar {
    /// A condition variable on which nobody waits.
    #[must_use]
    pub const fn new() -> Self {
        Self { notifications: AtomicU32::new(0) }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(&self.notifications) as usize
    }

    /// Frees the lock, blocks until notified, and takes the lock again.
    ///
    /// # Errors
    /// Never: the lock is not poisoned.
    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        let lock = guard.lock;
        let seen = self.notifications.load(Ordering::Relaxed);
        drop(guard);
        let is_unchanged = || self.notifications.load(Ordering::Relaxed) == seen;
        engine::block(self.address(), is_unchanged, Location::caller());
        lock.lock()
    }

    /// Wakes one of those who wait.
    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(1);
    }

    /// Wakes all who wait.
    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(usize::MAX);
    }

    #[track_caller]
    fn notify(&self, most: usize) {
        self.notifications.fetch_add(1, Ordering::Relaxed);
        engine::wake(self.address(), most);
    }
}

/// A cell that is written once. Whoever comes while it is being written waits.
pub struct OnceLock<T> {
    value: std::cell::OnceCell<T>,
    lock: Mutex<()>,
    is_set: crate::atomic::AtomicBool,
}

// SAFETY: as of `std::sync::OnceLock`: the value is written under the lock before `is_set`, and only read after it.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T> OnceLock<T> {
    /// An empty cell.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            value: std::cell::OnceCell::new(),
            lock: Mutex::new(()),
            is_set: crate::atomic::AtomicBool::new(false),
        }
    }

    /// The value, if it is there.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        self.is_set.load(Ordering::Acquire).then(|| self.value.get()).flatten()
    }

    /// The value; `make` makes it if it is not there.
    ///
    /// # Panics
    /// If `make` does, or comes back here.
    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        if self.get().is_none() {
            let _guard = self.lock.lock();
            self.value.get_or_init(make);
            self.is_set.store(true, Ordering::Release);
        }
        self.value.get().expect("it was made above, or before")
    }
}

impl<T> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}
