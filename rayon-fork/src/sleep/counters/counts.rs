//! The counts themselves, for people and for tests. The pool has no use for them; it asks for
//! decisions.

use super::axes::{CountedEvents, Events, Padding, WakeRule};
use super::{Packed, SleepCounters, Split, SplitIdle};
use crate::sync::modelled::Ordering;

/// Counters that show what they count. Only exact while nobody changes them.
pub(crate) trait Counts: SleepCounters {
    /// Workers that search are counted, used or not; if not, [`inactive`](Self::inactive) is 0.
    const COUNTS_SEARCHERS: bool;
    /// Announcements are counted; if not, [`events`](Self::events) is 0.
    const COUNTS_EVENTS: bool = !Self::SCANS_BEFORE_SLEEP;

    fn sleeping(&self) -> usize;
    fn inactive(&self) -> usize;
    fn events(&self) -> usize;
}

impl<P: Padding, E: Events, W: WakeRule> Counts for Packed<P, E, W> {
    const COUNTS_SEARCHERS: bool = true;

    fn sleeping(&self) -> usize {
        self.load().sleeping()
    }

    fn inactive(&self) -> usize {
        self.load().inactive()
    }

    fn events(&self) -> usize {
        self.load().events()
    }
}

impl<P: Padding, E: Events, W: WakeRule> Counts for Split<P, E, W> {
    const COUNTS_SEARCHERS: bool = W::COUNTS_SEARCHERS;

    fn sleeping(&self) -> usize {
        self.sleeping.load(Ordering::Relaxed)
    }

    fn inactive(&self) -> usize {
        self.inactive.load(Ordering::Relaxed)
    }

    fn events(&self) -> usize {
        self.events.load(Ordering::Relaxed)
    }
}

impl<P: Padding, E: CountedEvents, W: WakeRule> Counts for SplitIdle<P, E, W> {
    const COUNTS_SEARCHERS: bool = W::COUNTS_SEARCHERS;

    fn sleeping(&self) -> usize {
        self.load().sleeping()
    }

    fn inactive(&self) -> usize {
        self.inactive.load(Ordering::Relaxed)
    }

    fn events(&self) -> usize {
        self.load().events()
    }
}
