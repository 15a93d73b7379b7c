//! What the packings are generic over: events, fence, wake rule, padding and leave rule, each axis
//! a type.

use crate::hooks::{self, Event};
use crate::sync::modelled::{Ordering, fence};
use std::ops::Deref;

/// One choice on each axis.
pub(crate) trait Axes: Send + Sync + 'static {
    type Events: Events;
    type Fence: Fence;
    type WakeRule: WakeRule;
    type Padding: Padding;
    type LeaveRule: LeaveRule;

    /// What the choices add to the variant's name, in this order.
    const MODIFIERS: &'static [&'static str];
}

impl<E: Events, F: Fence, W: WakeRule, P: Padding, L: LeaveRule> Axes for (E, F, W, P, L) {
    type Events = E;
    type Fence = F;
    type WakeRule = W;
    type Padding = P;
    type LeaveRule = L;

    const MODIFIERS: &'static [&'static str] = {
        assert!(
            E::COUNTED || F::SCANS_BEFORE_SLEEP,
            "without events nothing tells a sleeper of a job, so it must scan"
        );
        &[
            E::MODIFIER,
            F::MODIFIER,
            W::MODIFIER,
            P::MODIFIER,
            L::MODIFIER,
        ]
    };
}

/// The four of the study, with the leave rule of rayon-core.
impl<E: Events, F: Fence, W: WakeRule, P: Padding> Axes for (E, F, W, P) {
    type Events = E;
    type Fence = F;
    type WakeRule = W;
    type Padding = P;
    type LeaveRule = WakeTwo;

    const MODIFIERS: &'static [&'static str] = <(E, F, W, P, WakeTwo)>::MODIFIERS;
}

/// A counter word, placed as the axes say.
pub(crate) type Line<A, T> = <<A as Axes>::Padding as Padding>::Line<T>;

/// Where a counter word lies.
pub(crate) trait Padding: Send + Sync + 'static {
    /// Part of the variant's name.
    const MODIFIER: &'static str;
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
    const MODIFIER: &'static str = "";
    type Line<T: Send + Sync + 'static> = Unpadded<T>;
}

impl Padding for CachePadded {
    const MODIFIER: &'static str = "+cache-padded";
    type Line<T: Send + Sync + 'static> = crossbeam_utils::CachePadded<T>;
}

/// Whether announcements of jobs are counted.
pub(crate) trait Events: Send + Sync + 'static {
    /// Part of the variant's name.
    const MODIFIER: &'static str;
    /// A jobs event counter (JEC) tells sleepy workers that there is news.
    const COUNTED: bool;
}

/// With a jobs event counter. Even: no job was announced since somebody last became sleepy. Odd:
/// some were.
pub(crate) enum Jec {}

/// Without one: sleepers must scan.
pub(crate) enum NoJec {}

impl Events for Jec {
    const MODIFIER: &'static str = "";
    const COUNTED: bool = true;
}

impl Events for NoJec {
    const MODIFIER: &'static str = "+no-jec";
    const COUNTED: bool = false;
}

/// The fences of a push and of a worker that falls asleep.
///
/// A fence has two ends, which only make sense together: one stands between pushing a job and
/// reading the counters, the other between changing the counters and looking for jobs. So each
/// implementation has both. Why each pair is enough is in the sleep README, sections 5, 7 and 9.
pub(crate) trait Fence: Send + Sync + 'static {
    /// Part of the variant's name.
    const MODIFIER: &'static str;
    /// A worker looks over every queue after it registered as a sleeper. If not set, it looks only
    /// at what outsiders fill.
    const SCANS_BEFORE_SLEEP: bool;

    /// The publisher's end: an internal job is pushed, the counters are read next. Every push pays
    /// for this.
    fn after_push();

    /// The worker's end where it does not scan: the events are read or stepped, its last search
    /// comes next.
    #[inline]
    fn after_becoming_sleepy() {}

    /// The worker's other end: it is counted as asleep, and looks at the queues next.
    #[inline]
    fn after_registering() {
        // ORDERING: SeqCst fence, pairs with the one in `Sleep::job_injected`, and where the worker
        // scans with the one in `after_push`. Without it both sides could pass, and the job would
        // be stranded (README, section 5).
        fence(Ordering::SeqCst);
    }
}

/// Nothing stands between a push and its announcement. The hole of the README's section 9 is open.
pub(crate) enum NoFence {}

/// Pushes fence, and so does a worker that becomes sleepy: no job can slip past its last search.
pub(crate) enum PushFence {}

/// Pushes fence, and sleepers scan: nothing else is needed, not even events.
pub(crate) enum ScanFence {}

impl Fence for NoFence {
    const MODIFIER: &'static str = "";
    const SCANS_BEFORE_SLEEP: bool = false;

    #[inline]
    fn after_push() {}
}

impl Fence for PushFence {
    const MODIFIER: &'static str = "+push-fence";
    const SCANS_BEFORE_SLEEP: bool = false;

    #[inline]
    fn after_push() {
        // ORDERING: SeqCst fence, pairs with the one in `after_becoming_sleepy`. The job is stored,
        // the events are read next; if they are found odd, the worker's last search must find the
        // job (README, section 9).
        fence(Ordering::SeqCst);
        hooks::count(Event::PushFence);
    }

    #[inline]
    fn after_becoming_sleepy() {
        // ORDERING: SeqCst fence, pairs with the one in `after_push`. The events are read or
        // stepped, the search for jobs comes next: a publisher whose job it misses must find those
        // events even (README, section 9).
        fence(Ordering::SeqCst);
    }
}

impl Fence for ScanFence {
    // Only events can do without; who leaves them out gets it.
    const MODIFIER: &'static str = "";
    const SCANS_BEFORE_SLEEP: bool = true;

    #[inline]
    fn after_push() {
        // ORDERING: SeqCst fence, pairs with the one in `after_registering`. The job is stored, the
        // sleepers are read next; if that read misses a sleeper, its scan must find the job
        // (README, section 5).
        fence(Ordering::SeqCst);
        hooks::count(Event::PushFence);
    }
}

/// How many sleepers a new job wakes.
pub(crate) trait WakeRule: Send + Sync + 'static {
    /// Part of the variant's name.
    const MODIFIER: &'static str;
    /// Whether the rule ever asks who searches.
    const COUNTS_SEARCHERS: bool;

    /// Sleepers to wake for one job, given that `sleeping` is not 0. `searching` is asked only if
    /// the answer depends on it.
    fn sleepers_to_wake(
        sleeping: usize,
        queue_was_empty: bool,
        searching: impl FnOnce() -> usize,
    ) -> usize;
}

/// A job that finds its queue empty is left to a worker that searches, if there is one. The rule of
/// rayon-core.
pub(crate) enum IdleFirst {}

/// A job wakes a sleeper whenever there is one, even if others search.
pub(crate) enum SleepersOnly {}

impl WakeRule for IdleFirst {
    const MODIFIER: &'static str = "";
    const COUNTS_SEARCHERS: bool = true;

    #[inline]
    fn sleepers_to_wake(
        sleeping: usize,
        queue_was_empty: bool,
        searching: impl FnOnce() -> usize,
    ) -> usize {
        debug_or_loom_assert!(sleeping > 0);
        // A queue that was not empty says that those who search do not keep up with it, however
        // many they are.
        usize::from(!queue_was_empty || searching() == 0)
    }
}

impl WakeRule for SleepersOnly {
    const MODIFIER: &'static str = "+sleepers-only";
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

/// How many sleepers come to search in the stead of a worker that stops (README, section 6).
pub(crate) trait LeaveRule: Send + Sync + 'static {
    /// Part of the variant's name.
    const MODIFIER: &'static str;
    /// Whether it is in vain to wake anybody unless there is work to be seen.
    const LOOKS_FIRST: bool;
    /// Whether workers watch what their searches cost, and the last that search
    /// [linger](crate::sleep::Patience).
    const LINGERS: bool;

    /// Sleepers to wake, of `sleeping`. `searching` is asked only if the answer depends on it.
    fn sleepers_to_wake(sleeping: usize, searching: impl FnOnce() -> usize) -> usize;
}

/// Up to two, always. The rule of rayon-core.
pub(crate) enum WakeTwo {}

/// Up to two, by the last searcher.
pub(crate) enum WakeWhereWorkIs {}

impl LeaveRule for WakeTwo {
    const MODIFIER: &'static str = "";
    const LOOKS_FIRST: bool = false;
    const LINGERS: bool = false;

    #[inline]
    fn sleepers_to_wake(sleeping: usize, _searching: impl FnOnce() -> usize) -> usize {
        sleeping.min(2)
    }
}

impl LeaveRule for WakeWhereWorkIs {
    const MODIFIER: &'static str = "+wake-where-work-is";
    const LOOKS_FIRST: bool = true;
    // In a model one round more changes nothing; a browser's `Instant` panics.
    const LINGERS: bool = !cfg!(any(fork_loom, target_family = "wasm"));

    #[inline]
    fn sleepers_to_wake(sleeping: usize, searching: impl FnOnce() -> usize) -> usize {
        if sleeping > 0 && searching() == 0 {
            sleeping.min(2)
        } else {
            0
        }
    }
}
