//! One word that says whether something has happened, and whether the one thread that waits for it
//! must be woken. The thread that waits is a worker, the latch's owner. Any thread may set the
//! latch, once.
//!
//! | word | state    | meaning                                         | next word             |
//! |------|----------|-------------------------------------------------|-----------------------|
//! | 0    | unset    | the owner is awake, or blocked on another latch | owner → 1, setter → 3 |
//! | 1    | sleepy   | the owner is about to block                     | owner → 2, setter → 3 |
//! | 2    | sleeping | the owner has blocked, or will block            | owner → 0, setter → 3 |
//! | 3    | set      | the latch is set for good                       | none                  |
//!
//! Every step is a read-modify-write of this word, so setter and owner agree on who came first.
//! Section 4 of `sleep/README.md` describes the rest of the handshake.

use crate::sync::modelled::{AtomicUsize, Ordering};

const UNSET: usize = 0;
const SLEEPY: usize = 1;
const SLEEPING: usize = 2;
const SET: usize = 3;

pub(crate) struct CoreLatch {
    state: AtomicUsize,
}

assert_size!(CoreLatch: 8);

impl CoreLatch {
    pub(crate) fn new() -> Self {
        Self {
            state: AtomicUsize::new(UNSET),
        }
    }

    /// Returns whether the latch is set. If so, the caller sees everything that the setter did
    /// before.
    #[inline]
    pub(crate) fn probe(&self) -> bool {
        // ORDERING: Acquire, pairs with the swap in `set`: the caller sees the result that the
        // latch stands for.
        self.state.load(Ordering::Acquire) == SET
    }

    /// Call this when the owner is about to block on this latch. Returns `false` only if the latch
    /// is set.
    pub(crate) fn try_get_sleepy(&self) -> bool {
        self.try_step(UNSET, SLEEPY)
    }

    /// The sleepy owner commits itself to block: from here on a setter will wake the owner. Returns
    /// `false` only if the latch is set.
    pub(crate) fn try_fall_asleep(&self) -> bool {
        self.try_step(SLEEPY, SLEEPING)
    }

    /// Call this when the owner is awake again. Does nothing to a latch that is set.
    pub(crate) fn wake_up(&self) {
        if !self.probe() {
            // This step may fail only because the latch was set meanwhile.
            self.try_step(SLEEPING, UNSET);
        }
    }

    /// Sets the latch. Returns `true` if the owner has blocked on the latch or is about to, and the
    /// caller must wake the owner.
    ///
    /// # Safety
    ///
    /// `this` is valid until the swap, after which the owner may free the latch. Before the swap,
    /// the caller has read what it needs to find the owner. After the swap, the caller reads
    /// nothing through `this`.
    #[inline]
    pub(crate) unsafe fn set(this: *const Self) -> bool {
        // SAFETY: this reference's only use is the swap, until which the latch lives.
        let state = unsafe { &(*this).state };
        // ORDERING: SeqCst like every step. Correctness needs Release, for `probe`, and Acquire:
        // the thread that wakes the owner sees everything that the owner did before it fell asleep.
        state.swap(SET, Ordering::SeqCst) == SLEEPING
    }

    fn try_step(&self, from: usize, to: usize) -> bool {
        // ORDERING: SeqCst on success, as in `set`. The step fails only if the latch was set.
        // Before the owner relies on that, it calls `probe`, which acquires.
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
