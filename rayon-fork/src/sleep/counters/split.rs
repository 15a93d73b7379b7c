//! One word per counter. With `cache-padded`, workers that only search do not disturb workers that
//! only push while no worker sleeps.
//!
//! | word       | field | counts                                     | written by                |
//! |------------|-------|--------------------------------------------|---------------------------|
//! | `sleeping` | S     | workers asleep: blocked, or about to block | sleepers, their wakers    |
//! | `inactive` | I     | workers searching, sleepy or asleep        | begin and end of search   |
//! | `events`   | J     | even: no news since a worker became sleepy | sleepy workers, producers |
//!
//! | placement | where                                                        |
//! |-----------|--------------------------------------------------------------|
//! | unpadded  | one block of 32 bytes, aligned, and so within one cache line |
//! | padded    | each word on cache lines of its own                          |
//!
//! A word that a variant does not use stays in its place, so variants differ only in their traffic.
//! `sleepers-only` does not use I, `no-jec` does not use J. There is no snapshot of all words:
//! section 8 of the sleep README says why values of different age do no harm.

use super::dimensions::{Dimensions, Events, Line, Propagation, WakeRule};
use super::words::{self, CountedWord};
use super::{MAX_WORKERS, SleepCounters, SleepyTicket};
#[cfg(feature = "instrument")]
use crate::hooks;
use crate::name::Name;
use crate::sync::modelled::{Ordering, fence_for_loom};
use std::marker::PhantomData;

#[repr(C, align(32))]
pub(crate) struct Split<A: Dimensions> {
    pub(crate) sleeping: Line<A, CountedWord<words::Sleeping>>,
    pub(crate) inactive: Line<A, CountedWord<words::Inactive>>,
    pub(crate) events: Line<A, CountedWord<words::Events>>,
    dimensions: PhantomData<A>,
}

#[cfg(not(fork_loom))]
const _: () = {
    use super::dimensions::{CachePadded, IdleFirst, Inline, Jec, NoFence};
    use crossbeam_utils::CachePadded as Line;
    use std::mem::offset_of;

    type Together = Split<(Jec, NoFence, IdleFirst, Inline)>;
    type Apart = Split<(Jec, NoFence, IdleFirst, CachePadded)>;

    assert!(size_of::<Together>() == 32 && align_of::<Together>() == 32);

    let line = align_of::<Line<usize>>();
    assert!(align_of::<Apart>() == line && size_of::<Apart>() == 3 * line);
    assert!(offset_of!(Apart, inactive) == line && offset_of!(Apart, events) == 2 * line);
};

#[inline]
fn is_odd(events: usize) -> bool {
    events & 1 != 0
}

impl<A: Dimensions> Split<A> {
    const FULL_NAME: Name = Name::join("split", A::NAME_PARTS);

    pub(crate) fn from_words(sleeping: usize, inactive: usize, events: usize) -> Self {
        Self {
            sleeping: CountedWord::new(sleeping).into(),
            inactive: CountedWord::new(inactive).into(),
            events: CountedWord::new(events).into(),
            dimensions: PhantomData,
        }
    }

    fn count_event_if(&self, is_due: impl Fn(usize) -> bool) -> usize {
        words::count_event_if(&self.events, 1, is_due)
    }

    #[cold]
    #[inline(never)]
    fn count_notification(&self) {
        self.count_event_if(|events| !is_odd(events));
        fence_for_loom();
    }

    #[cold]
    #[inline(never)]
    fn notify_sleepers(&self, sleeping: usize, queue_was_empty: bool) -> usize {
        A::WakeRule::sleepers_to_wake(sleeping, queue_was_empty, || {
            words::searching(&self.inactive, sleeping)
        })
    }
}

impl<A: Dimensions> SleepCounters for Split<A> {
    const NAME: &'static str = Self::FULL_NAME.as_str();
    type Dimensions = A;
    const COUNTS_SEARCHERS: bool = A::WakeRule::COUNTS_SEARCHERS;

    fn new(_workers: usize) -> Self {
        Self::from_words(0, 0, 0)
    }

    #[inline]
    fn begin_search(&self, _worker: usize) {
        words::begin_search::<A::WakeRule>(&self.inactive);
    }

    #[inline]
    fn end_search(&self, _worker: usize) -> usize {
        let inactive = words::end_search::<A::WakeRule>(&self.inactive);
        // ORDERING: SeqCst, as all accesses to counters.
        let sleeping = self.sleeping.load(Ordering::SeqCst);
        A::Propagation::sleepers_to_wake(sleeping, || inactive.saturating_sub(sleeping))
    }

    fn become_sleepy(&self, _worker: usize) -> SleepyTicket {
        SleepyTicket(if A::Events::COUNTED {
            self.count_event_if(is_odd)
        } else {
            0
        })
    }

    fn try_begin_sleep(&self, worker: usize, ticket: SleepyTicket) -> bool {
        // ORDERING: SeqCst, as all accesses to counters, and before the load of the events. A
        // producer steps J, then reads S. So either the producer sees the sleeper, or the sleeper
        // sees the step. If the sleeper read J first, producer and sleeper could miss each other
        // (README, section 8).
        let before = self.sleeping.fetch_add(1, Ordering::SeqCst);
        debug_or_loom_assert!(
            before < MAX_WORKERS,
            "more workers sleep than a pool can have"
        );
        if !A::Events::COUNTED {
            return true;
        }
        fence_for_loom();
        // ORDERING: SeqCst, as all accesses to counters, and after the change of S.
        let has_changed = self.events.load(Ordering::SeqCst) != ticket.0;
        if has_changed {
            self.end_sleep(worker);
        }
        !has_changed
    }

    fn end_sleep(&self, _worker: usize) {
        // ORDERING: SeqCst, as all accesses to counters.
        let before = self.sleeping.fetch_sub(1, Ordering::SeqCst);
        debug_or_loom_assert!(
            before > 0,
            "a worker wakes up that was not counted as asleep"
        );
    }

    #[inline]
    fn notify_job(&self, queue_was_empty: bool) -> usize {
        if A::Events::COUNTED {
            // ORDERING: SeqCst here and below, as all accesses to counters. The producer makes J
            // odd before it reads S, also if S is 0: J informs the sleepy workers, which S does not
            // count yet.
            if !is_odd(self.events.load(Ordering::SeqCst)) {
                self.count_notification();
            }
        }
        let sleeping = self.sleeping.load(Ordering::SeqCst);
        if A::WakeRule::READS_BOTH {
            // As in the branch of the 2022 study, every push loads I too, even if S is 0. The order
            // is that of variants without `READS_BOTH`: S, then I.
            let searching = words::searching(&self.inactive, sleeping);
            return if sleeping == 0 {
                0
            } else {
                A::WakeRule::sleepers_to_wake(sleeping, queue_was_empty, || searching)
            };
        }
        if sleeping == 0 {
            0
        } else {
            self.notify_sleepers(sleeping, queue_was_empty)
        }
    }

    #[inline]
    fn sleeping(&self) -> usize {
        // ORDERING: Relaxed, as the caller has fenced if it must (see the trait).
        self.sleeping.load(Ordering::Relaxed)
    }

    #[inline]
    fn inactive(&self) -> usize {
        // ORDERING: Relaxed, as the caller has fenced if it must (see the trait).
        self.inactive.load(Ordering::Relaxed)
    }

    fn events(&self) -> usize {
        self.events.glimpse()
    }

    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool {
        match word {
            hooks::Word::Sleeping => true,
            hooks::Word::Inactive => A::WakeRule::COUNTS_SEARCHERS,
            hooks::Word::Events => A::Events::COUNTED,
            hooks::Word::Packed => false,
        }
    }
}
