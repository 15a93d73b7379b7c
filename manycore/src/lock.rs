//! Locks of the interface of `std::sync`, over a word that cores share and queues of blocked cores.

use std::cell::{OnceCell, UnsafeCell};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;
pub use std::sync::{LockResult, PoisonError, TryLockError, TryLockResult};

use crate::atomic::{AtomicBool, AtomicU32, Ordering};
use crate::engine;
use crate::number::Number;

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

    /// Waits, at least until `is_early` says no.
    ///
    /// # Errors
    /// Never, as [`Self::wait`].
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

/// A place where threads wait until so many have come, again and again.
#[derive(Debug)]
pub struct Barrier {
    threads: usize,
    /// How many have come this time, and how many times all have.
    come: Mutex<(usize, usize)>,
    all_have_come: Condvar,
}

impl Barrier {
    /// A barrier for so many threads; 0 are as 1.
    #[must_use]
    pub const fn new(threads: usize) -> Self {
        Self { threads, come: Mutex::new((0, 0)), all_have_come: Condvar::new() }
    }

    /// Blocks until all have come.
    ///
    /// # Panics
    /// Never: the lock is not poisoned.
    #[track_caller]
    pub fn wait(&self) {
        let mut come = self.come.lock().expect("it is never poisoned");
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

/// A cell that is written once in each run: a run is a program of its own, and finds none of another's values in its
/// statics. Whoever comes while it is being written waits.
pub struct OnceLock<T> {
    number: Number,
    value: PhantomData<T>,
}

/// What a [`OnceLock`] is in one run.
#[repr(align(64))]
struct Once<T> {
    value: OnceCell<T>,
    lock: Mutex<()>,
    is_set: AtomicBool,
}

// SAFETY: as of `std::sync::OnceLock`: the value is written under the lock before `is_set`, and only read after it.
unsafe impl<T: Send + Sync> Sync for OnceLock<T> {}

impl<T: 'static> OnceLock<T> {
    /// An empty cell.
    #[must_use]
    pub const fn new() -> Self {
        Self { number: Number::new(), value: PhantomData }
    }

    /// What it is in this run; nothing outside a simulation. It stays when the run is over: a reference may, too.
    fn of_run(&self) -> Option<&'static Once<T>> {
        let once = engine::of_run(self.number.get(), || {
            Box::leak(Box::new(Once::<T> {
                value: OnceCell::new(),
                lock: Mutex::new(()),
                is_set: AtomicBool::new(false),
            }))
        })?;
        Some(once.downcast_ref().expect("a number belongs to one cell"))
    }

    /// The value, if it is there.
    #[track_caller]
    pub fn get(&self) -> Option<&T> {
        let once = self.of_run()?;
        once.is_set.load(Ordering::Acquire).then(|| once.value.get()).flatten()
    }

    /// The value; `make` makes it if it is not there.
    ///
    /// # Panics
    /// If `make` does, or comes back here; and outside a simulation.
    #[track_caller]
    pub fn get_or_init(&self, make: impl FnOnce() -> T) -> &T {
        let once = self.of_run().expect("a simulation runs: the cell is one of its program");
        if !once.is_set.load(Ordering::Acquire) {
            let _guard = once.lock.lock();
            once.value.get_or_init(make);
            once.is_set.store(true, Ordering::Release);
        }
        once.value.get().expect("it was made above, or before")
    }
}

impl<T: 'static> Default for OnceLock<T> {
    fn default() -> Self {
        Self::new()
    }
}
