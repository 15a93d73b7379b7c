//! How a pool counts its searching and its sleeping workers: the interface, and its variants.
//! `words.rs` has the steps that layouts share. `dimensions.rs` has the choices apart from the
//! layout. The crate's README says how to add a variant.

pub(crate) mod dimensions;
mod packed;
mod split;
pub(crate) mod variants;
mod words;

#[cfg(all(test, not(fork_loom)))]
mod conformance;
#[cfg(all(test, not(fork_loom)))]
mod walk;

use self::dimensions::Dimensions;
pub(crate) use self::packed::Packed;
pub(crate) use self::split::Split;
pub(crate) use self::variants::Selected;
#[cfg(feature = "instrument")]
use crate::hooks;

/// The number of bits in which a packed word counts the sleeping, or the inactive, workers.
const COUNT_BITS: u32 = if usize::BITS >= 64 { 16 } else { 8 };

/// The most workers that a pool may have, in every variant: a packed word can count no more.
pub(crate) const MAX_WORKERS: usize = (1 << COUNT_BITS) - 1;

/// Counts the searching and the sleeping workers, and decides how many sleepers a new job wakes.
///
/// A worker calls `begin_search`; then any number of times `become_sleepy` and perhaps
/// `try_begin_sleep` and `end_sleep`; then `end_search`. Only `end_sleep` may come from another
/// thread, which then holds the lock of that worker's slot.
///
/// Except the loads of [`sleeping`](Self::sleeping) and [`inactive`](Self::inactive), every access
/// by which workers and producers find each other is `SeqCst`, because each variant's argument is
/// about the order of accesses to different words. On x86-64 that costs no more than the
/// read-modify-write itself.
pub(crate) trait SleepCounters: Send + Sync + 'static {
    const NAME: &'static str;
    type Dimensions: Dimensions;
    const COUNTS_SEARCHERS: bool;

    fn new(workers: usize) -> Self;

    fn begin_search(&self, worker: usize);

    fn end_search(&self, worker: usize) -> usize;

    /// Call this when `worker` will sleep unless a producer notifies after this call.
    fn become_sleepy(&self, worker: usize) -> SleepyTicket;

    /// Counts `worker` as asleep. If a producer has notified since `ticket`, counts nothing and
    /// returns `false`.
    fn try_begin_sleep(&self, worker: usize, ticket: SleepyTicket) -> bool;

    /// Counts `worker` as searching again. The worker calls this when it backs out. Otherwise the
    /// waker calls it, so that the next producer no longer counts that worker as a sleeper.
    fn end_sleep(&self, worker: usize);

    /// Returns how many sleepers to wake. Must be cheap, because every push calls it.
    fn notify_job(&self, queue_was_empty: bool) -> usize;

    /// Returns the number of sleeping workers. Neither this load nor that of
    /// [`inactive`](Self::inactive) orders anything, so a caller that relies on the result has
    /// fenced before, or has changed the counters before.
    fn sleeping(&self) -> usize;

    /// Returns the number of workers that search, are sleepy or sleep, or 0 if they are not
    /// [counted](Self::COUNTS_SEARCHERS).
    fn inactive(&self) -> usize;

    /// Returns the count of events, for people and tests, or 0 without events.
    fn events(&self) -> usize;

    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool;

    /// Returns the number of searching workers, or a very large number if they are not counted.
    #[inline]
    fn searching(&self) -> usize {
        if Self::COUNTS_SEARCHERS {
            // In the split layout, I and S are read at different moments, so S may exceed I.
            self.inactive().saturating_sub(self.sleeping())
        } else {
            usize::MAX
        }
    }
}

/// The value of the events counter when a worker became sleepy. Without an events counter the value
/// has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepyTicket(pub(crate) usize);

pub(crate) type EventsOf<C> = <<C as SleepCounters>::Dimensions as Dimensions>::Events;
pub(crate) type FenceOf<C> = <<C as SleepCounters>::Dimensions as Dimensions>::Fence;
pub(crate) type PropagationOf<C> = <<C as SleepCounters>::Dimensions as Dimensions>::Propagation;
#[cfg(all(test, not(fork_loom)))]
type WakeRuleOf<C> = <<C as SleepCounters>::Dimensions as Dimensions>::WakeRule;
