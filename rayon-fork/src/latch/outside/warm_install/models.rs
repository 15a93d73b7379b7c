//! Loom models of the latch, and the mistakes that they must catch.

use loom::cell::UnsafeCell;
use loom::thread;
use std::sync::Arc;

use super::{BLOCKED, LockLatch, SET, SpinHistory};
use crate::sleep::models::{Bounds, LOST, UNORDERED, holds, is_caught};
use crate::sync::modelled::Ordering;

const ALL: Bounds = Bounds {
    fast: None,
    deep: None,
};

fn wait_for_a_result(set: fn(&LockLatch)) {
    let latch = LockLatch::new_shared();
    let result = Arc::new(UnsafeCell::new(0));
    let setter = {
        let (latch, result) = (Arc::clone(&latch), Arc::clone(&result));
        thread::spawn(move || {
            // SAFETY: loom fails if another thread may access the cell at the same time.
            result.with_mut(|result| unsafe { *result = 7 });
            set(&latch);
        })
    };
    latch.wait(Some(&SpinHistory::new(1)));
    // SAFETY: loom fails if another thread may access the cell at the same time.
    assert_eq!(result.with(|result| unsafe { *result }), 7);
    setter.join().expect("a failed thread has failed the model");
}

holds! {
    a_thread_that_waits_outside_goes_on_and_sees_the_result: ALL, || {
        wait_for_a_result(LockLatch::set_and_notify)
    };
}

fn set_and_notify_without_lock(latch: &LockLatch) {
    if latch.state.swap(SET, Ordering::Release) == BLOCKED {
        latch.changed.notify_all();
    }
}

fn set_in_two_steps(latch: &LockLatch) {
    // ORDERING: Acquire, as in `is_set`; the planted mistake is only that there are two steps.
    let is_blocked = latch.state.load(Ordering::Acquire) == BLOCKED;
    latch.state.store(SET, Ordering::Release);
    if is_blocked {
        drop(latch.lock.lock());
        latch.changed.notify_all();
    }
}

fn set_without_order(latch: &LockLatch) {
    if latch.state.swap(SET, Ordering::Relaxed) == BLOCKED {
        drop(latch.lock.lock());
        latch.changed.notify_all();
    }
}

is_caught! {
    notifying_without_the_lock_is_caught: ALL, LOST, || {
        wait_for_a_result(set_and_notify_without_lock)
    };
    setting_in_two_steps_is_caught: ALL, LOST, || {
        wait_for_a_result(set_in_two_steps)
    };
    setting_without_order_is_caught: ALL, UNORDERED, || {
        wait_for_a_result(set_without_order)
    };
}
