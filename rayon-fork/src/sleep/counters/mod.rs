//! How a pool counts its searching and its sleeping workers: the interface, and its variants.
//!
//! | file             | holds                                                          |
//! |------------------|----------------------------------------------------------------|
//! | `packed.rs`      | sleeping, inactive and events in one word                      |
//! | `split.rs`       | one word each                                                  |
//! | `words.rs`       | one word, whose accesses can be counted, and its common steps  |
//! | `axes.rs`        | what packings are generic over: events, fences, rules, padding |
//! | `variants.rs`    | all variants, and the one that features choose                 |
//! | `conformance.rs` | for tests: what every variant must do, single-threaded         |
//! | `walk.rs`        | for tests: the example of the sleep README                     |
//!
//! How to add a variant is in the README of the crate.

pub(crate) mod axes;
mod packed;
mod split;
pub(crate) mod variants;
mod words;

#[cfg(all(test, not(fork_loom)))]
mod conformance;
#[cfg(all(test, not(fork_loom)))]
mod walk;

use self::axes::Axes;
pub(crate) use self::packed::Packed;
pub(crate) use self::split::Split;
pub(crate) use self::variants::Selected;
#[cfg(feature = "instrument")]
use crate::hooks;

/// Bits in which a packed word counts workers of one kind.
const COUNT_BITS: u32 = if usize::BITS >= 64 { 16 } else { 8 };

/// The most workers a pool may have. It is what a packed word can count, and the same for every
/// variant, so that pools of one size can be compared. 65 535 on 64-bit targets, 255 on others, as
/// in rayon-core.
pub(crate) const MAX_WORKERS: usize = (1 << COUNT_BITS) - 1;

/// Knows who searches and who sleeps, and so how many sleepers a new job deserves.
///
/// The calls of one worker come in this order: `begin_search`, then any number of times
/// `become_sleepy` and perhaps `try_begin_sleep` and `end_sleep`, then `end_search`. Only
/// `end_sleep` may come from another thread, which then holds the lock of that worker's slot.
///
/// Every access by which workers and publishers find each other is `SeqCst`: each variant's
/// argument is about the order of accesses to different words, by different threads, and on x86-64
/// it costs nothing that a read-modify-write does not cost anyway.
pub(crate) trait SleepCounters: Send + Sync + 'static {
    /// As in `branches.toml` and in every trial record.
    const NAME: &'static str;
    /// What is chosen on each axis.
    type Axes: Axes;
    /// Workers that search are counted, whether or not the wake rule asks for it.
    const COUNTS_SEARCHERS: bool;

    /// For `workers` workers, all of them active.
    fn new(workers: usize) -> Self;

    /// `worker` has nothing to run and starts to search.
    fn begin_search(&self, worker: usize);

    /// `worker` has work again; returns how many sleepers to wake in its stead.
    fn end_search(&self, worker: usize) -> usize;

    /// `worker` will sleep unless jobs are announced after this call.
    fn become_sleepy(&self, worker: usize) -> SleepyTicket;

    /// Counts `worker` as asleep; `false`, and not counted, if jobs were announced since `ticket`.
    fn try_begin_sleep(&self, worker: usize, ticket: SleepyTicket) -> bool;

    /// Counts `worker` as searching again.
    ///
    /// The waker calls this, not the one that wakes up, so that the next announcer counts on it no
    /// more.
    fn end_sleep(&self, worker: usize);

    /// One job was pushed to a queue that was empty before or was not; returns how many sleepers to
    /// wake.
    ///
    /// Every push pays for this call.
    fn announce_job(&self, queue_was_empty: bool) -> usize;

    /// Workers that are asleep, for decisions beside a search or a push.
    ///
    /// This and [`inactive`](Self::inactive) order nothing by themselves. Whoever relies on the
    /// answer has fenced before, and says there what that fence pairs with; for others it is a
    /// hint.
    fn sleeping(&self) -> usize;

    /// Workers that search, are sleepy or asleep, likewise; 0 where that is not
    /// [counted](Self::COUNTS_SEARCHERS).
    fn inactive(&self) -> usize;

    /// The count of events, for people and tests: 0 where none are counted.
    fn events(&self) -> usize;

    /// Whether `word` is ever accessed: the packing has it, and the other axes use it.
    #[cfg(feature = "instrument")]
    fn uses(word: hooks::Word) -> bool;

    /// Workers that search, likewise; more than there can be where that is not counted.
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

/// What a worker saw of the announcements when it became sleepy.
///
/// Opaque to the caller: an even value of the events counter, or nothing of meaning in variants
/// without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepyTicket(pub(crate) usize);

/// Whether counters of type `C` count announcements.
pub(crate) type EventsOf<C> = <<C as SleepCounters>::Axes as Axes>::Events;
/// The fences that go with counters of type `C`.
pub(crate) type FenceOf<C> = <<C as SleepCounters>::Axes as Axes>::Fence;
/// Whom a worker that stops searching wakes by counters of type `C`.
pub(crate) type LeaveRuleOf<C> = <<C as SleepCounters>::Axes as Axes>::LeaveRule;
/// How many sleepers a new job wakes by counters of type `C`.
#[cfg(all(test, not(fork_loom)))]
type WakeRuleOf<C> = <<C as SleepCounters>::Axes as Axes>::WakeRule;
