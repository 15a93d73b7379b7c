//! The waiting thread looks for a while before it blocks: what it waits for is often done sooner
//! than a blocked thread would be running again. Then its setter need not call the kernel either.
//! It looks for as long as a wake-up takes, if some worker was idle when the job came, and backs
//! off where that is in vain: where jobs are long, or where CPUs are scarce, so that a single yield
//! takes longer.

#[cfg(all(test, fork_loom))]
mod models;

use std::sync::Arc;

use crate::sleep::{A_WAKE_UP, Backoff, Yielding, pause};
use crate::sync::Instant;
use crate::sync::modelled::{AtomicUsize, Condvar, Mutex, Ordering};

/// What it was worth to threads outside a pool to look before they blocked.
pub(crate) struct Outlook {
    looks: Backoff,
    yielding: Yielding,
    /// 1 while somebody looks. One is enough: others would keep CPUs from the workers.
    is_looking: AtomicUsize,
}

impl Outlook {
    /// Whether it is of any use.
    pub(crate) const IS_LEARNED: bool = true;

    pub(crate) fn new() -> Self {
        let is_looking = AtomicUsize::new(0);
        Self {
            looks: Backoff::default(),
            yielding: Yielding::default(),
            is_looking,
        }
    }
}

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
    /// Shared, so that the setter can hold it to the end of
    /// [`Latch::set`](crate::latch::Latch::set), whatever the waiter does.
    pub(crate) fn new_shared() -> Arc<Self> {
        let state = AtomicUsize::new(UNSET);
        Arc::new(Self {
            state,
            lock: Mutex::new(()),
            changed: Condvar::new(),
        })
    }

    /// Waits until the latch is set. With an outlook, that may be soon.
    // Not inlined: a worker that waits needs nothing of this, and runs other jobs, which may nest.
    #[inline(never)]
    pub(crate) fn wait(&self, outlook: Option<&Outlook>) {
        if !outlook.is_some_and(|outlook| self.look(outlook)) {
            self.block();
        }
    }

    /// Looks for a while. `true` if the latch was set.
    fn look(&self, outlook: &Outlook) -> bool {
        // A browser's `Instant` panics.
        if cfg!(target_family = "wasm") || !outlook.looks.try_begin() {
            return false;
        }
        // Relaxed, here and below: nothing else is known by it.
        if outlook.is_looking.swap(1, Ordering::Relaxed) == 1 {
            return false;
        }
        let is_set = self.look_until_late(outlook);
        outlook.is_looking.store(0, Ordering::Relaxed);
        is_set
    }

    fn look_until_late(
        &self,
        Outlook {
            looks, yielding, ..
        }: &Outlook,
    ) -> bool {
        let start = Instant::now();
        let mut yields = yielding.try_begin();
        loop {
            if yields {
                yields = yielding.yield_now();
            } else {
                pause();
            }
            let is_set = self.is_set();
            // A model has no time, and one look shows it all.
            if cfg!(fork_loom) || start.elapsed() >= A_WAKE_UP {
                looks.was_in_vain();
                return is_set;
            }
            if is_set {
                looks.was_worth_it();
                return true;
            }
        }
    }

    fn is_set(&self) -> bool {
        // ORDERING: Acquire, pairs with the swap in `set_and_notify`: what was done before it is
        // visible.
        self.state.load(Ordering::Acquire) == SET
    }

    fn block(&self) {
        let mut lock = self.lock.lock();
        // Relaxed: if it fails, the latch is set, and `is_set` acquires that; if not, only the
        // setter reads it.
        let _ = self
            .state
            .compare_exchange(UNSET, BLOCKED, Ordering::Relaxed, Ordering::Relaxed);
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
