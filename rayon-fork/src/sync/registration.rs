//! Registering for heavy fences beside the work: the kernel takes milliseconds over it in a process that has threads.
//!
//! Until it is done, both sides of a pair are full fences. The change is safe at any moment, and nobody waits for it:
//!
//! 1. The kernel registers the process.
//! 2. [`Registration`] says that it knows. From here on a heavy side asks the kernel.
//! 3. A fence.
//! 4. [`Registration`] says that light sides are free. From here on they are no instruction.
//!
//! A heavy side fences for itself first, and reads the state behind that. If it reads that nothing is registered, then
//! its fence precedes that of step 3, and a light side that is free comes after step 3: it sees what the caller of the
//! heavy side did before. If it reads anything else, it asks the kernel, and the kernel fences for everybody.

use super::modelled::{AtomicUsize, Ordering, fence, heavy_fence, light_fence};

/// Both sides are full fences.
const NONE: usize = 0;
/// The kernel serves heavy sides; light ones are still full fences.
const BY_KERNEL: usize = 1;
/// The kernel serves heavy sides; light ones are no instruction.
const FREE: usize = 2;

/// How far a process is with registering.
pub(crate) struct Registration {
    pub(super) state: AtomicUsize,
}

impl Registration {
    /// Nobody has registered.
    #[cfg(not(fork_loom))]
    pub(crate) const fn new() -> Self {
        Self { state: AtomicUsize::new(NONE) }
    }

    /// Nobody has registered.
    #[cfg(fork_loom)]
    pub(crate) fn new() -> Self {
        Self { state: AtomicUsize::new(NONE) }
    }

    /// The kernel has registered the process. May be called again.
    pub(crate) fn complete(&self) {
        // ORDERING: Release, pairs with the load in `heavy`: who asks the kernel asks after it registered.
        if self
            .state
            .compare_exchange(NONE, BY_KERNEL, Ordering::Release, Ordering::Relaxed)
            .is_ok()
        {
            // ORDERING: SeqCst fence, pairs with that in `heavy`: see the head of this file.
            fence(Ordering::SeqCst);
            // ORDERING: Release, pairs with the load in `are_light_ones_free`: the fence comes before a free side.
            self.state.store(FREE, Ordering::Release);
        }
    }

    /// Whether the side that is executed often is no instruction.
    #[inline]
    pub(crate) fn are_light_ones_free(&self) -> bool {
        // ORDERING: Acquire, pairs with the last store in `complete`.
        self.state.load(Ordering::Acquire) == FREE
    }

    /// The side of a pair that is executed often.
    #[inline]
    pub(crate) fn light(&self) {
        if self.are_light_ones_free() {
            light_fence();
        } else {
            // ORDERING: SeqCst fence, pairs with that in `heavy`.
            fence(Ordering::SeqCst);
        }
    }

    /// The side of a pair that is executed seldom.
    pub(crate) fn heavy(&self) {
        // ORDERING: SeqCst fence, pairs with those in `light` and in `complete`, and with any other.
        fence(Ordering::SeqCst);
        // ORDERING: Acquire, pairs with the first store in `complete`.
        if self.state.load(Ordering::Acquire) != NONE {
            heavy_fence();
        }
    }
}

#[cfg(all(test, fork_loom))]
mod models;
