//! What the words tell people and tests, beside what the pool decides by.

use super::axes::Axes;
#[cfg(feature = "instrument")]
use super::axes::{Events, WakeRule};
use super::{Packed, SleepCounters, Split, packed};
#[cfg(feature = "instrument")]
use crate::hooks;

/// Counters that show what they count. Only exact while nobody changes them.
pub(crate) trait Counts: SleepCounters {
    /// Whether `word` is ever accessed: the packing has it, and the other axes use it.
    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool;

    fn events(&self) -> usize;
}

impl<A: Axes> Counts for Packed<A> {
    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool {
        word == hooks::Word::Packed
    }

    fn events(&self) -> usize {
        packed::Word(self.word.glimpse()).events()
    }
}

impl<A: Axes> Counts for Split<A> {
    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool {
        match word {
            hooks::Word::Sleeping => true,
            hooks::Word::Inactive => A::WakeRule::COUNTS_SEARCHERS,
            hooks::Word::Events => A::Events::COUNTED,
            hooks::Word::Packed => false,
        }
    }

    fn events(&self) -> usize {
        self.events.glimpse()
    }
}
