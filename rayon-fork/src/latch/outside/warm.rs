//! The waiting thread looks for a while before it blocks: what it waits for is often done sooner than a blocked thread
//! would be running again. Then its setter need not call the kernel either.

#[cfg(all(test, fork_loom))]
mod models;

use std::sync::Arc;

use crate::sync::modelled::{AtomicUsize, Condvar, Mutex, Ordering, yield_now};

/// Looks in vain, each followed by a yield, before the thread blocks. As many as a worker makes before it gets sleepy.
const LOOKS: u32 = if cfg!(fork_loom) { 1 } else { 32 };

/// Nobody waits, or somebody looks.
const UNSET: usize = 0;
/// Somebody has blocked, or is about to: it has the lock until then.
const BLOCKED: usize = 1;
const SET: usize = 2;

/// Delays a thread that is no worker, and blocks it if need be.
pub(crate) struct LockLatch {
    state: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

impl LockLatch {
    /// Shared, so that the setter can hold it to the end of [`Latch::set`](crate::latch::Latch::set), whatever the
    /// waiter does.
    pub(crate) fn new_shared() -> Arc<Self> {
        let state = AtomicUsize::new(UNSET);
        Arc::new(Self { state, lock: Mutex::new(()), changed: Condvar::new() })
    }

    // Not inlined: a worker that waits needs nothing of this, and runs other jobs, which may nest.
    #[inline(never)]
    pub(crate) fn wait(&self) {
        for _ in 0..LOOKS {
            if self.is_set() {
                return;
            }
            yield_now();
        }
        self.block();
    }

    fn is_set(&self) -> bool {
        // ORDERING: Acquire, pairs with the swap in `set_and_notify`: what was done before it is visible.
        self.state.load(Ordering::Acquire) == SET
    }

    fn block(&self) {
        let mut lock = self.lock.lock();
        // Relaxed: if it fails, the latch is set, and `is_set` acquires that; if not, only the setter reads it.
        let _ = self.state.compare_exchange(UNSET, BLOCKED, Ordering::Relaxed, Ordering::Relaxed);
        while !self.is_set() {
            lock = self.changed.wait(lock);
        }
    }

    pub(crate) fn set_and_notify(&self) {
        // ORDERING: Release, pairs with the load in `is_set`.
        if self.state.swap(SET, Ordering::Release) == BLOCKED {
            // Who said so holds the lock until it can be notified.
            drop(self.lock.lock());
            self.changed.notify_all();
        }
    }
}
