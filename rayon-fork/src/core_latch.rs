//! One word that says whether something has happened, and whether the one thread that waits for it
//! must be woken.
//!
//! A latch has exactly one owner, the worker that waits on it. "Sleepy" and "sleeping" are states
//! of that thread, and two threads could not share them. Any thread may set it, once.
//!
//! | word | state    | meaning                                            | left by               |
//! |------|----------|----------------------------------------------------|-----------------------|
//! | 0    | unset    | not set; the owner is awake, or blocked on another | owner → 1, setter → 3 |
//! | 1    | sleepy   | not set; the owner is about to block               | owner → 2, setter → 3 |
//! | 2    | sleeping | not set; the owner is blocked, or bound to be      | owner → 0, setter → 3 |
//! | 3    | set      | set, for good                                      | no thread             |
//!
//! Every step is a read-modify-write of this one word, so setter and owner always agree on who came
//! first. Section 4 of `sleep/README.md` describes the rest of the handshake.

use crate::sync::modelled::{AtomicUsize, Ordering};

const UNSET: usize = 0;
const SLEEPY: usize = 1;
const SLEEPING: usize = 2;
const SET: usize = 3;

/// A latch that its owner can probe, and sleep on.
pub(crate) struct CoreLatch {
    state: AtomicUsize,
}

assert_size!(CoreLatch: 8);

impl CoreLatch {
    /// Creates an unset latch. Its owner is the thread that waits on it.
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicUsize::new(UNSET),
        }
    }

    /// Returns whether the latch is set. If so, everything that its setter did before is visible.
    #[inline]
    pub(crate) fn probe(&self) -> bool {
        // ORDERING: Acquire, pairs with the swap in `set`: a set latch publishes the result that it
        // stands for.
        self.state.load(Ordering::Acquire) == SET
    }

    /// The owner is about to block on this latch. Returns `false` only if the latch is set.
    pub(crate) fn try_get_sleepy(&self) -> bool {
        self.try_step(UNSET, SLEEPY)
    }

    /// The sleepy owner commits itself to block: from here on a setter will wake it. Returns
    /// `false` only if the latch is set.
    pub(crate) fn try_fall_asleep(&self) -> bool {
        self.try_step(SLEEPY, SLEEPING)
    }

    /// The owner is awake again, for any reason. Does nothing to a latch that is set.
    pub(crate) fn wake_up(&self) {
        if !self.probe() {
            // May fail only because the latch was set meanwhile.
            self.try_step(SLEEPING, UNSET);
        }
    }

    /// Sets the latch. Returns `true` if the owner is blocked on it, and the caller must wake the
    /// owner.
    ///
    /// # Safety
    ///
    /// `this` must be valid until the swap. After the swap the owner may have freed the latch. So
    /// the caller must not read anything through it any more. Before the call, it must have taken
    /// what it needs to find the owner.
    #[inline]
    pub(crate) unsafe fn set(this: *const Self) -> bool {
        // SAFETY: the caller promises that the latch lives until the swap, which is this
        // reference's only use.
        let state = unsafe { &(*this).state };
        // ORDERING: SeqCst like every step. Correctness needs two parts of it: Release, for
        // `probe`, and Acquire. Acquire makes everything that the owner did before it fell asleep
        // visible to the thread that now wakes it.
        state.swap(SET, Ordering::SeqCst) == SLEEPING
    }

    fn try_step(&self, from: usize, to: usize) -> bool {
        // ORDERING: SeqCst on success, as in `set`. On failure the latch was set: the owner finds
        // that out by `probe`, which acquires, before it relies on it.
        self.state
            .compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::CoreLatch;

    fn set(latch: &CoreLatch) -> bool {
        // SAFETY: the reference keeps the latch alive for longer than the call.
        unsafe { CoreLatch::set(latch) }
    }

    #[test]
    fn setting_asks_for_a_wake_up_only_if_the_owner_sleeps() {
        let awake = CoreLatch::new();
        assert!(!set(&awake));

        let sleepy = CoreLatch::new();
        assert!(sleepy.try_get_sleepy());
        assert!(!set(&sleepy));

        let sleeping = CoreLatch::new();
        assert!(sleeping.try_get_sleepy() && sleeping.try_fall_asleep());
        assert!(set(&sleeping));
        assert!(sleeping.probe());
    }

    #[test]
    fn a_set_latch_lets_no_owner_fall_asleep() {
        let set_early = CoreLatch::new();
        set(&set_early);
        assert!(!set_early.try_get_sleepy());

        let set_late = CoreLatch::new();
        assert!(set_late.try_get_sleepy());
        set(&set_late);
        assert!(!set_late.try_fall_asleep());
    }

    #[test]
    fn an_owner_that_woke_up_may_fall_asleep_again() {
        let latch = CoreLatch::new();
        for _ in 0..2 {
            assert!(latch.try_get_sleepy() && latch.try_fall_asleep());
            latch.wake_up();
            assert!(!latch.probe());
        }
    }

    #[test]
    fn waking_up_leaves_a_set_latch_set() {
        let latch = CoreLatch::new();
        assert!(latch.try_get_sleepy() && latch.try_fall_asleep());
        set(&latch);
        latch.wake_up();
        assert!(latch.probe());
    }
}
