//! Waiting for a condition under a [`super::Mutex`].

use std::cell::RefCell;
use std::collections::VecDeque;

use super::{Current, MutexGuard};

/// A queue of user threads that wait until another thread says that a condition may have come true.
///
/// A woken thread must test the condition again, because another thread may have changed the value
/// in between.
#[derive(Debug, Default)]
pub struct Condvar {
    waiting: RefCell<VecDeque<usize>>,
}

impl Condvar {
    /// Creates a condition variable without waiting threads.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Releases the lock, waits for a notification, and takes the lock again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        let (mutex, me) = guard.origin();
        self.waiting.borrow_mut().push_back(me.number);
        // No other thread runs between here and `block`, so none can notify too early.
        drop(guard);
        me.block();
        mutex.lock(me)
    }

    /// Waits while `is_pending` returns `true` for the value.
    pub fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut is_pending: impl FnMut(&T) -> bool,
    ) -> MutexGuard<'a, T> {
        while is_pending(&guard) {
            guard = self.wait(guard);
        }
        guard
    }

    /// Wakes the thread that has waited longest, if any.
    pub fn notify_one(&self, me: &Current<'_>) {
        let first = self.waiting.borrow_mut().pop_front();
        if let Some(first) = first {
            me.wake(first);
        }
    }
}
