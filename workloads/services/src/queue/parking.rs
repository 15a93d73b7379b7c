//! Waiting beside a queue that knows no waiting.
//!
//! A thread that waits announces it, and looks once more; one that brings a task looks afterwards
//! whether a thread waits. With a fence between the two steps on either side, one of them sees the
//! other: no task stays in the queue while all sleep. The lock is taken only if a thread waits.

#[cfg(locks_loom)]
use loom::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence},
};
use std::sync::PoisonError;
#[cfg(not(locks_loom))]
use std::sync::{
    Condvar, Mutex, MutexGuard,
    atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence},
};
use std::time::Duration;

/// Threads that wait for something that is elsewhere.
pub(super) struct Parking {
    /// Changed under the lock only; read without it by threads that bring tasks.
    waiting: AtomicUsize,
    is_closed: Mutex<bool>,
    changed: Condvar,
}

impl Parking {
    pub(super) fn new() -> Self {
        Self {
            waiting: AtomicUsize::new(0),
            is_closed: Mutex::new(false),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, bool> {
        self.is_closed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Something was brought.
    pub(super) fn wake_one(&self) {
        // ORDERING: SeqCst fence between bringing a task and looking for waiting threads; pairs
        // with the one in `begin_wait`. Without it both may miss each other, and the task stays in
        // the queue while its only taker sleeps.
        fence(SeqCst);
        if self.has_waiting() {
            // A thread that said that it waits, and has found nothing, now waits on the condition:
            // it holds the lock from one to the other.
            drop(self.lock());
            self.changed.notify_one();
        }
    }

    /// After the fence in `wake_one`.
    pub(super) fn has_waiting(&self) -> bool {
        // Relaxed: the fences order it. If it is stale and too high, the caller takes the lock
        // needlessly; it cannot be too low for a thread that misses the new task.
        self.waiting.load(Relaxed) > 0
    }

    /// Announces that the calling thread waits. A task that it does not find from now on wakes it.
    pub(super) fn begin_wait(&self) {
        self.waiting.fetch_add(1, Relaxed);
        // ORDERING: SeqCst fence between saying that one waits and looking once more; pairs with
        // the one in `wake_one`.
        fence(SeqCst);
    }

    /// Waits until `take` gives something; `None` if all is closed and it gives nothing.
    pub(super) fn wait_for<T>(&self, take: impl Fn() -> Option<T>) -> Option<T> {
        let mut is_closed = self.lock();
        self.begin_wait();
        let found = loop {
            let found = take();
            if found.is_some() || *is_closed {
                break found;
            }
            is_closed = self
                .changed
                .wait(is_closed)
                .unwrap_or_else(PoisonError::into_inner);
        };
        self.waiting.fetch_sub(1, Relaxed);
        found
    }

    pub(super) fn is_closed(&self) -> bool {
        *self.lock()
    }

    /// Sleeps so long, or until it is closed.
    #[cfg(not(locks_loom))]
    pub(super) fn nap(&self, length: Duration) {
        let is_closed = self.lock();
        let nap = self
            .changed
            .wait_timeout_while(is_closed, length, |is_closed| !*is_closed);
        drop(nap.unwrap_or_else(PoisonError::into_inner));
    }

    /// The model checker knows no time.
    #[cfg(locks_loom)]
    pub(super) fn nap(&self, _: Duration) {
        loom::thread::yield_now();
    }

    /// Wakes all threads, for good.
    pub(super) fn close(&self) {
        *self.lock() = true;
        self.changed.notify_all();
    }
}
