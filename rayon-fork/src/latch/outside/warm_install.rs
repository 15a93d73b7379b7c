//! A waiting external thread spins before it blocks. Often the pool finishes the job sooner than a
//! blocked thread would run again. If the thread still spins, the setter of the latch need not call
//! the kernel either.
//!
//! If a worker was idle when the job came, the thread spins for as long as a wake-up costs. The
//! thread spins twice as long if the pool leaves a CPU free. After spins that failed, threads skip
//! spins, for example because jobs are long or CPUs are scarce. After a spin that took a time slice,
//! threads skip the most spins.

#[cfg(all(test, fork_loom))]
mod models;

use std::sync::Arc;
use std::time::Duration;

use crate::sleep::{Backoff, cost_of_wake_ups};
use crate::sync::modelled::{AtomicUsize, Condvar, Mutex, Ordering, yield_now};
use crate::sync::{Cost, Instant};
use crate::thread_count;

/// A spin that takes longer than this has probably given its CPU to another thread for a time slice,
/// even if the latch is set by then. On Linux with several CPUs, a time slice takes some
/// milliseconds. A kernel often prefers a thread that has blocked.
const A_TURN: Duration = Duration::from_millis(1);

pub(crate) const NAME_PART: &str = "+warm-install";

pub(crate) struct SpinHistory {
    spins: Backoff,
    /// 1 while a thread spins. A second spinning thread would take a CPU from the workers.
    is_spinning: AtomicUsize,
    wake_up: Cost,
    /// A thread spins for this many times the cost of a wake-up.
    spin_factor: u32,
}

impl SpinHistory {
    pub(crate) const IS_LEARNED: bool = true;

    pub(crate) fn new(workers: usize) -> Self {
        let leaves_a_cpu = workers < thread_count::cpus_at_first();
        Self {
            spins: Backoff::default(),
            is_spinning: AtomicUsize::new(0),
            wake_up: cost_of_wake_ups(),
            spin_factor: if leaves_a_cpu { 2 } else { 1 },
        }
    }
}

/// No thread waits, or the waiting thread spins.
const UNSET: usize = 0;
/// The waiting thread holds the lock until it has blocked.
const BLOCKED: usize = 1;
const SET: usize = 2;

pub(crate) struct LockLatch {
    state: AtomicUsize,
    lock: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl LockLatch {
    /// Creates a shared latch, so that the setter can hold it whatever the waiting thread does.
    pub(crate) fn new_shared() -> Arc<Self> {
        let state = AtomicUsize::new(UNSET);
        Arc::new(Self {
            state,
            lock: Mutex::new(None),
            changed: Condvar::new(),
        })
    }

    /// Waits until the latch is set. Not inlined: a waiting worker never calls this, so its stack
    /// frame should have no room for it.
    #[inline(never)]
    pub(crate) fn wait(&self, spin_history: Option<&SpinHistory>) {
        if spin_history.is_some_and(|spin_history| self.spin(spin_history)) {
            return;
        }
        if let (Some(at), Some(spin_history)) = (self.block(), spin_history) {
            spin_history.wake_up.took(at.elapsed());
        }
    }

    fn spin(&self, spin_history: &SpinHistory) -> bool {
        // In a browser `Instant` panics.
        if cfg!(target_family = "wasm") || !spin_history.spins.try_begin() {
            return false;
        }
        // Relaxed, here and below: no other data depends on this word.
        if spin_history.is_spinning.swap(1, Ordering::Relaxed) == 1 {
            return false;
        }
        let is_set = self.spin_until_late(spin_history);
        spin_history.is_spinning.store(0, Ordering::Relaxed);
        is_set
    }

    fn spin_until_late(
        &self,
        SpinHistory {
            spins,
            wake_up,
            spin_factor,
            ..
        }: &SpinHistory,
    ) -> bool {
        let limit = wake_up.get() * *spin_factor;
        let start = Instant::now();
        loop {
            yield_now();
            let is_set = self.is_set();
            let took = start.elapsed();
            // A model has no time, so one check of the latch covers every case there.
            if cfg!(fork_loom) || took >= limit {
                if took < A_TURN {
                    spins.was_unsuccessful();
                } else {
                    spins.was_expensive();
                }
                return is_set;
            }
            if is_set {
                spins.was_worth_it();
                return true;
            }
        }
    }

    fn is_set(&self) -> bool {
        // ORDERING: Acquire, pairs with the swap in `set_and_notify`: the caller sees what the
        // setter did before.
        self.state.load(Ordering::Acquire) == SET
    }

    /// If the setter woke this thread, returns the time at which the setter set the latch.
    fn block(&self) -> Option<Instant> {
        let mut lock = self.lock.lock();
        // Relaxed: if the exchange fails, the latch is set, and `is_set` acquires what the setter
        // did. If the exchange succeeds, only the setter reads the value.
        let _ = self
            .state
            .compare_exchange(UNSET, BLOCKED, Ordering::Relaxed, Ordering::Relaxed);
        while !self.is_set() {
            lock = self.changed.wait(lock);
        }
        *lock
    }

    pub(crate) fn set_and_notify(&self) {
        // ORDERING: Release, pairs with the load in `is_set`.
        if self.state.swap(SET, Ordering::Release) == BLOCKED {
            // The thread that wrote `BLOCKED` holds the lock until it can be notified.
            *self.lock.lock() = (!cfg!(target_family = "wasm")).then(Instant::now);
            self.changed.notify_all();
        }
    }
}
