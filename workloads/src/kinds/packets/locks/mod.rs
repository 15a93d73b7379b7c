//! The locks under comparison, one per file, and the value that one of them guards.
//!
//! A lock is a pair of functions that run a critical section. So the state of an acquisition (a
//! queue node, a slot) lives on the caller's stack, and a lock cannot be left by accident. Each
//! yields the processor after some spinning: a sweep also runs more threads than there are CPUs.

mod anderson;
mod mcs;
mod mutex;
mod sync;
mod tas;

use sync::UnsafeCell;

pub(super) use anderson::Anderson;
pub(super) use mcs::Mcs;
pub(super) use mutex::Mutex;
pub(super) use tas::Tas;

/// Lets one thread at a time into its critical sections.
///
/// # Safety
/// Two critical sections of one lock never overlap, and each sees everything that the ones before
/// it wrote. [`Locked`] hands out exclusive references on that promise.
pub(super) unsafe trait Lock: Send + Sync {
    /// A free lock that at most `threads` threads will use at a time.
    fn new(threads: usize) -> Self;

    /// Waits for the lock and runs `section` under it; releases the lock even if `section` panics.
    fn hold<R>(&self, section: impl FnOnce() -> R) -> R;

    /// Runs `section` if the lock is free at once; `None` if it is not.
    fn try_hold<R>(&self, section: impl FnOnce() -> R) -> Option<R>;
}

/// A value that only one thread at a time can reach.
pub(super) struct Locked<T, L> {
    lock: L,
    value: UnsafeCell<T>,
}

// SAFETY: a shared `Locked` gives out `&mut T` to one thread at a time, which the lock promises,
// and never `&T` beside it. So threads pass the value on to each other, which `T: Send` allows.
unsafe impl<T: Send, L: Lock> Sync for Locked<T, L> {}

impl<T, L: Lock> Locked<T, L> {
    /// The value behind a free lock, for at most `threads` threads.
    pub(super) fn new(value: T, threads: usize) -> Self {
        Self {
            lock: L::new(threads),
            value: UnsafeCell::new(value),
        }
    }

    /// Waits for the lock and works on the value.
    pub(super) fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        self.lock.hold(|| {
            self.value.with_mut(|value| {
                // SAFETY: inside a critical section of the lock, of which there is one at a time;
                // nothing else reaches the value, so this is the only reference to it.
                work(unsafe { &mut *value })
            })
        })
    }

    /// Works on the value if the lock is free at once.
    pub(super) fn try_with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock.try_hold(|| {
            self.value.with_mut(|value| {
                // SAFETY: as in `with`.
                work(unsafe { &mut *value })
            })
        })
    }
}

/// A lock that serves threads in the order in which they came.
#[cfg(test)]
trait FirstComeFirstServed: Lock {
    /// Stands for the thread that came last; `None` if the lock remembers none.
    fn last_comer(&self) -> Option<usize>;
}

#[cfg(all(test, locks_loom))]
mod models;
#[cfg(all(test, not(locks_loom)))]
mod stress;
