//! How a pool counts its searching and its sleeping workers: the interface, its variants, and the
//! choice of one.
//!
//! | file             | holds                                                          |
//! |------------------|----------------------------------------------------------------|
//! | `packed.rs`      | sleeping, inactive and events in one word                      |
//! | `split.rs`       | one word each                                                  |
//! | `split_idle.rs`  | sleeping and events in one word, inactive in another           |
//! | `words.rs`       | what more than one layout does with one of its words           |
//! | `counted.rs`     | one word: an atomic number whose accesses can be counted       |
//! | `axes.rs`        | what the layouts are generic over: padding, events, wake rule  |
//! | `variants.rs`    | the list of all variants                                       |
//! | `counts.rs`      | for people and for tests: the counts themselves                |
//! | `conformance.rs` | for tests: what every variant must do, single-threaded         |
//! | `walk.rs`        | for tests: the example of the sleep README                     |
//!
//! This is the only file that names a counter feature. A feature picks a type; every type is
//! compiled and tested in every build. To add a variant, add an implementation, a feature here, and
//! a line in `variants.rs`.

pub(crate) mod axes;
mod counted;
pub(crate) mod counts;
mod packed;
mod split;
mod split_idle;
pub(crate) mod variants;
mod words;

#[cfg(all(test, not(fork_loom)))]
mod conformance;
#[cfg(all(test, not(fork_loom)))]
mod walk;

pub(crate) use self::axes::PushFence;
pub(crate) use self::packed::Packed;
pub(crate) use self::split::Split;
pub(crate) use self::split_idle::SplitIdle;

#[cfg(all(feature = "packed", feature = "split"))]
compile_error!(
    "features `packed` and `split` exclude each other: `packed` is the default, leave it out"
);

#[cfg(all(feature = "split-idle", any(feature = "packed", feature = "split")))]
compile_error!("feature `split-idle` is a layout of its own: leave out `packed` and `split`");
#[cfg(all(feature = "split-idle", feature = "no-jec"))]
compile_error!(
    "feature `split-idle` keeps sleepers and events in one word; without events, by `no-jec`, \
     nothing would tell it from `split`: use `split` with `no-jec`"
);
#[cfg(all(feature = "push-fence", feature = "no-jec"))]
compile_error!("feature `no-jec` fences every push already: leave out `push-fence`");
#[cfg(all(feature = "push-fence", feature = "asymmetric-fence"))]
compile_error!(
    "feature `asymmetric-fence` does without the fence that `push-fence` puts into every push: \
     leave one of them out"
);

#[cfg(not(any(feature = "split", feature = "split-idle")))]
pub(crate) type Selected = Packed<SelectedPadding, SelectedEvents, SelectedWakeRule>;
#[cfg(feature = "split")]
pub(crate) type Selected = Split<SelectedPadding, SelectedEvents, SelectedWakeRule>;
#[cfg(all(feature = "split-idle", not(any(feature = "split", feature = "no-jec"))))]
pub(crate) type Selected = SplitIdle<SelectedPadding, SelectedEvents, SelectedWakeRule>;

#[cfg(not(feature = "cache-padded"))]
type SelectedPadding = axes::Inline;
#[cfg(feature = "cache-padded")]
type SelectedPadding = axes::Padded;

#[cfg(not(any(feature = "no-jec", feature = "push-fence", feature = "asymmetric-fence")))]
type SelectedEvents = axes::Jec;
#[cfg(all(feature = "push-fence", not(any(feature = "no-jec", feature = "asymmetric-fence"))))]
type SelectedEvents = axes::FencedJec;
#[cfg(all(feature = "asymmetric-fence", not(feature = "no-jec")))]
type SelectedEvents = axes::AsymmetricJec;
#[cfg(all(feature = "no-jec", not(feature = "asymmetric-fence")))]
type SelectedEvents = axes::NoJec;
#[cfg(all(feature = "no-jec", feature = "asymmetric-fence"))]
type SelectedEvents = axes::AsymmetricNoJec;

#[cfg(not(feature = "sleepers-only"))]
type SelectedWakeRule = axes::IdleFirst;
#[cfg(feature = "sleepers-only")]
type SelectedWakeRule = axes::SleepersOnly;

/// Bits in which a packed word counts workers of one kind.
const COUNT_BITS: u32 = if usize::BITS >= 64 { 16 } else { 8 };

/// The most workers a pool may have. It is what a packed word can count, and the same for every
/// variant, so that pools of one size can be compared. 65 535 on 64-bit targets, 255 on others, as
/// in rayon-core.
pub(crate) const MAX_WORKERS: usize = (1 << COUNT_BITS) - 1;

/// Sleepers that come to search in the stead of a worker that stops. Inherited from rayon-core.
const WAKES_PER_END_OF_SEARCH: usize = 2;

/// Knows who searches and who sleeps, and so how many sleepers a new job deserves.
///
/// The calls of one worker come in this order: `begin_search`, then any number of times
/// `become_sleepy` and perhaps `try_begin_sleep` and `end_sleep`, then `end_search`. Only
/// `end_sleep` may come from another thread, which then holds the lock of that worker's slot.
///
/// Every access to a counter is `SeqCst`: each variant's argument is about the order of accesses to
/// different words, by different threads, and on x86-64 it costs nothing that a read-modify-write
/// does not cost anyway.
pub(crate) trait SleepCounters: Send + Sync + 'static {
    /// As in `branches.toml` and in every trial record.
    const NAME: &'static str;
    /// Announcements are counted.
    const COUNTS_EVENTS: bool;
    /// What stands between pushing an internal job and `announce_job`. The partner of the scan below,
    /// or of the search after `become_sleepy`: a scan without it loses wake-ups, and events without
    /// it leave the hole of the README's section 9.
    const PUSH_FENCE: PushFence;
    /// A worker looks over every queue after it registered as a sleeper: without an events counter
    /// nothing tells it of new jobs, and a heavy fence is worth its price only where the worker is
    /// about to block. If not set, it looks only at what outsiders fill.
    const SCANS_BEFORE_SLEEP: bool =
        !Self::COUNTS_EVENTS || matches!(Self::PUSH_FENCE, PushFence::Light);

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
}

/// What a worker saw of the announcements when it became sleepy.
///
/// Opaque to the caller: an even value of the events counter, or nothing of meaning in variants
/// without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SleepyTicket(pub(crate) usize);
