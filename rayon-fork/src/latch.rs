//! Signals that end a wait, one kind for each way to wait.

mod outside;

use std::ops::Deref;
use std::ptr;
use std::sync::Arc;

use crate::core_latch::CoreLatch;
use crate::registry::{Registry, Worker};
use crate::sync::modelled::{AtomicUsize, Ordering};

pub(crate) use outside::{LockLatch, NAME_PART, SpinHistory};

pub(crate) trait Latch {
    /// Sets the latch, and wakes the waiting thread if it is blocked.
    ///
    /// # Safety
    ///
    /// `this` is alive when the call begins. The waiting thread may free the latch as soon as the
    /// latch is set. So implementations first copy what they need through a raw pointer, and read
    /// nothing through `this` afterwards.
    unsafe fn set(this: *const Self);
}

/// A latch for which one worker waits while it goes on with other work.
pub(crate) struct SpinLatch<'r> {
    core: CoreLatch,
    registry: &'r Arc<Registry>,
    owner: usize,
    /// Whether the setter may be no worker of the owner's pool. Such a setter does not keep that
    /// pool alive.
    is_cross: bool,
}

assert_size!(SpinLatch<'_>: 32);

impl<'r> SpinLatch<'r> {
    #[inline]
    pub(crate) fn new(owner: &'r Worker) -> Self {
        Self {
            core: CoreLatch::new(),
            registry: owner.registry(),
            owner: owner.index(),
            is_cross: false,
        }
    }

    pub(crate) fn cross(owner: &'r Worker) -> Self {
        Self {
            is_cross: true,
            ..Self::new(owner)
        }
    }
}

impl Deref for SpinLatch<'_> {
    type Target = CoreLatch;

    #[inline]
    fn deref(&self) -> &CoreLatch {
        &self.core
    }
}

impl Latch for SpinLatch<'_> {
    #[inline]
    unsafe fn set(this: *const Self) {
        // SAFETY: the latch is alive until the core latch is set below (contract).
        let (registry, owner, is_cross) =
            unsafe { ((*this).registry, (*this).owner, (*this).is_cross) };
        // The owner may return, and its pool end, the moment the latch is set. A setter from
        // another pool keeps the registry for the wake-up; a setter from the same pool holds it as
        // a worker.
        let kept = is_cross.then(|| Arc::clone(registry));
        let registry: *const Registry = kept.as_ref().map_or(Arc::as_ptr(registry), Arc::as_ptr);
        // SAFETY: the latch is alive until this call sets it; `this` is not accessed afterwards.
        if unsafe { CoreLatch::set(ptr::addr_of!((*this).core)) } {
            // SAFETY: `kept`, or the worker that runs this code, holds the registry.
            unsafe { (*registry).wake_worker(owner) };
        }
    }
}

enum Waiter {
    Worker {
        core: CoreLatch,
        registry: Arc<Registry>,
        index: usize,
    },
    OtherThread(Arc<LockLatch>),
}

pub(crate) struct CountLatch {
    count: AtomicUsize,
    waiter: Waiter,
}

assert_size!(CountLatch: 32);

impl CountLatch {
    /// Creates a latch to be set `count` times. `owner` is the worker that will wait, or `None` if
    /// a thread waits that is no worker.
    pub(crate) fn new(count: usize, owner: Option<&Worker>) -> Self {
        let waiter = match owner {
            Some(worker) => Waiter::Worker {
                core: CoreLatch::new(),
                registry: Arc::clone(worker.registry()),
                index: worker.index(),
            },
            None => Waiter::OtherThread(LockLatch::new_shared()),
        };
        Self {
            count: AtomicUsize::new(count),
            waiter,
        }
    }

    /// Makes the latch wait for one more call of [`Latch::set`].
    #[inline]
    pub(crate) fn add_one(&self) {
        // Relaxed: the caller's own job or closure is counted, so the count cannot be zero. The
        // queue that hands a job to another thread orders this addition before that job's end.
        let before = self.count.fetch_add(1, Ordering::Relaxed);
        debug_assert_ne!(before, 0, "a job is added to a latch that was set");
    }

    /// Waits until the count is zero.
    pub(crate) fn wait(&self, owner: Option<&Worker>, spin_history: Option<&SpinHistory>) {
        match &self.waiter {
            Waiter::Worker {
                core,
                registry,
                index,
            } => {
                let owner = owner.expect("the latch was made for a worker");
                debug_assert!(owner.index() == *index && owner.is_in(registry));
                owner.wait_until(core);
            }
            Waiter::OtherThread(latch) => latch.wait(spin_history),
        }
        debug_assert_eq!(
            // Relaxed: the wait ended by a set that came after the last subtraction.
            self.count.load(Ordering::Relaxed),
            0,
            "a latch is set before its count is zero"
        );
    }
}

impl Latch for CountLatch {
    #[inline]
    unsafe fn set(this: *const Self) {
        // ORDERING: AcqRel. Release publishes the effects of the job that ends. Acquire makes the
        // thread that reaches zero see the effects of all other jobs.
        // SAFETY: the count is not zero yet, so the latch is alive (contract).
        let before = unsafe { (*this).count.fetch_sub(1, Ordering::AcqRel) };
        debug_assert_ne!(before, 0, "a latch is set more often than it counts");
        if before != 1 {
            return;
        }
        // SAFETY: only the waiting thread frees the latch, and not before the latch is set below.
        // So this function first clones what it needs afterwards.
        match unsafe { &(*this).waiter } {
            Waiter::Worker {
                core,
                registry,
                index,
            } => {
                let (registry, index) = (Arc::clone(registry), *index);
                // SAFETY: the latch is alive until this call sets it, and is not accessed
                // afterwards.
                if unsafe { CoreLatch::set(core) } {
                    registry.wake_worker(index);
                }
            }
            Waiter::OtherThread(latch) => {
                let latch = Arc::clone(latch);
                latch.set_and_notify();
            }
        }
    }
}

impl<L: Latch> Latch for &L {
    #[inline]
    unsafe fn set(this: *const Self) {
        // SAFETY: the reference is read before the latch is set, and what it leads to is alive
        // (contract).
        unsafe { L::set(*this) }
    }
}
