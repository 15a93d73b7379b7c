//! Locks with the interface of `std::sync`, made of a word that cores share and queues of blocked
//! threads. No lock is ever poisoned.
#![expect(
    missing_docs,
    clippy::must_use_candidate,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    reason = "the standard library documents this interface"
)]

use std::cell::UnsafeCell;
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};
use std::time::Duration;

use crate::atomic::{AtomicU32, Ordering};
use crate::engine;
pub use crate::once::{Once, OnceLock};
use crate::time::Instant;

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// A thread has the lock, and others may wait.
const WAITED_FOR: u32 = 2;

/// How often a thread tries again before it blocks: as often as the standard library's lock.
const SPINS: u32 = 100;

/// A mutual exclusion lock in three states (U. Drepper, "Futexes Are Tricky", the third mutex). A
/// thread spins before it blocks, as in the standard library's lock on Linux.
#[derive(Debug, Default)]
pub struct Mutex<T: ?Sized> {
    state: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: at most one guard exists at a time, as for `std::sync::Mutex`. So threads reach the value
// one after another, which `T: Send` allows.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: at most one guard exists at a time, so threads reach the value one after another, which
// `T: Send` allows.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

// Like the standard library's locks, these locks may be used across `catch_unwind`.
impl<T: ?Sized> UnwindSafe for Mutex<T> {}
impl<T: ?Sized> RefUnwindSafe for Mutex<T> {}

impl<T> Mutex<T> {
    pub const fn new(value: T) -> Self {
        Self {
            state: AtomicU32::new(FREE),
            value: UnsafeCell::new(value),
        }
    }

    pub fn into_inner(self) -> LockResult<T> {
        Ok(self.value.into_inner())
    }
}

impl<T: ?Sized> Mutex<T> {
    fn address(&self) -> usize {
        std::ptr::from_ref(&self.state) as usize
    }

    #[track_caller]
    pub fn lock(&self) -> LockResult<MutexGuard<'_, T>> {
        let at = Location::caller();
        if !self.try_take() {
            self.lock_contended(at);
        }
        Ok(MutexGuard { lock: self, at })
    }

    #[track_caller]
    fn try_take(&self) -> bool {
        let taken = self
            .state
            .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    fn lock_contended(&self, at: &'static Location<'static>) {
        let mut state = self.spin(at);
        if state == FREE {
            match self
                .state
                .compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
        while state == WAITED_FOR || self.state.swap_at(WAITED_FOR, at) != FREE {
            assert!(
                !engine::running().is_null(),
                "a lock of a simulation is taken, and no thread runs that could free it"
            );
            let before = engine::clock();
            let is_taken = || self.state.load_at(at) == WAITED_FOR;
            engine::block(self.address(), None, is_taken, at);
            engine::waited_for_a_lock(before, at);
            state = self.spin(at);
        }
    }

    /// Spins for a limited time, until the lock is free or another thread waits for the lock.
    /// Returns the lock's state.
    fn spin(&self, at: &'static Location<'static>) -> u32 {
        for _ in 0..SPINS {
            let state = self.state.load_at(at);
            if state != TAKEN {
                return state;
            }
            engine::pause();
        }
        self.state.load_at(at)
    }

    pub fn is_poisoned(&self) -> bool {
        false
    }

    #[track_caller]
    pub fn try_lock(&self) -> TryLockResult<MutexGuard<'_, T>> {
        if self.try_take() {
            Ok(MutexGuard {
                lock: self,
                at: Location::caller(),
            })
        } else {
            Err(TryLockError::WouldBlock)
        }
    }

    pub fn get_mut(&mut self) -> LockResult<&mut T> {
        Ok(self.value.get_mut())
    }
}

#[must_use = "the lock is free again when the guard is dropped"]
pub struct MutexGuard<'a, T: ?Sized> {
    lock: &'a Mutex<T>,
    /// The place in the source that took the lock, because a guard's destructor does not know the
    /// place that drops the guard.
    at: &'static Location<'static>,
}

impl<T: ?Sized> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one, so no other reference exists.
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
        if self.lock.state.swap_at(FREE, self.at) == WAITED_FOR {
            engine::wake(self.lock.address(), 1, self.at);
        }
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for MutexGuard<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

/// A condition variable: a count of notifications. A thread blocks only if this count has not
/// changed since before the thread freed its lock.
#[derive(Debug, Default)]
pub struct Condvar {
    notifications: AtomicU32,
}

impl Condvar {
    pub const fn new() -> Self {
        Self {
            notifications: AtomicU32::new(0),
        }
    }

    fn address(&self) -> usize {
        std::ptr::from_ref(&self.notifications) as usize
    }

    /// Frees the lock, blocks until notified or until the time is up, and takes the lock again.
    /// Returns whether the caller was notified.
    #[track_caller]
    fn wait_for<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Option<Duration>,
    ) -> (MutexGuard<'a, T>, bool) {
        let lock = guard.lock;
        let seen = self.notifications.load(Ordering::Relaxed);
        drop(guard);
        let is_unchanged = || self.notifications.load(Ordering::Relaxed) == seen;
        let is_woken = engine::block(self.address(), time, is_unchanged, Location::caller());
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        (guard, is_woken)
    }

    #[track_caller]
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        Ok(self.wait_for(guard, None).0)
    }

    #[track_caller]
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        time: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let (guard, is_woken) = self.wait_for(guard, Some(time));
        Ok((guard, WaitTimeoutResult(!is_woken)))
    }

    #[track_caller]
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut is_early: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while is_early(&mut guard) {
            guard = self.wait(guard)?;
        }
        Ok(guard)
    }

    #[track_caller]
    pub fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        time: Duration,
        mut is_early: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let start = Instant::now();
        while is_early(&mut guard) {
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok((guard, WaitTimeoutResult(true)));
            }
            guard = self.wait_timeout(guard, left)?.0;
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    #[track_caller]
    pub fn notify_one(&self) {
        self.notify(1);
    }

    #[track_caller]
    pub fn notify_all(&self) {
        self.notify(usize::MAX);
    }

    #[track_caller]
    fn notify(&self, most: usize) {
        self.notifications.fetch_add(1, Ordering::Relaxed);
        engine::wake(self.address(), most, Location::caller());
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

#[derive(Debug)]
pub struct Barrier {
    threads: usize,
    come: Mutex<(usize, usize)>,
    all_have_come: Condvar,
}

impl Barrier {
    pub const fn new(threads: usize) -> Self {
        Self {
            threads,
            come: Mutex::new((0, 0)),
            all_have_come: Condvar::new(),
        }
    }

    #[track_caller]
    pub fn wait(&self) {
        let mut come = self.come.lock().expect("the lock is never poisoned");
        come.0 += 1;
        if come.0 >= self.threads {
            *come = (0, come.1 + 1);
            drop(come);
            self.all_have_come.notify_all();
            return;
        }
        let round = come.1;
        drop(self.all_have_come.wait_while(come, |come| come.1 == round));
    }
}
