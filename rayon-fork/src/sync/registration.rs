//! Registering for heavy fences beside the work: the kernel takes milliseconds over it in a process
//! that has threads.
//!
//! Until it is done, both sides of a pair are full fences. The change is safe at any moment, and
//! no other thread waits for it:
//!
//! 1. The kernel registers the process.
//! 2. [`Registration`] says that it knows. From here on a heavy side asks the kernel.
//! 3. A fence.
//! 4. [`Registration`] says that light sides are free. From here on they are no instruction.
//!
//! A heavy side fences for itself first, and reads the state behind that. If it reads that nothing
//! is registered, then its fence precedes that of step 3, and a light side that is free comes after
//! step 3: it sees what the caller of the heavy side did before. If it reads anything else, it asks
//! the kernel, and the kernel fences for everybody.
//!
//! Several threads may do all four steps at once. There is no lock, because a child of `fork` would
//! wait for ever for a thread that it does not have. A second thread may find that the first is
//! between steps 2 and 4, or was there when the process was copied. It executes a fence of its own
//! behind that read, and does step 4: a heavy side that reads an earlier state has fenced before.
//!
//! A child of `fork` inherits this state with the memory, and what the kernel has registered. If
//! the process was copied while another thread registered, the child may read that light sides are
//! free, although the kernel does not know the child. Then the kernel refuses the child's first
//! heavy side, as below.
//!
//! A kernel that serves may refuse later: a program may enter a sandbox. Then the state goes back,
//! again in two steps:
//!
//! 1. [`Registration`] says that light sides fence again.
//! 2. A grace period. A light side that still read otherwise did so before step 1, so its stores
//!    left its processor's buffer long ago: that takes less than a microsecond, and a thread that
//!    loses its CPU leaves none behind.
//! 3. [`Registration`] says that the grace period is over. From here on a heavy side only fences.
//!
//! Whoever the kernel refuses, or who finds the state between the two steps, waits for a grace
//! period of its own. It is the one argument here about time: no order of the memory model, but the
//! same one about processors that the kernel's own fence rests on where a thread does not run.

use super::modelled::{
    AtomicUsize, Ordering, fence, light_fence, try_heavy_fence, wait_for_grace_period,
};

/// Both sides are full fences.
const NONE: usize = 0;
/// The kernel serves heavy sides; light ones are still full fences.
const BY_KERNEL: usize = 1;
/// The kernel serves heavy sides; light ones are no instruction.
const FREE: usize = 2;
/// The kernel refuses, and some light sides may not have fenced yet.
const REFUSING: usize = 3;
/// The kernel refuses; both sides are full fences.
const REFUSED: usize = 4;

/// How far a process is with registering.
pub(crate) struct Registration {
    pub(super) state: AtomicUsize,
}

impl Registration {
    /// Nobody has registered.
    #[cfg(not(fork_loom))]
    pub(crate) const fn new() -> Self {
        Self {
            state: AtomicUsize::new(NONE),
        }
    }

    /// Nobody has registered.
    #[cfg(fork_loom)]
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicUsize::new(NONE),
        }
    }

    /// The light side is free from the start: for words that only one thread uses.
    #[cfg(not(fork_loom))]
    pub(crate) const fn unneeded() -> Self {
        Self {
            state: AtomicUsize::new(FREE),
        }
    }

    /// The kernel refuses for good: both sides are full fences, and nobody need ask it.
    #[cfg(not(fork_loom))]
    pub(crate) const fn refused() -> Self {
        Self {
            state: AtomicUsize::new(REFUSED),
        }
    }

    /// Whether the kernel has yet to be asked to register the process.
    ///
    /// Relaxed: a thread that reads an older state asks once more than needed.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self.state.load(Ordering::Relaxed), NONE | BY_KERNEL)
    }

    /// The kernel does not register the process.
    pub(crate) fn decline(&self) {
        // Relaxed: no light side is free before, and none after. If one is, the kernel has
        // registered the process for another thread, and the state stays.
        let _ = self
            .state
            .compare_exchange(NONE, REFUSED, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// The kernel has registered the process. May be called again, and by several threads.
    pub(crate) fn complete(&self) {
        // ORDERING: Release, pairs with the load in `heavy`: who asks the kernel asks after it
        // registered.
        let begun =
            self.state
                .compare_exchange(NONE, BY_KERNEL, Ordering::Release, Ordering::Relaxed);
        if matches!(begun, Ok(_) | Err(BY_KERNEL)) {
            // ORDERING: SeqCst fence, pairs with that in `heavy`: see the head of this file.
            fence(Ordering::SeqCst);
            // ORDERING: Release, pairs with the load in `are_light_ones_free`: the fence comes
            // before a free side. It fails if the kernel has refused meanwhile.
            let _ =
                self.state
                    .compare_exchange(BY_KERNEL, FREE, Ordering::Release, Ordering::Relaxed);
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
        self.heavy_by(try_heavy_fence);
    }

    /// As [`heavy`](Self::heavy), by a kernel that says whether it did.
    pub(super) fn heavy_by(&self, try_heavy_fence: impl FnOnce() -> bool) {
        // ORDERING: SeqCst fence, pairs with those in `light` and in `complete`, and with any
        // other.
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

    /// The kernel does not fence for others any more.
    #[cold]
    fn refuse(&self) {
        self.state.swap(REFUSING, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with that in `light`: who comes later reads that it must
        // fence.
        fence(Ordering::SeqCst);
        wait_for_grace_period();
        // ORDERING: Release, pairs with the load in `heavy_by`: who reads this comes after the
        // grace period.
        self.state.store(REFUSED, Ordering::Release);
    }
}

#[cfg(all(test, fork_loom))]
pub(crate) mod models;
