//! The type parameters of the counter layouts: events, fence, wake rule, padding and propagation.
//! Each is one dimension of the variants.

use crate::sync::modelled::{Ordering, fence};
use std::ops::Deref;

/// One choice in each dimension.
pub(crate) trait Dimensions: Send + Sync + 'static {
    type Events: Events;
    type Fence: Fence;
    type WakeRule: WakeRule;
    type Padding: Padding;
    type Propagation: Propagation;

    /// The parts that the choices add to the variant's name, in this order.
    const NAME_PARTS: &'static [&'static str];
}

impl<E: Events, F: Fence, W: WakeRule, P: Padding, L: Propagation> Dimensions for (E, F, W, P, L) {
    type Events = E;
    type Fence = F;
    type WakeRule = W;
    type Padding = P;
    type Propagation = L;

    const NAME_PARTS: &'static [&'static str] = {
        assert!(
            E::COUNTED || F::SCANS_BEFORE_SLEEP,
            "without events a sleeper learns of jobs only by a scan"
        );
        &[
            E::NAME_PART,
            F::NAME_PART,
            W::NAME_PART,
            P::NAME_PART,
            L::NAME_PART,
        ]
    };
}

/// The four dimensions of the study, with the wake-up propagation of rayon-core.
impl<E: Events, F: Fence, W: WakeRule, P: Padding> Dimensions for (E, F, W, P) {
    type Events = E;
    type Fence = F;
    type WakeRule = W;
    type Padding = P;
    type Propagation = WakeTwo;

    const NAME_PARTS: &'static [&'static str] = <(E, F, W, P, WakeTwo)>::NAME_PARTS;
}

/// A counter word, placed as the padding says.
pub(crate) type Line<A, T> = <<A as Dimensions>::Padding as Padding>::Line<T>;

/// The placement of a counter word.
pub(crate) trait Padding: Send + Sync + 'static {
    /// Part of the variant's name.
    const NAME_PART: &'static str;
    /// One word, placed.
    type Line<T: Send + Sync + 'static>: Deref<Target = T> + From<T> + Send + Sync + 'static;
}

/// Words lie wherever their struct puts them.
pub(crate) enum Inline {}

/// Each word has cache lines of its own.
pub(crate) enum CachePadded {}

/// A word without padding.
#[repr(transparent)]
pub(crate) struct Unpadded<T>(T);

impl<T> From<T> for Unpadded<T> {
    fn from(word: T) -> Self {
        Self(word)
    }
}

impl<T> Deref for Unpadded<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

impl Padding for Inline {
    const NAME_PART: &'static str = "";
    type Line<T: Send + Sync + 'static> = Unpadded<T>;
}

impl Padding for CachePadded {
    const NAME_PART: &'static str = "+cache-padded";
    type Line<T: Send + Sync + 'static> = crossbeam_utils::CachePadded<T>;
}

/// Whether notifications by producers are counted.
pub(crate) trait Events: Send + Sync + 'static {
    /// Part of the variant's name.
    const NAME_PART: &'static str;
    /// A jobs event counter (JEC) shows sleepy workers that a producer has notified.
    const COUNTED: bool;
}

/// With a jobs event counter. If even, no producer has notified since a worker last became sleepy.
/// If odd, a producer has.
pub(crate) enum Jec {}

/// Without one: sleepers must scan.
pub(crate) enum NoJec {}

impl Events for Jec {
    const NAME_PART: &'static str = "";
    const COUNTED: bool = true;
}

impl Events for NoJec {
    const NAME_PART: &'static str = "+no-jec";
    const COUNTED: bool = false;
}

/// The fences of a push and of a worker that falls asleep.
///
/// A fence has two ends, which only make sense together. One stands between pushing a job and
/// reading the counters. The other stands between changing the counters and looking for jobs. So
/// each implementation has both. The sleep README, sections 5, 7 and 9, argues why each pair is
/// enough.
pub(crate) trait Fence: Send + Sync + 'static {
    /// Part of the variant's name.
    const NAME_PART: &'static str;
    /// Whether a worker scans every queue after it registered as a sleeper. If not, it looks only
    /// at the queues for injected jobs and broadcast shares.
    const SCANS_BEFORE_SLEEP: bool;

    /// The producer's end. The producer pushes an internal job before the fence, and reads the
    /// counters after it. Every push pays for this.
    fn after_push();

    /// The end of a worker that does not scan. The worker reads or steps the events before the
    /// fence, and makes its last search after it.
    #[inline]
    fn after_becoming_sleepy() {}

    /// The worker's other end. The worker is counted as asleep before the fence, and scans the
    /// queues after it.
    #[inline]
    fn after_registering() {
        // ORDERING: SeqCst fence, pairs with the one in `Sleep::job_injected`. If the worker scans,
        // it also pairs with the one in `after_push`. Without this fence, both sides could miss
        // each other, and the job would be stranded (README, section 5).
        fence(Ordering::SeqCst);
    }
}

/// A producer does not fence between its push and its notification. The hole of the README's
/// section 9 is open.
pub(crate) enum NoFence {}

/// Pushes fence, and so does a worker that becomes sleepy. So its last search misses no job.
pub(crate) enum PushFence {}

/// Pushes fence, and sleepers scan: nothing else is needed, not even events.
pub(crate) enum ScanFence {}

impl Fence for NoFence {
    const NAME_PART: &'static str = "";
    const SCANS_BEFORE_SLEEP: bool = false;

    #[inline]
    fn after_push() {}
}

impl Fence for PushFence {
    const NAME_PART: &'static str = "+push-fence";
    const SCANS_BEFORE_SLEEP: bool = false;

    #[inline]
    fn after_push() {
        // ORDERING: SeqCst fence, pairs with the one in `after_becoming_sleepy`. The job is stored
        // before the fence, and the events are read after it. If they are odd, the worker's last
        // search must find the job (README, section 9).
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn after_becoming_sleepy() {
        // ORDERING: SeqCst fence, pairs with the one in `after_push`. The events are read or
        // stepped before the fence, and the search for jobs comes after it. A producer whose job
        // that search misses must find those events even (README, section 9).
        fence(Ordering::SeqCst);
    }
}

impl Fence for ScanFence {
    // Only a variant with events can do without scans, so `no-jec` selects this fence.
    const NAME_PART: &'static str = "";
    const SCANS_BEFORE_SLEEP: bool = true;

    #[inline]
    fn after_push() {
        // ORDERING: SeqCst fence, pairs with the one in `after_registering`. The job is stored
        // before the fence, and the sleepers are read after it. If that read misses a sleeper, the
        // sleeper's scan must find the job (README, section 5).
        fence(Ordering::SeqCst);
    }
}

/// The rule for how many sleepers a new job wakes.
pub(crate) trait WakeRule: Send + Sync + 'static {
    /// Part of the variant's name.
    const NAME_PART: &'static str;
    /// Whether the rule ever reads how many workers search.
    const COUNTS_SEARCHERS: bool;
    /// Whether every push reads how many workers search, although that matters only while one
    /// sleeps. The branch of the 2022 study did so.
    const READS_BOTH: bool = false;

    /// Returns the number of sleepers to wake for one job, given that `sleeping` is not 0. It calls
    /// `searching` only if the result depends on it.
    fn sleepers_to_wake(
        sleeping: usize,
        queue_was_empty: bool,
        searching: impl FnOnce() -> usize,
    ) -> usize;
}

/// The rule of rayon-core: if a job finds its queue empty, a searching worker takes it, if there is
/// one. With `READS_BOTH`, see [`WakeRule::READS_BOTH`].
pub(crate) enum IdleFirst<const READS_BOTH: bool = false> {}

/// The rule of rayon-core, by which every push reads both counts.
// Compilers before 1.85 do not see its use in `for_every_variant`.
#[allow(dead_code)]
pub(crate) type ReadsBoth = IdleFirst<true>;

/// A job wakes a sleeper whenever there is one, even if others search.
pub(crate) enum SleepersOnly {}

impl<const READS_BOTH: bool> WakeRule for IdleFirst<READS_BOTH> {
    const NAME_PART: &'static str = if READS_BOTH { "+reads-both" } else { "" };
    const COUNTS_SEARCHERS: bool = true;
    const READS_BOTH: bool = READS_BOTH;

    #[inline]
    fn sleepers_to_wake(
        sleeping: usize,
        queue_was_empty: bool,
        searching: impl FnOnce() -> usize,
    ) -> usize {
        debug_or_loom_assert!(sleeping > 0);
        // A queue that was not empty shows that the searching workers do not keep up with it,
        // however many they are.
        usize::from(!queue_was_empty || searching() == 0)
    }
}

impl WakeRule for SleepersOnly {
    const NAME_PART: &'static str = "+sleepers-only";
    const COUNTS_SEARCHERS: bool = false;

    #[inline]
    fn sleepers_to_wake(
        sleeping: usize,
        _queue_was_empty: bool,
        _searching: impl FnOnce() -> usize,
    ) -> usize {
        debug_or_loom_assert!(sleeping > 0);
        1
    }
}

/// The rule of wake-up propagation: how many sleepers replace a worker that stops searching
/// (README, section 6).
pub(crate) trait Propagation: Send + Sync + 'static {
    /// Part of the variant's name.
    const NAME_PART: &'static str;
    /// Whether the worker first scans the queues, and wakes a sleeper only if it sees work.
    const SCANS_FIRST: bool;
    /// Whether workers measure what their wake-ups cost, and the last searching workers
    /// [spin](crate::sleep::SearchHistory) before they park.
    const SPINS: bool;

    /// Returns how many of `sleeping` sleepers to wake. It calls `searching` only if the result
    /// depends on it.
    fn sleepers_to_wake(sleeping: usize, searching: impl FnOnce() -> usize) -> usize;
}

/// Always wakes up to two. The rule of rayon-core.
pub(crate) enum WakeTwo {}

/// Only the last searching worker wakes up to two.
pub(crate) enum WakeWhereWorkIs {}

impl Propagation for WakeTwo {
    const NAME_PART: &'static str = "";
    const SCANS_FIRST: bool = false;
    const SPINS: bool = false;

    #[inline]
    fn sleepers_to_wake(sleeping: usize, _searching: impl FnOnce() -> usize) -> usize {
        sleeping.min(2)
    }
}

impl Propagation for WakeWhereWorkIs {
    const NAME_PART: &'static str = "+wake-where-work-is";
    const SCANS_FIRST: bool = true;
    // In a model one more round changes nothing, and a browser's `Instant` panics.
    const SPINS: bool = !cfg!(any(fork_loom, target_family = "wasm"));

    #[inline]
    fn sleepers_to_wake(sleeping: usize, searching: impl FnOnce() -> usize) -> usize {
        if sleeping > 0 && searching() == 0 {
            sleeping.min(2)
        } else {
            0
        }
    }
}
