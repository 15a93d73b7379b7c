//! One word of the counters: an atomic number that tells the hooks of each access, and what more
//! than one packing does with it: step the events, or keep I apart.
//!
//! A word's name is part of its type, so the word itself is no larger than the number, and a build
//! without the feature `instrument` accesses the number and nothing else.

use super::MAX_WORKERS;
use super::axes::WakeRule;
use crate::hooks;
use crate::sync::modelled::{AtomicUsize, Ordering, fence_for_loom};
use std::marker::PhantomData;

/// Which word it is.
pub(crate) trait WordName: Send + Sync + 'static {
    const WORD: hooks::Word;
}

/// Declares the names as types that have no values.
macro_rules! word_names {
    ($($name:ident),*) => {$(
        /// The word of that name.
        pub(crate) enum $name {}

        impl WordName for $name {
            const WORD: hooks::Word = hooks::Word::$name;
        }
    )*};
}
word_names!(Packed, Sleeping, Inactive, Events);

/// The word of name `N`. Methods are those of the atomic number.
#[repr(transparent)]
pub(crate) struct CountedWord<N> {
    number: AtomicUsize,
    name: PhantomData<N>,
}

impl<N: WordName> CountedWord<N> {
    pub(crate) fn new(number: usize) -> Self {
        Self {
            number: AtomicUsize::new(number),
            name: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> usize {
        hooks::loaded(N::WORD);
        self.number.load(order)
    }

    #[inline]
    pub(crate) fn fetch_add(&self, more: usize, order: Ordering) -> usize {
        hooks::changed(N::WORD);
        self.number.fetch_add(more, order)
    }

    #[inline]
    pub(crate) fn fetch_sub(&self, less: usize, order: Ordering) -> usize {
        hooks::changed(N::WORD);
        self.number.fetch_sub(less, order)
    }

    #[inline]
    pub(crate) fn compare_exchange_weak(
        &self,
        current: usize,
        new: usize,
        success: Ordering,
        failure: Ordering,
    ) -> Result<usize, usize> {
        let outcome = self
            .number
            .compare_exchange_weak(current, new, success, failure);
        hooks::tried_to_exchange(N::WORD, outcome.is_ok());
        outcome
    }

    #[inline]
    pub(crate) fn fetch_update(
        &self,
        success: Ordering,
        failure: Ordering,
        mut next: impl FnMut(usize) -> Option<usize>,
    ) -> Result<usize, usize> {
        let mut current = self.load(failure);
        while let Some(new) = next(current) {
            match self.compare_exchange_weak(current, new, success, failure) {
                outcome @ Ok(_) => return outcome,
                Err(changed) => current = changed,
            }
        }
        Err(current)
    }

    /// The number, for people and tests. The hooks are not told.
    pub(crate) fn glimpse(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }
}

/// Steps the events counter, whose unit in `word` is `one_event`, if its parity `is_due` for that;
/// returns a value of the word in which it is not.
#[inline]
pub(super) fn count_event_if<N: WordName>(
    word: &CountedWord<N>,
    one_event: usize,
    is_due: impl Fn(usize) -> bool,
) -> usize {
    // ORDERING: SeqCst here and below, as all accesses to counters.
    let mut value = word.load(Ordering::SeqCst);
    while is_due(value) {
        let next = value.wrapping_add(one_event);
        match word.compare_exchange_weak(value, next, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => value = next,
            Err(current) => value = current,
        }
    }
    value
}

/// A worker begins to search, where I is a word of its own.
#[inline]
pub(super) fn begin_search<W: WakeRule>(inactive: &CountedWord<Inactive>) {
    if W::COUNTS_SEARCHERS {
        // ORDERING: SeqCst, as all accesses to counters.
        let before = inactive.fetch_add(1, Ordering::SeqCst);
        debug_or_loom_assert!(
            before < MAX_WORKERS,
            "more workers search than a pool can have"
        );
    }
}

/// A worker ends its search, where I is a word of its own; returns how many are still inactive, if
/// they are counted. The caller reads S next.
#[inline]
pub(super) fn end_search<W: WakeRule>(inactive: &CountedWord<Inactive>) -> usize {
    if W::COUNTS_SEARCHERS {
        // ORDERING: SeqCst, as all accesses to counters, and before the caller's load of S: a
        // publisher that counted on this worker read I before this, so the load shows the sleepers
        // it left asleep. The other way round, one could fall asleep in between and be left to
        // nobody (README, section 8).
        let before = inactive.fetch_sub(1, Ordering::SeqCst);
        debug_or_loom_assert!(before > 0, "a worker stops searching that did not begin");
        fence_for_loom();
        before.wrapping_sub(1)
    } else {
        0
    }
}

/// How many workers search, by a publisher that has read how many sleep, where I is a word of its
/// own.
#[inline]
pub(super) fn searching(inactive: &CountedWord<Inactive>, sleeping: usize) -> usize {
    fence_for_loom();
    // ORDERING: SeqCst, as all accesses to counters. A worker that leaves does so after this load,
    // and then reads the sleepers this publisher relies on it to wake.
    let inactive = inactive.load(Ordering::SeqCst);
    // The two loads are of different age, so there may seem to be more sleepers than inactive
    // workers.
    inactive.saturating_sub(sleeping)
}
