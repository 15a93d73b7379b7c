//! A lock for which user threads wait in a queue, or by spinning until their quantum ends.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hint::spin_loop;

use super::Current;

#[derive(Debug, Default)]
pub(crate) struct Mutex<T> {
    is_held: Cell<bool>,
    waiting: RefCell<VecDeque<usize>>,
    /// Borrowed while the lock is held, so a second holder would cause a panic.
    value: RefCell<T>,
}

impl<T> Mutex<T> {
    /// Waits for the lock in a queue, without using CPU time. The holder hands the lock to the
    /// first thread in the queue.
    pub(crate) fn lock(&self, me: &Current<'_>, section: impl FnOnce(&mut T)) {
        if self.is_held.replace(true) {
            self.waiting.borrow_mut().push_back(me.number);
            // The thread that wakes this one does not free the lock: it passes the lock to this
            // thread.
            me.block();
        }
        self.hold(me, section);
    }

    /// Spins until the lock is free. All threads share one OS thread. So if a thread finds the lock
    /// held, it spins for the rest of its quantum.
    pub(crate) fn spin(&self, me: &Current<'_>, section: impl FnOnce(&mut T)) {
        while self.is_held.replace(true) {
            spin_loop();
            me.safepoint();
        }
        self.hold(me, section);
    }

    fn hold(&self, me: &Current<'_>, section: impl FnOnce(&mut T)) {
        section(&mut self.value.borrow_mut());
        let next = self.waiting.borrow_mut().pop_front();
        match next {
            Some(next) => me.shared.wake(next),
            None => self.is_held.set(false),
        }
    }

    pub(crate) fn into_inner(self) -> T {
        self.value.into_inner()
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
        let mutex = Rc::new(Mutex::<()>::default());
        let bodies = [0, 1].map(|_| {
            let mutex = Rc::clone(&mutex);
            move |me: &Current<'_>| {
                // Planted mistake: the lock is free for all threads.
                mutex.is_held.set(false);
                mutex.lock(me, |()| me.yield_now());
            }
        });
        assert!(catch_unwind(AssertUnwindSafe(|| run(FOREVER, bodies))).is_err());
    }
}
