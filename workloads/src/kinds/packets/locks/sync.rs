//! Where the locks get atomics, the guarded cell and waiting from: the standard library, or, with
//! `--cfg locks_loom`, the model checker.

#[cfg(not(locks_loom))]
mod chosen {
    pub(in super::super) use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
    pub(in super::super) use std::sync::{Mutex, PoisonError, TryLockError};

    use std::sync::atomic::Ordering::Acquire;

    /// Waits a little longer at each call, and soon lets other threads have the processor.
    pub(in super::super) struct Patience(crossbeam_utils::Backoff);

    impl Patience {
        pub(in super::super) fn new() -> Self {
            Self(crossbeam_utils::Backoff::new())
        }

        pub(in super::super) fn wait(&self) {
            self.0.snooze();
        }
    }

    /// Sets `flag` in one step and says whether it was set before.
    #[inline]
    pub(in super::super) fn test_and_set(flag: &AtomicBool) -> bool {
        // ORDERING: Acquire, the test of a lock: see `tas.rs`.
        flag.swap(true, Acquire)
    }

    /// The standard cell, used in the way that loom's asks for.
    pub(in super::super) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(in super::super) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline]
        pub(in super::super) fn with_mut<R>(&self, work: impl FnOnce(*mut T) -> R) -> R {
            work(self.0.get())
        }
    }
}

#[cfg(locks_loom)]
mod chosen {
    pub(in super::super) use loom::cell::UnsafeCell;
    pub(in super::super) use loom::sync::Mutex;
    pub(in super::super) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
    pub(in super::super) use std::sync::{PoisonError, TryLockError};

    use std::sync::atomic::Ordering::{Acquire, Relaxed};

    /// As in the other build. Loom forgets that a store cannot come before a swap which did not see
    /// it. So a swap that changes nothing is a mere load here, as it is in effect.
    pub(in super::super) fn test_and_set(flag: &AtomicBool) -> bool {
        // ORDERING: Acquire, as in the other build.
        flag.compare_exchange(false, true, Acquire, Relaxed)
            .is_err()
    }

    /// Tells the model checker that nothing happens here until another thread has run.
    pub(in super::super) struct Patience;

    impl Patience {
        pub(in super::super) fn new() -> Self {
            Self
        }

        #[expect(clippy::unused_self, reason = "the interface of the other build")]
        pub(in super::super) fn wait(&self) {
            loom::thread::yield_now();
        }
    }
}

pub(super) use chosen::*;
