//! Every variant, once: the list that tests run through, and a view of the counters that only tests have.

use super::SleepCounters;
use super::axes::{Events, Padding, WakeRule};
use super::packed::Packed;
use super::split::Split;
use crate::sync::modelled::Ordering;

/// Calls `$callback!` with `name: type = "name";` for every variant.
#[cfg(not(fork_loom))]
macro_rules! for_every_variant {
    ($callback:ident) => {
        $callback! {
            packed: Packed<Inline, Jec, IdleFirst> = "packed";
            packed_padded: Packed<Padded, Jec, IdleFirst> = "packed+cache-padded";
            packed_sleepers_only: Packed<Inline, Jec, SleepersOnly> = "packed+sleepers-only";
            packed_sleepers_only_padded: Packed<Padded, Jec, SleepersOnly> = "packed+sleepers-only+cache-padded";
            packed_no_jec: Packed<Inline, NoJec, IdleFirst> = "packed+no-jec";
            packed_no_jec_padded: Packed<Padded, NoJec, IdleFirst> = "packed+no-jec+cache-padded";
            packed_no_jec_sleepers_only: Packed<Inline, NoJec, SleepersOnly> = "packed+no-jec+sleepers-only";
            packed_no_jec_sleepers_only_padded: Packed<Padded, NoJec, SleepersOnly> = "packed+no-jec+sleepers-only+cache-padded";
            split: Split<Inline, Jec, IdleFirst> = "split";
            split_padded: Split<Padded, Jec, IdleFirst> = "split+cache-padded";
            split_sleepers_only: Split<Inline, Jec, SleepersOnly> = "split+sleepers-only";
            split_sleepers_only_padded: Split<Padded, Jec, SleepersOnly> = "split+sleepers-only+cache-padded";
            split_no_jec: Split<Inline, NoJec, IdleFirst> = "split+no-jec";
            split_no_jec_padded: Split<Padded, NoJec, IdleFirst> = "split+no-jec+cache-padded";
            split_no_jec_sleepers_only: Split<Inline, NoJec, SleepersOnly> = "split+no-jec+sleepers-only";
            split_no_jec_sleepers_only_padded: Split<Padded, NoJec, SleepersOnly> = "split+no-jec+sleepers-only+cache-padded";
        }
    };
}
#[cfg(not(fork_loom))]
pub(crate) use for_every_variant;

/// The counts themselves. The pool has no use for them; it asks for decisions.
pub(crate) trait Counts: SleepCounters {
    /// Whether a new job with an empty queue is left to workers that search.
    const LEAVES_JOBS_TO_SEARCHERS: bool;
    /// Whether workers that search are counted.
    const COUNTS_SEARCHERS: bool;

    fn sleeping(&self) -> usize;
    fn inactive(&self) -> usize;
    fn events(&self) -> usize;
}

impl<P: Padding, E: Events, W: WakeRule> Counts for Packed<P, E, W> {
    const LEAVES_JOBS_TO_SEARCHERS: bool = W::COUNTS_SEARCHERS;
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
    const LEAVES_JOBS_TO_SEARCHERS: bool = W::COUNTS_SEARCHERS;
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

/// Calls `$callback!` with `name: type;` for every variant that differs in more than padding.
#[cfg(fork_loom)]
macro_rules! for_every_protocol {
    ($callback:ident) => {
        $callback! {
            packed: Packed<Inline, Jec, IdleFirst>;
            packed_sleepers_only: Packed<Inline, Jec, SleepersOnly>;
            packed_no_jec: Packed<Inline, NoJec, IdleFirst>;
            packed_no_jec_sleepers_only: Packed<Inline, NoJec, SleepersOnly>;
            split: Split<Inline, Jec, IdleFirst>;
            split_sleepers_only: Split<Inline, Jec, SleepersOnly>;
            split_no_jec: Split<Inline, NoJec, IdleFirst>;
            split_no_jec_sleepers_only: Split<Inline, NoJec, SleepersOnly>;
        }
    };
}
#[cfg(fork_loom)]
pub(crate) use for_every_protocol;
