//! How a pool counts its searching and its sleeping workers: the interface, and its variants.
//!
//! | file             | holds                                                          |
//! |------------------|----------------------------------------------------------------|
//! | `packed.rs`      | sleeping, inactive and events in one word                      |
//! | `split.rs`       | one word each                                                  |
//! | `words.rs`       | one word, whose accesses can be counted, and its common steps  |
//! | `dimensions.rs`        | the dimensions of layouts: events, fences, rules, padding      |
//! | `variants.rs`    | all variants, and the one that features choose                 |
//! | `conformance.rs` | for tests: what every variant must do, single-threaded         |
//! | `walk.rs`        | for tests: the example of the sleep README                     |
//!
//! The README of the crate says how to add a variant.

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

/// Bits in which a packed word counts workers of one kind.
const COUNT_BITS: u32 = if usize::BITS >= 64 { 16 } else { 8 };

/// The most workers that a pool may have. A packed word can count no more. The limit is the same
/// for every variant, so that pools of one size can be compared. It is 65 535 on 64-bit targets and
/// 255 on others, as in rayon-core.
pub(crate) const MAX_WORKERS: usize = (1 << COUNT_BITS) - 1;

/// Counts the searching and the sleeping workers, and decides from that how many sleepers a new job
/// wakes.
///
/// The calls of one worker come in this order: `begin_search`, then any number of times
/// `become_sleepy` and perhaps `try_begin_sleep` and `end_sleep`, then `end_search`. Only
/// `end_sleep` may come from another thread, which then holds the lock of that worker's slot.
///
/// Every access by which workers and producers find each other is `SeqCst`. Each variant's argument
/// is about the order of accesses to different words by different threads. On x86-64 this costs no
/// more than the read-modify-write itself.
pub(crate) trait SleepCounters: Send + Sync + 'static {
    /// The name in `branches.toml` and in every trial record.
    const NAME: &'static str;
    /// The choice in each dimension.
    type Dimensions: Dimensions;
    /// Whether searching workers are counted, even if the wake rule does not need that.
    const COUNTS_SEARCHERS: bool;

    /// Creates counters for `workers` workers, all of them active.
    fn new(workers: usize) -> Self;

    /// `worker` has nothing to run and starts to search.
    fn begin_search(&self, worker: usize);

    /// `worker` has work again. Returns how many sleepers to wake as replacements.
    fn end_search(&self, worker: usize) -> usize;

    /// `worker` will sleep unless a producer notifies after this call.
    fn become_sleepy(&self, worker: usize) -> SleepyTicket;

    /// Counts `worker` as asleep. If a producer has notified since `ticket`, does not count it, and
    /// returns `false`.
    fn try_begin_sleep(&self, worker: usize, ticket: SleepyTicket) -> bool;

    /// Counts `worker` as searching again.
    ///
    /// The waker calls this, not the woken worker. So the next producer no longer counts that
    /// worker as a sleeper.
    fn end_sleep(&self, worker: usize);

    /// One job was pushed to a queue that was empty before or was not; returns how many sleepers to
    /// wake.
    ///
    /// Every push pays for this call.
    fn notify_job(&self, queue_was_empty: bool) -> usize;

    /// Returns the number of sleeping workers, for decisions beside a search or a push.
    ///
    /// This and [`inactive`](Self::inactive) order nothing by themselves. A caller that relies on
    /// the result has fenced before, and says there what that fence pairs with. For other callers
    /// it is a hint.
    fn sleeping(&self) -> usize;

    /// Likewise returns the number of workers that search, are sleepy or sleep. Returns 0 if that
    /// is not [counted](Self::COUNTS_SEARCHERS).
    fn inactive(&self) -> usize;

    /// Returns the count of events, for people and tests, or 0 if the variant does not count
    /// events.
    fn events(&self) -> usize;

    /// Returns whether `word` is ever accessed: the counter layout has it, and the other dimensions
    /// use it.
    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool;

    /// Likewise returns the number of searching workers. If that is not counted, returns more than
    /// there can be.
    #[inline]
    fn searching(&self) -> usize {
        if Self::COUNTS_SEARCHERS {
            // The two words are read at different moments, so S may exceed I.
            self.inactive().saturating_sub(self.sleeping())
        } else {
            usize::MAX
        }
    }
}

/// The value of the events counter when a worker became sleepy.
///
/// It is opaque to the caller: an even value of the events counter, or a meaningless value in
/// variants without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepyTicket(pub(crate) usize);

/// Whether counters of type `C` have an events counter, which counts notifications.
pub(crate) type EventsOf<C> = <<C as SleepCounters>::Dimensions as Dimensions>::Events;
/// The fences that go with counters of type `C`.
pub(crate) type FenceOf<C> = <<C as SleepCounters>::Dimensions as Dimensions>::Fence;
/// The rule of wake-up propagation for counters of type `C`.
pub(crate) type PropagationOf<C> = <<C as SleepCounters>::Dimensions as Dimensions>::Propagation;
/// The rule for how many sleepers a new job wakes, for counters of type `C`.
#[cfg(all(test, not(fork_loom)))]
type WakeRuleOf<C> = <<C as SleepCounters>::Dimensions as Dimensions>::WakeRule;
