//! Heavy fences in rounds, of which many threads may share one.
//!
//! The kernel serves one heavy fence at a time, whoever asks, and interrupts every CPU of the
//! process for each. When a wide pool falls asleep, all of its workers fence; the last in the queue
//! would wait for all before it, deaf to the latch that its own job waits for. But one fence does
//! for everybody who came before it began.

use std::time::Duration;

use super::machine::{Instant, hint};
use super::modelled::{AtomicUsize, Ordering};

/// How long a thread waits for a round that others run before it fences by itself: who runs it may
/// have lost its CPU.
///
/// A guess: about what it would cost to block and be woken.
const PATIENCE: Duration = Duration::from_micros(50);

/// The same in a model, which has no clock.
const LOOKS: u32 = 2;

/// The rounds of a process.
pub(crate) struct Rounds {
    /// Twice the rounds that have ended; odd while one runs.
    pub(super) number: AtomicUsize,
}

impl Rounds {
    /// No round yet.
    #[cfg(not(fork_loom))]
    pub(crate) const fn new() -> Self {
        Self {
            number: AtomicUsize::new(0),
        }
    }

    /// No round yet.
    #[cfg(fork_loom)]
    pub(crate) fn new() -> Self {
        Self {
            number: AtomicUsize::new(0),
        }
    }

    /// Returns after a heavy fence that began after the call, be it by `fence` or by another
    /// thread's. `false` if `fence` was called, and says that it was none.
    pub(crate) fn join(&self, fence: impl FnOnce() -> bool) -> bool {
        // ORDERING: AcqRel, and a read-modify-write that changes nothing: the thread that begins a
        // later round acquires it, and so fences for what the caller did before. A load would not
        // be seen.
        let number = self.number.fetch_add(0, Ordering::AcqRel);
        self.wait_for(after(number), fence)
    }

    /// Returns when round `wanted` has ended, or after a `fence` of the caller.
    pub(super) fn wait_for(&self, wanted: usize, fence: impl FnOnce() -> bool) -> bool {
        let (mut begun, mut looks) = (None, 0);
        loop {
            // ORDERING: Acquire, pairs with the end of a round: what its fence has made visible is
            // read next. And with `join`, as in `try_begin`, if the caller ends this round.
            let number = self.number.load(Ordering::Acquire);
            // Also if it has gone round.
            if number.wrapping_sub(wanted) <= usize::MAX / 2 {
                return true;
            }
            if number & 1 == 0 && self.try_begin(number) {
                let is_served = fence();
                self.end(number.wrapping_add(1), is_served);
                return is_served;
            }
            looks += 1;
            let is_over = if cfg!(fork_loom) {
                looks == LOOKS
            } else {
                begun.get_or_insert_with(Instant::now).elapsed() > PATIENCE
            };
            if is_over {
                // This fence begins after the round did, so it may end the round. Otherwise nobody
                // might: a child of `fork` has the number, but not the thread that began the round.
                let is_served = fence();
                if number & 1 == 1 && is_served {
                    self.end(number, is_served);
                }
                return is_served;
            }
            hint::spin_loop();
        }
    }

    fn try_begin(&self, number: usize) -> bool {
        let next = number.wrapping_add(1);
        // ORDERING: AcqRel. Acquire: pairs with `join`, for whose callers the next fence is.
        // Release: every change of the number is a read-modify-write, and so passes on what came
        // before an earlier one.
        self.number
            .compare_exchange(number, next, Ordering::AcqRel, Ordering::Relaxed)
            .is_ok()
    }

    /// Ends round `number`, after a fence that began after it did; one that the kernel refused
    /// was none. Or somebody else has ended it.
    fn end(&self, number: usize, is_served: bool) {
        let next = if is_served {
            number.wrapping_add(1)
        } else {
            number - 1
        };
        // ORDERING: AcqRel. Release: pairs with the load in `wait_for`. Acquire, for the next
        // round: as in `try_begin`.
        let _ = self
            .number
            .compare_exchange(number, next, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// The number from which on a fence has begun after `number` was read: one that ran then may have
/// fenced before.
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
    fn who_comes_alone_fences_once_each_time() {
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
    fn a_refusal_is_told_and_is_no_round() {
        let rounds = Rounds::new();
        assert!(!rounds.join(|| false));
        assert!(rounds.join(|| true), "the next one asks again");
    }

    #[test]
    fn who_waits_for_a_round_that_does_not_end_fences_by_itself() {
        let rounds = Rounds::new();
        assert!(rounds.try_begin(0), "nobody ends this one");
        let has_fenced = Cell::new(false);
        assert!(rounds.join(|| {
            has_fenced.set(true);
            true
        }));
        assert!(has_fenced.get());
        assert_eq!(
            rounds.number.load(Ordering::Relaxed) & 1,
            0,
            "the next one would wait, too"
        );
    }

    #[test]
    fn who_ends_a_round_late_does_not_end_the_next_one() {
        let rounds = Rounds::new();
        assert!(rounds.try_begin(0));
        // Another thread gives up waiting, and a third begins a round.
        rounds.end(1, true);
        assert!(rounds.try_begin(2));
        for is_served in [true, false] {
            rounds.end(1, is_served);
            assert_eq!(rounds.number.load(Ordering::Relaxed), 3);
        }
    }

    #[test]
    fn of_many_at_once_each_gets_a_fence_that_began_later() {
        const THREADS: usize = 8;
        const TIMES: usize = if cfg!(miri) { 5 } else { 200 };
        let (rounds, begun) = (Rounds::new(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..TIMES {
                        let before = begun.load(Ordering::SeqCst);
                        assert!(rounds.join(|| {
                            begun.fetch_add(1, Ordering::SeqCst);
                            std::thread::yield_now();
                            true
                        }));
                        assert!(
                            begun.load(Ordering::SeqCst) > before,
                            "no fence since the call"
                        );
                    }
                });
            }
        });
    }
}
