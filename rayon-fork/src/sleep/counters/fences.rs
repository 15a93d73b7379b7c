//! The axis of fences: what keeps a pushed job and a worker that falls asleep from missing each
//! other.
//!
//! A fence has two ends, which only make sense together: one stands between pushing a job and
//! reading the counters, the other between changing the counters and looking for jobs. So each
//! implementation has both. Why each pair is enough is in the sleep README, sections 5, 7 and 9.

use crate::hooks::{self, Event};
use crate::sync::modelled::{Ordering, fence};

/// The fences of a push and of a worker that falls asleep.
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
