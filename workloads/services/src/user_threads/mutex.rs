//! A lock for which user threads wait in a queue, or by spinning until their quantum ends.

use std::cell::{Cell, RefCell, RefMut};
use std::collections::VecDeque;
use std::hint::spin_loop;
use std::ops::{Deref, DerefMut};

use super::Current;

/// A value that one user thread at a time can access.
#[derive(Debug, Default)]
pub struct Mutex<T> {
    is_held: Cell<bool>,
    waiting: RefCell<VecDeque<usize>>,
    /// Borrowed while the lock is held, so a second holder would cause a panic.
    value: RefCell<T>,
}

impl<T> Mutex<T> {
    /// Creates a free lock.
    pub fn new(value: T) -> Self {
        Self {
            is_held: Cell::new(false),
            waiting: RefCell::default(),
            value: RefCell::new(value),
        }
    }

    /// Waits for the lock in a queue, without using CPU time. The holder hands the lock to the
    /// first thread in the queue.
    pub fn lock<'a>(&'a self, me: &'a Current<'_>) -> MutexGuard<'a, T> {
        if self.is_held.get() {
            self.waiting.borrow_mut().push_back(me.number);
            // The thread that wakes this one leaves the lock held, for this thread.
            me.block();
        } else {
            self.is_held.set(true);
        }
        self.guard(me)
    }

    /// Spins until the lock is free. All threads share one OS thread. So if a thread finds the lock
    /// held, it spins for the rest of its quantum.
    pub fn spin<'a>(&'a self, me: &'a Current<'_>) -> MutexGuard<'a, T> {
        while self.is_held.replace(true) {
            spin_loop();
            me.safepoint();
        }
        self.guard(me)
    }

    fn guard<'a>(&'a self, me: &'a Current<'_>) -> MutexGuard<'a, T> {
        MutexGuard {
            mutex: self,
            me,
            value: Some(self.value.borrow_mut()),
        }
    }

    /// Returns the value, when no thread needs the lock any more.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// The lock is held while this lives.
pub struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    me: &'a Current<'a>,
    /// `None` only while it is being dropped.
    value: Option<RefMut<'a, T>>,
}

impl<'a, T> MutexGuard<'a, T> {
    /// The lock that this guard belongs to.
    pub(super) fn origin(&self) -> (&'a Mutex<T>, &'a Current<'a>) {
        (self.mutex, self.me)
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_ref().expect("there until it is dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("there until it is dropped")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.value = None;
        let next = self.mutex.waiting.borrow_mut().pop_front();
        match next {
            Some(next) => self.me.wake(next),
            None => self.mutex.is_held.set(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    use super::*;
    use crate::user_threads::tests::{FOREVER, run};

    #[test]
    fn a_lock_without_exclusion_is_a_panic_and_no_wrong_count() {
        let mutex = Rc::new(Mutex::new(0));
        let bodies = [0, 1].map(|_| {
            let mutex = Rc::clone(&mutex);
            move |me: &Current<'_>| {
                // As if the lock were free for all threads.
                mutex.is_held.set(false);
                let _guard = mutex.lock(me);
                me.yield_now();
            }
        });
        assert!(catch_unwind(AssertUnwindSafe(|| run(FOREVER, bodies))).is_err());
    }
}
