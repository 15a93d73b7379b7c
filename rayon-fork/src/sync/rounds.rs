//! Rounds: many threads may share one call of the kernel as the heavy side of their fences.
//!
//! The kernel serves one such call at a time for the whole system. Each call interrupts every other
//! CPU that runs the process. When a wide pool falls asleep, many workers fence, and the last
//! worker would wait for all other calls. But one call is enough for all threads that came before
//! the call began.

use std::time::Duration;

use super::machine::{Instant, hint};
use super::modelled::{AtomicUsize, Ordering};

/// How long a thread waits for another thread's round before it fences by itself, because the other
/// thread may have lost its CPU. A guess: about the cost of blocking and being woken.
const PATIENCE: Duration = Duration::from_micros(50);

/// The limit in a model, which has no clock: the number of times that the thread reads the round.
const LOOKS: u32 = 2;

pub(crate) struct Rounds {
    /// Twice the number of rounds that have ended, plus one while a round runs, or after it was
    /// refused.
    pub(super) number: AtomicUsize,
}

impl Rounds {
    #[cfg(not(fork_loom))]
    pub(crate) const fn new() -> Self {
        Self {
            number: AtomicUsize::new(0),
        }
    }

    #[cfg(fork_loom)]
    pub(crate) fn new() -> Self {
        Self {
            number: AtomicUsize::new(0),
        }
    }

    /// Returns after a fence that began after this call, by `fence` or by another thread. Returns
    /// `false` if `fence` was called and was refused.
    pub(crate) fn join(&self, fence: impl FnOnce() -> bool) -> bool {
        // ORDERING: AcqRel, and a read-modify-write, although the number does not change. The
        // thread that begins a later round acquires this step, and so fences for what the caller
        // did before. If the caller only loaded the number, the thread that begins a later round
        // would have nothing to acquire.
        let number = self.number.fetch_add(0, Ordering::AcqRel);
        self.wait_for(after(number), fence)
    }

    /// Returns when `number` has reached `wanted`, or after a `fence` of the caller. Returns
    /// `false` if that `fence` was refused.
    pub(super) fn wait_for(&self, wanted: usize, fence: impl FnOnce() -> bool) -> bool {
        let (mut begun, mut looks) = (None, 0);
        loop {
            // ORDERING: Acquire, pairs with the end of a round: the caller next reads what the
            // round's fence has made visible. If the caller ends this round, the load also pairs
            // with `join`.
            let number = self.number.load(Ordering::Acquire);
            if number.wrapping_sub(wanted) <= usize::MAX / 2 {
                return true;
            }
            if number & 1 == 0 && self.try_begin(number) {
                let is_served = fence();
                if is_served {
                    self.end(number.wrapping_add(1));
                }
                return is_served;
            }
            looks += 1;
            let is_over = if cfg!(fork_loom) {
                looks == LOOKS
            } else {
                begun.get_or_insert_with(Instant::now).elapsed() > PATIENCE
            };
            if is_over {
                // This thread's fence began after the round did, so this thread may end the round.
                // Perhaps no other thread would end it: a child of `fork` has the number, but not
                // the thread that began the round.
                let is_served = fence();
                if number & 1 == 1 && is_served {
                    self.end(number);
                }
                return is_served;
            }
            hint::spin_loop();
        }
    }

    fn try_begin(&self, number: usize) -> bool {
        let next = number.wrapping_add(1);
        // ORDERING: AcqRel. Acquire pairs with `join`: the next fence is for the callers of `join`.
        // Release: every change is a read-modify-write, and passes on what came before earlier
        // changes.
        self.number
            .compare_exchange(number, next, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Ends round `number`. The caller's fence was served, and began after that round did. Does
    /// nothing if another thread has ended the round. A refused thread does not call this: each
    /// number stands for one round, which a thread with a served fence ends.
    fn end(&self, number: usize) {
        let next = number.wrapping_add(1);
        // ORDERING: AcqRel. Release pairs with the load in `wait_for`. Acquire is for the next
        // round, as in `try_begin`.
        let _ = self
            .number
            .compare_exchange(number, next, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Returns the value of the word at the end of the first round that begins after `number` was read.
fn after(number: usize) -> usize {
    (number.wrapping_add(3)) & !1
}

#[cfg(all(test, fork_loom))]
mod models;

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_thread_that_comes_alone_fences_once_each_time() {
        let (rounds, fences) = (Rounds::new(), Cell::new(0));
        for _ in 0..3 {
            assert!(rounds.join(|| {
                fences.set(fences.get() + 1);
                true
            }));
        }
        assert_eq!(fences.get(), 3);
    }

    #[test]
    fn a_refusal_is_reported_and_is_no_round() {
        let rounds = Rounds::new();
        assert!(!rounds.join(|| false));
        assert!(rounds.join(|| true), "the next call asks the kernel again");
    }

    #[test]
    fn a_thread_that_waits_for_an_abandoned_round_fences_by_itself() {
        let rounds = Rounds::new();
        assert!(rounds.try_begin(0), "no thread ends this round");
        let has_fenced = Cell::new(false);
        assert!(rounds.join(|| {
            has_fenced.set(true);
            true
        }));
        assert!(has_fenced.get());
        assert_eq!(
            rounds.number.load(Ordering::Relaxed) & 1,
            0,
            "the next thread would wait, too"
        );
    }

    #[test]
    fn a_thread_that_ends_a_round_late_does_not_end_the_next_one() {
        let rounds = Rounds::new();
        assert!(rounds.try_begin(0));
        rounds.end(1);
        assert!(rounds.try_begin(2));
        rounds.end(1);
        assert_eq!(rounds.number.load(Ordering::Relaxed), 3);
    }
}
