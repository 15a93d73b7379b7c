//! The counts themselves, for tests. The pool has no use for them; it asks for decisions.

use super::axes::{CountedEvents, Events, Padding, WakeRule};
use super::{Packed, SleepCounters, Split, SplitIdle};
use crate::sync::modelled::Ordering;

/// Counters that show what they count. Only exact while nobody changes them.
pub(crate) trait Counts: SleepCounters {
    fn sleeping(&self) -> usize;
    fn inactive(&self) -> usize;
}

impl<P: Padding, E: Events, W: WakeRule> Counts for Packed<P, E, W> {
    fn sleeping(&self) -> usize {
        self.load().sleeping()
    }

    fn inactive(&self) -> usize {
        self.load().inactive()
    }
}

impl<P: Padding, E: Events, W: WakeRule> Counts for Split<P, E, W> {
    fn sleeping(&self) -> usize {
        self.sleeping.load(Ordering::Relaxed)
    }

    fn inactive(&self) -> usize {
        self.inactive.load(Ordering::Relaxed)
    }
}

impl<P: Padding, E: CountedEvents, W: WakeRule> Counts for SplitIdle<P, E, W> {
    fn sleeping(&self) -> usize {
        self.load().sleeping()
    }

    fn inactive(&self) -> usize {
        self.inactive.load(Ordering::Relaxed)
    }
}
