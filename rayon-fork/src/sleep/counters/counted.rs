//! One word of the counters: an atomic number that tells the hooks of each access.
//!
//! Its name is part of its type, so the word itself is no larger than the number, and a build without the feature
//! `instrument` accesses the number and nothing else.

use crate::hooks;
use crate::sync::modelled::{AtomicUsize, Ordering};
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
word_names!(Packed, Sleeping, Inactive, Events, SleepingEvents);

/// The word of name `N`. Methods are those of the atomic number.
#[repr(transparent)]
pub(crate) struct CountedWord<N> {
    number: AtomicUsize,
    name: PhantomData<N>,
}

impl<N: WordName> CountedWord<N> {
    pub(crate) fn new(number: usize) -> Self {
        Self { number: AtomicUsize::new(number), name: PhantomData }
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
        let outcome = self.number.compare_exchange_weak(current, new, success, failure);
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
