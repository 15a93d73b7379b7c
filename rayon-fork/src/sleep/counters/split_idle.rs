//! Two words: those who only search no longer disturb those who push, and yet "no news" and "one
//! more sleeper" stay one step.
//!
//! | word       | bits (64-bit) | bits (32-bit) | field | counts                                |
//! |------------|---------------|---------------|-------|---------------------------------------|
//! | `word`     | 0..16         | 0..8          | S     | workers asleep: blocked, or about to  |
//! | `word`     | 16..64        | 8..32         | J     | even: no news since one became sleepy |
//! | `inactive` | all           | all           | I     | workers searching, sleepy or asleep   |
//!
//! | placement | where                                                        |
//! |-----------|--------------------------------------------------------------|
//! | unpadded  | one block of 16 bytes, aligned, and so within one cache line |
//! | padded    | each word on cache lines of its own                          |
//!
//! J is on top so that its overflow falls off the word. `sleepers-only` does not use I, which then
//! stays in its place and is never touched. Without events there would be nothing to pack, so
//! `no-jec` is refused.
//!
//! Sleepers and events go together as in `packed.rs`, searchers are apart as in `split.rs`; why
//! values of different age do no harm is in the sleep README, section 8.

use super::axes::{Axes, CountedEvents, LeaveRule, Line, WakeRule};
use super::words::{self, CountedWord};
use super::{COUNT_BITS, MAX_WORKERS, SleepCounters, SleepyTicket};
use crate::name::Name;
use crate::sync::modelled::Ordering;
use std::marker::PhantomData;

const ONE_SLEEPING: usize = 1;
const ONE_EVENT: usize = 1 << COUNT_BITS;

const SLEEPING: usize = ONE_EVENT - 1;

/// Sleepers and events in one word, inactive workers in another.
#[repr(C)]
#[cfg_attr(target_pointer_width = "64", repr(align(16)))]
#[cfg_attr(target_pointer_width = "32", repr(align(8)))]
pub(crate) struct SplitIdle<A: Axes> {
    pub(crate) word: Line<A, CountedWord<words::SleepingEvents>>,
    pub(crate) inactive: Line<A, CountedWord<words::Inactive>>,
    axes: PhantomData<A>,
}

const _: () = assert!(MAX_WORKERS == SLEEPING);
#[cfg(not(fork_loom))]
const _: () = {
    use super::axes::{CachePadded, IdleFirst, Inline, Jec};
    use super::fences::NoFence;
    use crossbeam_utils::CachePadded as Line;
    use std::mem::offset_of;

    type Together = SplitIdle<(Jec, NoFence, IdleFirst, Inline)>;
    type Apart = SplitIdle<(Jec, NoFence, IdleFirst, CachePadded)>;

    assert!(size_of::<Together>() == 2 * size_of::<usize>());
    assert!(align_of::<Together>() == size_of::<Together>());

    let line = align_of::<Line<usize>>();
    assert!(align_of::<Apart>() == line && size_of::<Apart>() == 2 * line);
    assert!(offset_of!(Apart, inactive) == line);
};

/// One value of the word of sleepers and events, taken apart.
#[derive(Clone, Copy)]
pub(crate) struct Word(pub(crate) usize);

impl Word {
    #[inline]
    pub(crate) fn sleeping(self) -> usize {
        self.0 & SLEEPING
    }

    #[inline]
    pub(crate) fn events(self) -> usize {
        self.0 >> COUNT_BITS
    }

    #[inline]
    fn has_news(self) -> bool {
        self.0 & ONE_EVENT != 0
    }
}

impl<A: Axes<Events: CountedEvents>> SplitIdle<A> {
    const FULL_NAME: Name = Name::join("split-idle", A::MODIFIERS);

    /// Counters that continue from these values.
    pub(crate) fn from_words(word: usize, inactive: usize) -> Self {
        Self {
            word: CountedWord::new(word).into(),
            inactive: CountedWord::new(inactive).into(),
            axes: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn load(&self) -> Word {
        // ORDERING: SeqCst, as all accesses to counters (see `SleepCounters`): after a fence or a
        // change by the same thread, this must see every sleeper that did not see what came before
        // it.
        Word(self.word.load(Ordering::SeqCst))
    }

    /// Steps the events counter if its parity says so, and returns a value of the word in which it
    /// does not. A publisher's step and a sleeper's registration are changes of one word, so one of
    /// them comes first and the other sees it.
    fn count_event_if(&self, is_due: impl Fn(Word) -> bool) -> Word {
        Word(words::count_event_if(&self.word, ONE_EVENT, |word| {
            is_due(Word(word))
        }))
    }

    #[cold]
    #[inline(never)]
    fn announce_to_sleepers(&self, queue_was_empty: bool) -> usize {
        let sleeping = self.count_event_if(|word| !word.has_news()).sleeping();
        if sleeping == 0 {
            return 0;
        }
        A::WakeRule::sleepers_to_wake(sleeping, queue_was_empty, || {
            words::searching(&self.inactive, sleeping)
        })
    }
}

impl<A: Axes<Events: CountedEvents>> SleepCounters for SplitIdle<A> {
    const NAME: &'static str = Self::FULL_NAME.as_str();
    type Axes = A;
    const COUNTS_SEARCHERS: bool = A::WakeRule::COUNTS_SEARCHERS;

    fn new(_workers: usize) -> Self {
        Self::from_words(0, 0)
    }

    #[inline]
    fn begin_search(&self, _worker: usize) {
        words::begin_search::<A::WakeRule>(&self.inactive);
    }

    #[inline]
    fn end_search(&self, _worker: usize) -> usize {
        let inactive = words::end_search::<A::WakeRule>(&self.inactive);
        let sleeping = self.load().sleeping();
        A::LeaveRule::sleepers_to_wake(sleeping, || inactive.saturating_sub(sleeping))
    }

    fn become_sleepy(&self, _worker: usize) -> SleepyTicket {
        SleepyTicket(self.count_event_if(Word::has_news).events())
    }

    fn try_begin_sleep(&self, _worker: usize, ticket: SleepyTicket) -> bool {
        // ORDERING: SeqCst, as all accesses to counters. Only the whole word may be exchanged: it
        // is what makes "no news" and "one more sleeper" one step.
        let registered = self
            .word
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |word| {
                if Word(word).events() != ticket.0 {
                    return None;
                }
                debug_or_loom_assert!(
                    Word(word).sleeping() < MAX_WORKERS,
                    "more workers sleep than a pool can have"
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
    fn announce_job(&self, queue_was_empty: bool) -> usize {
        // One mask and one comparison in the common case: news were told already, and nobody
        // sleeps.
        if self.load().0 & (ONE_EVENT | SLEEPING) == ONE_EVENT {
            0
        } else {
            self.announce_to_sleepers(queue_was_empty)
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
        self.inactive.load(Ordering::Relaxed)
    }
}
