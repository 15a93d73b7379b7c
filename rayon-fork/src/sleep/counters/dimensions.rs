//! The dimensions of the variants: events, fence, wake rule, padding and propagation.

use crate::sync::modelled::{Ordering, fence};
use std::ops::Deref;

pub(crate) trait Dimensions: Send + Sync + 'static {
    type Events: Events;
    type Fence: Fence;
    type WakeRule: WakeRule;
    type Padding: Padding;
    type Propagation: Propagation;

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

impl<E: Events, F: Fence, W: WakeRule, P: Padding> Dimensions for (E, F, W, P) {
    type Events = E;
    type Fence = F;
    type WakeRule = W;
    type Padding = P;
    type Propagation = WakeTwo;

    const NAME_PARTS: &'static [&'static str] = <(E, F, W, P, WakeTwo)>::NAME_PARTS;
}

pub(crate) type Line<A, T> = <<A as Dimensions>::Padding as Padding>::Line<T>;

pub(crate) trait Padding: Send + Sync + 'static {
    const NAME_PART: &'static str;
    type Line<T: Send + Sync + 'static>: Deref<Target = T> + From<T> + Send + Sync + 'static;
}

pub(crate) enum Inline {}

pub(crate) enum CachePadded {}

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

pub(crate) trait Events: Send + Sync + 'static {
    const NAME_PART: &'static str;
    /// Whether producers step a jobs event counter (JEC), which sleepy workers compare.
    const COUNTED: bool;
}

/// A counter that is odd if a producer has notified since a worker last became sleepy.
pub(crate) enum Jec {}

/// No counter: sleepers must scan.
pub(crate) enum NoJec {}

impl Events for Jec {
    const NAME_PART: &'static str = "";
    const COUNTED: bool = true;
}

impl Events for NoJec {
    const NAME_PART: &'static str = "+no-jec";
    const COUNTED: bool = false;
}

/// The fences of a push and of a worker that falls asleep. A producer fences between pushing a job
/// and reading the counters; a worker fences between changing the counters and scanning for jobs.
/// Sections 5, 7 and 9 of the sleep README argue why each pair is enough.
pub(crate) trait Fence: Send + Sync + 'static {
    const NAME_PART: &'static str;
    /// Whether a worker scans every queue after it registered as a sleeper. If false, the worker
    /// scans only the queues for injected jobs and broadcast shares.
    const SCANS_BEFORE_SLEEP: bool;

    /// The producer's fence: after the push of an internal job, before the producer reads the
    /// counters.
    fn after_push();

    /// The fence of a worker that does not scan: after the worker read or stepped the events,
    /// before its last search.
    #[inline]
    fn after_becoming_sleepy() {}

    /// The fence of a worker that falls asleep: after the worker is counted as asleep, before it
    /// scans the queues.
    #[inline]
    fn after_registering() {
        // ORDERING: SeqCst fence, pairs with the one in `Sleep::job_injected`, and with the one in
        // `after_push` if the worker scans. Without this fence, producer and sleeper could miss
        // each other, and the job would be stranded (README, section 5).
        fence(Ordering::SeqCst);
    }
}

/// Pushes do not fence, so a sleeper may miss an internal job (README, section 9).
pub(crate) enum NoFence {}

/// Pushes fence, and so does a worker that becomes sleepy, so its last search misses no job.
pub(crate) enum PushFence {}

/// Pushes fence, and sleepers scan, so no events counter is needed.
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
        // before the fence, and the events are read after it. If the events are odd, the worker's
        // last search must find the job (README, section 9).
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn after_becoming_sleepy() {
        // ORDERING: SeqCst fence, pairs with the one in `after_push`. The events are read or
        // stepped before the fence, and the search comes after it. If that search misses a
        // producer's job, the producer must find those events even (README, section 9).
        fence(Ordering::SeqCst);
    }
}

impl Fence for ScanFence {
    // The feature `no-jec` selects this fence, and `NoJec` adds its part of the name.
    const NAME_PART: &'static str = "";
    const SCANS_BEFORE_SLEEP: bool = true;

    #[inline]
    fn after_push() {
        // ORDERING: SeqCst fence, pairs with the one in `after_registering`. The job is stored
        // before the fence, and the sleepers are read after it. If this read misses a sleeper, the
        // sleeper's scan must find the job (README, section 5).
        fence(Ordering::SeqCst);
    }
}

pub(crate) trait WakeRule: Send + Sync + 'static {
    const NAME_PART: &'static str;
    const COUNTS_SEARCHERS: bool;
    /// Whether, with split counters, every push also reads how many workers are inactive, even if
    /// no worker sleeps. The split branch of the 2022 study did this.
    const READS_BOTH: bool = false;

    /// Returns the number of sleepers to wake for one job. `sleeping` is not 0. Calls `searching`
    /// only if the result depends on it.
    fn sleepers_to_wake(
        sleeping: usize,
        queue_was_empty: bool,
        searching: impl FnOnce() -> usize,
    ) -> usize;
}

/// The rule of rayon-core: if a job finds its queue empty and a worker searches, no sleeper is
/// woken.
pub(crate) enum IdleFirst<const READS_BOTH: bool = false> {}

// Compilers before 1.85 do not see that `for_every_variant` uses this type.
#[allow(dead_code)]
pub(crate) type ReadsBoth = IdleFirst<true>;

/// A job wakes a sleeper whenever some worker sleeps, even if other workers search.
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
        // If the queue was not empty, the searching workers do not keep up with that queue.
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

/// How many sleepers replace a worker that stops searching (README, section 6).
pub(crate) trait Propagation: Send + Sync + 'static {
    const NAME_PART: &'static str;
    /// Whether the worker first scans the queues, and wakes a sleeper only if it sees work.
    const SCANS_FIRST: bool;
    /// Whether the last searching workers [spin](crate::sleep::SearchHistory) before they park.
    const SPINS: bool;

    /// Returns how many of `sleeping` sleepers to wake. Calls `searching` only if the result
    /// depends on it.
    fn sleepers_to_wake(sleeping: usize, searching: impl FnOnce() -> usize) -> usize;
}

/// The rule of rayon-core: each worker that stops searching wakes up to two sleepers.
pub(crate) enum WakeTwo {}

/// Only the last searching worker wakes sleepers, at most two. If jobs are long, or the pool is
/// oversubscribed, `Sleep::end_search` wakes more.
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
    // Workers do not spin under loom, where one more search of the queues adds no behaviour. They
    // do not spin on WebAssembly, because `Instant` panics in a browser.
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
