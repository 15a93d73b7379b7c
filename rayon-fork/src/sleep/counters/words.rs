//! One word of the counters, which reports each access to the hooks, and the steps that layouts
//! share. The word's name is part of its type, so the word is no larger than the number.

use super::MAX_WORKERS;
use super::dimensions::WakeRule;
use crate::hooks;
use crate::sync::modelled::{AtomicUsize, Ordering, fence_for_loom};
use std::marker::PhantomData;

pub(crate) trait WordName: Send + Sync + 'static {
    const WORD: hooks::Word;
}

macro_rules! word_names {
    ($($name:ident),*) => {$(
        pub(crate) enum $name {}

        impl WordName for $name {
            const WORD: hooks::Word = hooks::Word::$name;
        }
    )*};
}
word_names!(Packed, Sleeping, Inactive, Events);

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

    /// Returns the number for debug output and tests. The hooks do not count this access.
    pub(crate) fn glimpse(&self) -> usize {
        self.number.load(Ordering::Relaxed)
    }
}

/// Adds `one_event` to the events counter in `word` while `is_due` returns true for the word.
/// Returns a value for which `is_due` returns false.
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

/// Call this when a worker ends its search, before reading S. Returns how many workers are still
/// inactive, or 0 if inactive workers are not counted.
#[inline]
pub(super) fn end_search<W: WakeRule>(inactive: &CountedWord<Inactive>) -> usize {
    if W::COUNTS_SEARCHERS {
        // ORDERING: SeqCst, as all accesses to counters, and before the caller's load of S. A
        // producer that relied on this worker read I before this step. So the caller's load shows
        // the sleepers that the producer left asleep. If the worker read S first, another worker
        // could fall asleep between the two accesses, and no thread would wake it (README, section
        // 8).
        let before = inactive.fetch_sub(1, Ordering::SeqCst);
        debug_or_loom_assert!(before > 0, "a worker stops searching that did not begin");
        fence_for_loom();
        before.wrapping_sub(1)
    } else {
        0
    }
}

/// Returns the number of searching workers. The calling producer has read `sleeping` before.
#[inline]
pub(super) fn searching(inactive: &CountedWord<Inactive>, sleeping: usize) -> usize {
    fence_for_loom();
    // ORDERING: SeqCst, as all accesses to counters. A worker that lowers I after this load then
    // reads S, and wakes sleepers for this producer.
    let inactive = inactive.load(Ordering::SeqCst);
    inactive.saturating_sub(sleeping)
}
