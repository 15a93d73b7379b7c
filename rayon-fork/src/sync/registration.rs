//! Registers a process for `membarrier` while its threads work, because the kernel may take
//! milliseconds. `asymmetric.rs` describes the light and the heavy side of a pair of fences.
//!
//! Until the process is registered, both sides of a pair are full fences. The change from full
//! fences to asymmetric ones is safe at any moment, and no other thread waits for it:
//!
//! 1. The kernel registers the process.
//! 2. [`Registration`] says that the process is registered. After this step a heavy side calls the
//!    kernel.
//! 3. The registering thread fences.
//! 4. [`Registration`] says that light sides are free. After this step a light side is no
//!    instruction.
//!
//! A heavy side first fences for itself, then reads the state. If the heavy side reads that the
//! process is not registered, its fence precedes that of step 3, and a free light side comes after
//! step 3. So the light side sees what the caller of the heavy side did before. If the heavy side
//! reads the state of step 2 or step 4, the kernel fences for every thread.
//!
//! Several threads may register, and so take all steps, at once. There is no lock, because a child
//! of `fork` would wait for ever if a thread of its parent held the lock. A registering thread that
//! finds the state between steps 2 and 4 (also a state copied from a parent process) makes its own
//! fence, and takes step 4. Its fence is enough, because a heavy side that reads an earlier state
//! has fenced before.
//!
//! A child of `fork` inherits the state and the kernel's registration. If the child was copied
//! while another thread registered, it may read that light sides are free, although the kernel has
//! not registered the child. In that case the kernel refuses the child's first heavy side.
//!
//! A kernel may also refuse later, for example in a sandbox. Then the state goes back:
//!
//! 1. [`Registration`] says that light sides fence again.
//! 2. The refused thread waits for a grace period. A light side that read the old state did so
//!    before step 1, so its stores left its processor's buffer long ago. A thread that loses its CPU
//!    leaves no store behind.
//! 3. [`Registration`] says that the grace period is over. After this step a heavy side only
//!    fences.
//!
//! Each refused thread waits for its own grace period. So does each thread whose heavy side finds
//! the state between steps 1 and 3. This argument is about time, not about the memory model. The
//! argument rests on the same property as `membarrier` does for threads that do not run: a thread
//! that loses its CPU has fenced.

use super::modelled::{
    AtomicUsize, Ordering, fence, light_fence, try_heavy_fence, wait_for_grace_period,
};

/// Both sides are full fences.
const NONE: usize = 0;
/// The kernel serves heavy sides; light sides are still full fences.
const BY_KERNEL: usize = 1;
/// The kernel serves heavy sides; light sides are no instruction.
const FREE: usize = 2;
/// The kernel refuses, and some light sides may not have fenced yet.
const REFUSING: usize = 3;
/// The kernel refuses; both sides are full fences.
const REFUSED: usize = 4;

pub(crate) struct Registration {
    pub(super) state: AtomicUsize,
}

impl Registration {
    #[cfg(not(fork_loom))]
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicUsize::new(NONE),
        }
    }

    #[cfg(fork_loom)]
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicUsize::new(NONE),
        }
    }

    /// Creates a state whose light side is free, for words that only one thread uses.
    #[cfg(not(fork_loom))]
    pub(crate) const fn unneeded() -> Self {
        Self {
            state: AtomicUsize::new(FREE),
        }
    }

    /// Creates a state in which both sides always execute full fences, as after the kernel has
    /// refused. Pools that never use `membarrier` share this state.
    #[cfg(not(fork_loom))]
    pub(crate) const fn refused() -> Self {
        Self {
            state: AtomicUsize::new(REFUSED),
        }
    }

    /// Returns whether no thread has finished asking the kernel to register the process. Relaxed: a
    /// thread that reads an older state asks once more than needed.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state.load(Ordering::Relaxed), NONE | BY_KERNEL)
    }

    pub(crate) fn decline(&self) {
        // Relaxed: if this exchange succeeds, no light side is free before or after it. If the
        // kernel has registered the process for another thread, the state stays.
        let _ = self
            .state
            .compare_exchange(NONE, REFUSED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Call this when the kernel has registered the process. Several threads may call this.
    pub(crate) fn complete(&self) {
        // ORDERING: Release, pairs with the load in `heavy_by`: a heavy side calls the kernel after
        // the kernel registered the process.
        let begun =
            self.state
                .compare_exchange(NONE, BY_KERNEL, Ordering::Release, Ordering::Relaxed);
        if matches!(begun, Ok(_) | Err(BY_KERNEL)) {
            // ORDERING: SeqCst fence, pairs with that in `heavy_by`: see the head of this file.
            fence(Ordering::SeqCst);
            // ORDERING: Release, pairs with the load in `are_light_ones_free`: the fence comes
            // before a free light side. The exchange fails if the kernel has refused meanwhile, or
            // another thread has taken this step.
            let _ =
                self.state
                    .compare_exchange(BY_KERNEL, FREE, Ordering::Release, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(crate) fn are_light_ones_free(&self) -> bool {
        // ORDERING: Acquire, pairs with the last exchange in `complete`.
        self.state.load(Ordering::Acquire) == FREE
    }

    #[inline]
    pub(crate) fn light(&self) {
        if self.are_light_ones_free() {
            light_fence();
        } else {
            // ORDERING: SeqCst fence, pairs with that in `heavy_by`.
            fence(Ordering::SeqCst);
        }
    }

    pub(crate) fn heavy(&self) {
        self.heavy_by(try_heavy_fence);
    }

    /// Does the same as [`heavy`](Self::heavy), but calls `try_heavy_fence`, which returns whether
    /// the kernel has fenced.
    pub(super) fn heavy_by(&self, try_heavy_fence: impl FnOnce() -> bool) {
        // ORDERING: SeqCst fence, pairs with those in `light` and in `complete`, and with any other
        // SeqCst fence.
        fence(Ordering::SeqCst);
        // ORDERING: Acquire, pairs with the stores in `complete` and in `refuse`.
        let is_served = match self.state.load(Ordering::Acquire) {
            NONE | REFUSED => true,
            REFUSING => false,
            _ => try_heavy_fence(),
        };
        if !is_served {
            self.refuse();
        }
    }

    #[cold]
    fn refuse(&self) {
        self.state.swap(REFUSING, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with that in `light`: a light side that comes later reads
        // that it must fence.
        fence(Ordering::SeqCst);
        wait_for_grace_period();
        // ORDERING: Release, pairs with the load in `heavy_by`: a thread that reads this state
        // comes after the grace period.
        self.state.store(REFUSED, Ordering::Release);
    }
}

#[cfg(all(test, fork_loom))]
pub(crate) mod models;
