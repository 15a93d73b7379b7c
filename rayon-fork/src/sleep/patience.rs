//! Whether it pays to search a little longer, by what it was worth lately.
//!
//! To fall asleep just before the next job comes costs a wake-up. Where jobs come after gaps that are shorter than a
//! wake-up takes, it is cheaper to search on; where they come after long ones, it only burns time. So the last worker
//! that searches *lingers*: it goes on for about as long as a wake-up takes, and remembers whether a job came. After
//! each time in vain it leaves out twice as many (as a sender backs off after collisions), after a success none.

use std::cell::Cell;
use std::time::Duration;

use crate::sync::Instant;

/// About what it costs to block a thread and wake it, which is also how long it takes. Measured on a virtual machine of
/// two CPUs, where a halted CPU is slow to come back; less elsewhere.
const LINGER: Duration = Duration::from_micros(50);

/// A worker that never succeeds leaves out one less than two to the power of this.
const MOST_IN_VAIN: u8 = 8;

/// What one worker remembers of its searches.
#[derive(Default)]
pub(crate) struct Patience {
    /// How often it lingered in vain since it last succeeded, as far as that matters.
    in_vain: Cell<u8>,
    /// Searches to come in which it does not linger.
    to_leave_out: Cell<u8>,
    until: Cell<Option<Instant>>,
}

impl Patience {
    /// Whether to linger from now on. If not, that was one search left out.
    pub(super) fn try_begin(&self) -> bool {
        let to_leave_out = self.to_leave_out.get();
        if to_leave_out > 0 {
            self.to_leave_out.set(to_leave_out - 1);
            return false;
        }
        self.until.set(Some(Instant::now() + LINGER));
        true
    }

    /// Whether to linger longer. If not, it was in vain.
    pub(super) fn try_go_on(&self) -> bool {
        let goes_on = self.until.get().is_some_and(|until| Instant::now() < until);
        if !goes_on {
            let in_vain = (self.in_vain.get() + 1).min(MOST_IN_VAIN);
            self.in_vain.set(in_vain);
            self.to_leave_out.set(u8::MAX >> (MOST_IN_VAIN - in_vain));
        }
        goes_on
    }

    /// The search ended while the worker lingered.
    pub(super) fn was_worth_it(&self) {
        self.in_vain.set(0);
    }
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::*;

    /// How many of `searches` in a row lingered, each in vain.
    fn in_vain(patience: &Patience, searches: usize) -> usize {
        let lingers = |_: &usize| {
            let begins = patience.try_begin();
            if begins {
                patience.until.set(None);
                assert!(!patience.try_go_on());
            }
            begins
        };
        (0..searches).filter(lingers).count()
    }

    #[test]
    fn a_worker_that_never_succeeds_lingers_in_one_search_of_256() {
        let patience = Patience::default();
        in_vain(&patience, 1_000);
        assert_eq!(in_vain(&patience, 2_560), 10);
    }

    #[test]
    fn after_a_success_it_lingers_again_at_once() {
        let patience = Patience::default();
        in_vain(&patience, 1_000);
        while !patience.try_begin() {}
        patience.was_worth_it();
        assert!(patience.try_begin());
    }

    #[test]
    fn each_time_in_vain_leaves_out_more() {
        let patience = Patience::default();
        // The first, then 1, 3 and 7 left out between.
        assert_eq!(in_vain(&patience, 1), 1);
        assert_eq!(in_vain(&patience, 2), 1);
        assert_eq!(in_vain(&patience, 4), 1);
        assert_eq!(in_vain(&patience, 8), 1);
    }
}
