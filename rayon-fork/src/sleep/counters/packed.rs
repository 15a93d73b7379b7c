//! All counters in one word. One load reads everything, and every change writes the same cache
//! line.
//!
//! | bits (64-bit) | bits (32-bit) | field | counts                                               |
//! |---------------|---------------|-------|------------------------------------------------------|
//! | 0..16         | 0..8          | S     | workers asleep: blocked, or about to block           |
//! | 16..32        | 8..16         | I     | workers searching, sleepy or asleep; never below S   |
//! | 32..64        | 16..32        | J     | events; even: none since a worker became sleepy      |
//!
//! J is on top, so that its overflow leaves the word. In variants without an events counter, the
//! bits of J stay 0. With `sleepers-only` no push reads I, but workers still count themselves
//! there, so that only the wake rule differs from `packed`.

use super::dimensions::{Dimensions, Events, Line, Propagation, WakeRule};
use super::words::{self, CountedWord};
use super::{COUNT_BITS, MAX_WORKERS, SleepCounters, SleepyTicket};
#[cfg(feature = "instrument")]
use crate::hooks;
use crate::name::Name;
use crate::sync::modelled::Ordering;
use std::marker::PhantomData;

const ONE_SLEEPING: usize = 1;
const ONE_INACTIVE: usize = 1 << COUNT_BITS;
const ONE_EVENT: usize = 1 << (2 * COUNT_BITS);

const SLEEPING: usize = ONE_INACTIVE - 1;

pub(crate) struct Packed<A: Dimensions> {
    pub(crate) word: Line<A, CountedWord<words::Packed>>,
    dimensions: PhantomData<A>,
}

const _: () = assert!(MAX_WORKERS == SLEEPING);
#[cfg(not(fork_loom))]
const _: () = {
    use super::dimensions::{CachePadded, IdleFirst, Inline, Jec, NoFence};
    use crossbeam_utils::CachePadded as Line;

    assert!(size_of::<Packed<(Jec, NoFence, IdleFirst, Inline)>>() == size_of::<usize>());
    assert!(
        align_of::<Packed<(Jec, NoFence, IdleFirst, CachePadded)>>() == align_of::<Line<usize>>()
    );
    assert!(
        size_of::<Packed<(Jec, NoFence, IdleFirst, CachePadded)>>() == size_of::<Line<usize>>()
    );
};

#[derive(Clone, Copy)]
pub(crate) struct Word(pub(crate) usize);

impl Word {
    #[inline]
    pub(crate) fn sleeping(self) -> usize {
        self.0 & SLEEPING
    }

    #[inline]
    pub(crate) fn inactive(self) -> usize {
        (self.0 >> COUNT_BITS) & SLEEPING
    }

    #[inline]
    pub(crate) fn events(self) -> usize {
        self.0 >> (2 * COUNT_BITS)
    }

    #[inline]
    pub(crate) fn has_changed(self) -> bool {
        self.0 & ONE_EVENT != 0
    }
}

impl<A: Dimensions> Packed<A> {
    const FULL_NAME: Name = Name::join("packed", A::NAME_PARTS);

    pub(crate) fn from_word(word: usize) -> Self {
        Self {
            word: CountedWord::new(word).into(),
            dimensions: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn load(&self) -> Word {
        // ORDERING: SeqCst, as all accesses to counters (see `SleepCounters`). Suppose this thread
        // fenced or stepped J before this load. Then the load sees every sleeper that missed what
        // this thread did before that fence or step.
        Word(self.word.load(Ordering::SeqCst))
    }

    /// Steps the events counter while `is_due` returns true for the word. Returns a word for which
    /// `is_due` returns false. A producer's step and a sleeper's registration change one word, so
    /// one of the two changes comes first, and the other thread sees it.
    fn count_event_if(&self, is_due: impl Fn(Word) -> bool) -> Word {
        Word(words::count_event_if(&self.word, ONE_EVENT, |word| {
            is_due(Word(word))
        }))
    }

    #[cold]
    #[inline(never)]
    fn notify_sleepers(&self, queue_was_empty: bool) -> usize {
        let word = if A::Events::COUNTED {
            self.count_event_if(|word| !word.has_changed())
        } else {
            self.load()
        };
        if word.sleeping() == 0 {
            return 0;
        }
        A::WakeRule::sleepers_to_wake(word.sleeping(), queue_was_empty, || {
            word.inactive() - word.sleeping()
        })
    }
}

impl<A: Dimensions> SleepCounters for Packed<A> {
    const NAME: &'static str = Self::FULL_NAME.as_str();
    type Dimensions = A;
    const COUNTS_SEARCHERS: bool = true;

    fn new(_workers: usize) -> Self {
        Self::from_word(0)
    }

    #[inline]
    fn begin_search(&self, _worker: usize) {
        // ORDERING: SeqCst, as all accesses to counters.
        let before = Word(self.word.fetch_add(ONE_INACTIVE, Ordering::SeqCst));
        debug_or_loom_assert!(
            before.inactive() < MAX_WORKERS,
            "more workers search than a pool can have"
        );
    }

    #[inline]
    fn end_search(&self, _worker: usize) -> usize {
        // ORDERING: SeqCst, as all accesses to counters. A producer that relied on this worker read
        // the word before this step. So `before` shows the sleepers that the producer left asleep.
        let before = Word(self.word.fetch_sub(ONE_INACTIVE, Ordering::SeqCst));
        debug_or_loom_assert!(
            before.inactive() > before.sleeping(),
            "a worker stops searching while it is counted as asleep"
        );
        A::Propagation::sleepers_to_wake(before.sleeping(), || {
            before.inactive() - 1 - before.sleeping()
        })
    }

    fn become_sleepy(&self, _worker: usize) -> SleepyTicket {
        if !A::Events::COUNTED {
            return SleepyTicket(0);
        }
        SleepyTicket(self.count_event_if(Word::has_changed).events())
    }

    fn try_begin_sleep(&self, _worker: usize, ticket: SleepyTicket) -> bool {
        if !A::Events::COUNTED {
            // ORDERING: SeqCst, as all accesses to counters. The caller fences next.
            let before = Word(self.word.fetch_add(ONE_SLEEPING, Ordering::SeqCst));
            debug_or_loom_assert!(
                before.sleeping() < before.inactive(),
                "a worker falls asleep that did not search"
            );
            return true;
        }
        // ORDERING: SeqCst, as all accesses to counters. One exchange of the whole word makes "no
        // notification" and "one more sleeper" one step.
        let registered = self
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| {
                if Word(word).events() != ticket.0 {
                    return None;
                }
                debug_or_loom_assert!(
                    Word(word).sleeping() < Word(word).inactive(),
                    "a worker falls asleep that did not search"
                );
                Some(word + ONE_SLEEPING)
            });
        registered.is_ok()
    }

    fn end_sleep(&self, _worker: usize) {
        // ORDERING: SeqCst, as all accesses to counters.
        let before = Word(self.word.fetch_sub(ONE_SLEEPING, Ordering::SeqCst));
        debug_or_loom_assert!(
            before.sleeping() > 0,
            "a worker wakes up that was not counted as asleep"
        );
    }

    #[inline]
    fn notify_job(&self, queue_was_empty: bool) -> usize {
        let word = self.load();
        // The common case, by one mask and one comparison: the events are odd, and no worker
        // sleeps.
        let quiet = if A::Events::COUNTED { ONE_EVENT } else { 0 };
        if word.0 & (ONE_EVENT | SLEEPING) == quiet {
            0
        } else {
            self.notify_sleepers(queue_was_empty)
        }
    }

    #[inline]
    fn sleeping(&self) -> usize {
        // ORDERING: Relaxed, as the caller has fenced if it must (see the trait).
        Word(self.word.load(Ordering::Relaxed)).sleeping()
    }

    #[inline]
    fn inactive(&self) -> usize {
        // ORDERING: Relaxed, as the caller has fenced if it must (see the trait).
        Word(self.word.load(Ordering::Relaxed)).inactive()
    }

    fn events(&self) -> usize {
        Word(self.word.glimpse()).events()
    }

    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool {
        word == hooks::Word::Packed
    }
}
