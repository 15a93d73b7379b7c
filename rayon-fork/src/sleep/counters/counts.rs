//! The counts themselves, for people, for tests, and for parts of the pool that decide by a look at them: who lingers,
//! who looks before blocking, and whether a push under demand has anybody to call. What such a look may miss stands
//! there.

#[cfg(feature = "instrument")]
use super::axes::Events;
use super::axes::{Axes, CountedEvents, WakeRule};
use super::{Packed, SleepCounters, Split, SplitIdle, packed, split_idle};
#[cfg(feature = "instrument")]
use crate::hooks;

/// Counters that show what they count. Only exact while nobody changes them.
pub(crate) trait Counts: SleepCounters {
    /// Workers that search are counted, used or not; if not, [`inactive`](Self::inactive) is 0.
    const COUNTS_SEARCHERS: bool;

    /// Whether `word` is ever accessed: the packing has it, and the other axes use it.
    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool;

    fn sleeping(&self) -> usize;
    fn inactive(&self) -> usize;
    fn events(&self) -> usize;

    /// Workers that search; more than there can be where that is not counted.
    #[inline]
    fn searching(&self) -> usize {
        if Self::COUNTS_SEARCHERS {
            // Two looks at two words may find more asleep than inactive.
            self.inactive().saturating_sub(self.sleeping())
        } else {
            usize::MAX
        }
    }
}

impl<A: Axes> Counts for Packed<A> {
    const COUNTS_SEARCHERS: bool = true;

    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool {
        word == hooks::Word::Packed
    }

    fn sleeping(&self) -> usize {
        packed::Word(self.word.glimpse()).sleeping()
    }

    fn inactive(&self) -> usize {
        packed::Word(self.word.glimpse()).inactive()
    }

    fn events(&self) -> usize {
        packed::Word(self.word.glimpse()).events()
    }
}

impl<A: Axes> Counts for Split<A> {
    const COUNTS_SEARCHERS: bool = A::WakeRule::COUNTS_SEARCHERS;

    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool {
        match word {
            hooks::Word::Sleeping => true,
            hooks::Word::Inactive => A::WakeRule::COUNTS_SEARCHERS,
            hooks::Word::Events => A::Events::COUNTED,
            hooks::Word::Packed | hooks::Word::SleepingEvents => false,
        }
    }

    fn sleeping(&self) -> usize {
        self.sleeping.glimpse()
    }

    fn inactive(&self) -> usize {
        self.inactive.glimpse()
    }

    fn events(&self) -> usize {
        self.events.glimpse()
    }
}

impl<A: Axes<Events: CountedEvents>> Counts for SplitIdle<A> {
    const COUNTS_SEARCHERS: bool = A::WakeRule::COUNTS_SEARCHERS;

    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool {
        match word {
            hooks::Word::SleepingEvents => true,
            hooks::Word::Inactive => A::WakeRule::COUNTS_SEARCHERS,
            hooks::Word::Packed | hooks::Word::Sleeping | hooks::Word::Events => false,
        }
    }

    fn sleeping(&self) -> usize {
        split_idle::Word(self.word.glimpse()).sleeping()
    }

    fn inactive(&self) -> usize {
        self.inactive.glimpse()
    }

    fn events(&self) -> usize {
        split_idle::Word(self.word.glimpse()).events()
    }
}
