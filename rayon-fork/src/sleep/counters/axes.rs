//! What the layouts are generic over: padding, events, and the rule by which a new job wakes
//! sleepers.

use crossbeam_utils::CachePadded;
use std::ops::Deref;

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
pub(crate) enum Padded {}

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

impl Padding for Padded {
    const MODIFIER: &'static str = "+cache-padded";
    type Line<T: Send + Sync + 'static> = CachePadded<T>;
}

/// What stands between pushing an internal job and announcing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PushFence {
    /// Nothing.
    Absent,
    /// A `SeqCst` fence.
    Full,
    /// The free side of an asymmetric pair.
    Light,
}

/// Whether announcements of jobs are counted.
pub(crate) trait Events: Send + Sync + 'static {
    /// Part of the variant's name.
    const MODIFIER: &'static str;
    /// A jobs event counter (JEC) tells sleepy workers that there is news.
    const COUNTED: bool;
    /// See [`PUSH_FENCE`](super::SleepCounters::PUSH_FENCE).
    const PUSH_FENCE: PushFence;
}

/// Announcements are counted; what a layout asks for that has no form without them.
pub(crate) trait CountedEvents: Events {}

/// With a jobs event counter. Even: no job was announced since somebody last became sleepy. Odd:
/// some were.
pub(crate) enum Jec {}

/// With a jobs event counter, and yet pushes fence: no job can slip past a worker that becomes
/// sleepy.
pub(crate) enum FencedJec {}

/// With a jobs event counter; and sleepers, before they scan, fence for those who push.
pub(crate) enum AsymmetricJec {}

/// Without one: pushes fence, and sleepers scan.
pub(crate) enum NoJec {}

/// Without one: sleepers fence for those who push, and scan.
pub(crate) enum AsymmetricNoJec {}

impl Events for Jec {
    const MODIFIER: &'static str = "";
    const COUNTED: bool = true;
    const PUSH_FENCE: PushFence = PushFence::Absent;
}

impl Events for FencedJec {
    const MODIFIER: &'static str = "+push-fence";
    const COUNTED: bool = true;
    const PUSH_FENCE: PushFence = PushFence::Full;
}

impl Events for AsymmetricJec {
    const MODIFIER: &'static str = "+asymmetric-fence";
    const COUNTED: bool = true;
    const PUSH_FENCE: PushFence = PushFence::Light;
}

impl Events for AsymmetricNoJec {
    const MODIFIER: &'static str = "+no-jec+asymmetric-fence";
    const COUNTED: bool = false;
    const PUSH_FENCE: PushFence = PushFence::Light;
}

impl Events for NoJec {
    const MODIFIER: &'static str = "+no-jec";
    const COUNTED: bool = false;
    const PUSH_FENCE: PushFence = PushFence::Full;
}

impl CountedEvents for Jec {}
impl CountedEvents for FencedJec {}
impl CountedEvents for AsymmetricJec {}

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

/// A job wakes a sleeper whenever there is one, whoever else may search.
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
