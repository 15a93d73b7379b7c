//! Steal requests to a whole pool: the word that each push reads if jobs are private. `README.md`,
//! section 10, argues why no worker sleeps while a private job waits.

use std::fmt;
use std::time::Duration;

use super::Sleep;
use super::parking::ParkingSlot;
use super::{IdlePeriod, Phase};
use crate::deque::Response;
use crate::sleep::counters::SleepCounters;
use crate::sync::modelled::{AtomicUsize, Fences, Ordering, fence};
use crate::sync::{AtomicUsize as UnmodelledUsize, Instant};

/// How old a pool is before one of its workers [registers](Sleep::register) the process. A program
/// that ends sooner never loses a worker to this call, which may take the kernel some 10 ms. A
/// guess.
pub(super) const REGISTERS_AFTER: Duration = Duration::from_secs(1);

/// How the pushes of a pool depend on steal requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jobs {
    /// The steal request is not used: every push notifies, or the pool has one worker.
    Notified,
    /// Jobs are shared at once. Pushes fence, and sleepers scan.
    Shared,
    /// Jobs are private until a worker requests them, and pushes do not notify.
    Private,
}

/// The bit of the request that says that a worker is idle or was idle lately.
pub(super) const REQUESTED: usize = 1;

/// The bit of the request that says that a heavy side came after [`REQUESTED`] was set. So each push
/// that this heavy side missed finds the request, and fences.
pub(super) const PUBLISHED: usize = 2;

/// The request counts how often it was cleared, in steps of this number. So a worker does not
/// publish a request that was cleared and set again during its heavy side.
const A_CLEARING: usize = 4;

/// The steal request of a pool. The request has cache lines of its own, because it seldom changes.
pub(crate) struct StealRequest {
    pub(super) word: AtomicUsize,
    pub(super) fences: Fences,
    jobs: Jobs,
    /// 1 when a worker has gone to register the process. This flag belongs to a pool, not to the
    /// process, because a child of `fork` has none of its parent's workers, and builds its own
    /// pools.
    registrar: UnmodelledUsize,
    /// When the pool was built, if the process still had to be registered then.
    pub(super) built: Option<Instant>,
    /// The step of a mutant, which replaces [`before_scan`](Sleep::before_scan).
    #[cfg(all(test, fork_loom))]
    pub(super) before_scan: Option<fn(&Self)>,
}

impl StealRequest {
    pub(crate) fn of_pool(workers: usize, is_fifo: bool) -> Self {
        match workers {
            0..=1 => Self::new(Jobs::Notified, Fences::alone()),
            _ if is_fifo => Self::new(Jobs::Shared, Fences::full()),
            _ => Self::new(Jobs::Private, Fences::cheapest_in_time()),
        }
    }

    #[cfg(all(test, not(fork_loom)))]
    pub(crate) fn of_notified() -> Self {
        Self::new(Jobs::Notified, Fences::full())
    }

    pub(crate) fn new(jobs: Jobs, fences: Fences) -> Self {
        Self {
            word: AtomicUsize::new(0),
            fences,
            jobs,
            registrar: UnmodelledUsize::new(0),
            // In a browser `Instant` panics. There registering is immediate, so a browser never
            // makes this call.
            built: fences.is_register_called_for().then(Instant::now),
            #[cfg(all(test, fork_loom))]
            before_scan: None,
        }
    }

    pub(super) fn describe(&self, pool: &mut fmt::DebugStruct<'_, '_>) {
        pool.field("steal_request", &self.is_there());
        pool.field("fences", &format_args!("{}", self.fences.name()));
    }

    #[inline]
    fn is_there(&self) -> bool {
        // Relaxed: the comment on the light side of the fence in `Deque::push` says what this load
        // may miss.
        self.word.load(Ordering::Relaxed) & REQUESTED != 0
    }

    /// Requests jobs for a worker. The worker repeats this call after each unsuccessful search,
    /// because another worker may have cleared the request.
    #[inline]
    pub(super) fn set(&self) {
        if !self.is_there() {
            // Relaxed: a worker may see the request late. Before this worker blocks, it sets the
            // request again, with a fence.
            self.word.fetch_or(REQUESTED, Ordering::Relaxed);
        }
    }

    /// Clears the request, unless another thread changes it meanwhile.
    pub(super) fn try_clear(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        let cleared = (word & !(REQUESTED | PUBLISHED)).wrapping_add(A_CLEARING);
        // Relaxed: callers fence.
        self.word
            .compare_exchange(word, cleared, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    }

    /// Sets the request, and executes the heavy side unless the request was published. So the
    /// calling worker finds each job whose push did not find the request, unless the request is
    /// cleared later.
    pub(super) fn set_and_publish(&self) {
        // ORDERING: Acquire, pairs with the exchange below, which another worker made. This worker
        // sees each job that is visible to that worker after its heavy side.
        let word = self.word.fetch_or(REQUESTED, Ordering::Acquire);
        if word & PUBLISHED != 0 {
            return;
        }
        // ORDERING: heavy side, pairs with the light side in `Deque::push`. The request is set
        // before the heavy side, and jobs are scanned after it. A push that the scan misses finds
        // the request.
        self.fences.heavy();
        let requested = word | REQUESTED;
        // ORDERING: Release, pairs with the Acquire above. The exchange fails if the request was
        // cleared since, because then later pushes may have missed it.
        let _ = self.word.compare_exchange(
            requested,
            requested | PUBLISHED,
            Ordering::Release,
            Ordering::Relaxed,
        );
    }
}

impl<C: SleepCounters, S: ParkingSlot> Sleep<C, S> {
    /// Returns whether pushes need not notify, because searching workers request jobs.
    #[inline]
    pub(crate) fn are_pushes_silent(&self) -> bool {
        self.request.jobs == Jobs::Private
    }

    pub(crate) fn fences(&self) -> Fences {
        self.request.fences
    }

    /// Returns whether the calling worker, in its main loop and about to block, must end this
    /// search and [register](Self::register) the process. Only one worker of a pool gets `true`,
    /// and only when the pool is old enough; the other workers stay ready for jobs.
    pub(crate) fn try_begin_registering(&self, idle: &IdlePeriod<'_>) -> bool {
        let request = &self.request;
        matches!(idle.phase, Phase::Sleepy(_))
            && request.fences.is_register_called_for()
            && request.built.is_some_and(|it| it.elapsed() >= REGISTERS_AFTER)
            // Relaxed: no data depends on this word; it only chooses the thread that makes the
            // system call.
            && request.registrar.swap(1, Ordering::Relaxed) == 0
    }

    /// Registers the process for asymmetric fences, which may take milliseconds. Meanwhile other
    /// threads see the calling worker as one that runs a job.
    #[cold]
    pub(crate) fn register(&self) {
        self.request.fences.register();
    }

    /// Returns whether a worker must [respond](Self::respond) after its push.
    #[inline]
    pub(crate) fn wants_jobs(&self) -> bool {
        self.request.is_there()
    }

    #[inline]
    pub(crate) fn request_jobs(&self) {
        if self.are_pushes_silent() {
            self.request.set();
        }
    }

    /// Returns whether pushes rely on a scan of every deque before a worker blocks: they do not
    /// notify, or their fence pairs with that scan.
    #[inline]
    pub(super) fn scans_for_pushes(&self) -> bool {
        self.request.jobs != Jobs::Notified
    }

    /// Call this when the calling worker is counted as asleep, before it scans every deque, private
    /// jobs included.
    pub(super) fn before_scan(&self) {
        if !self.are_pushes_silent() {
            return;
        }
        let request = &*self.request;
        #[cfg(all(test, fork_loom))]
        if let Some(mutant) = request.before_scan {
            return mutant(request);
        }
        // ORDERING: SeqCst fence, pairs with the ones in `respond` and in `clear_request`. The
        // worker is counted as asleep before the fence. It scans jobs, and sets the request, after
        // the fence. So a worker whose push found the request, but whose job this scan misses,
        // finds a sleeper. So does a worker that clears the request later.
        fence(Ordering::SeqCst);
        request.set_and_publish();
    }

    /// Call this when the calling worker has pushed a job, before it notifies the counters.
    #[inline]
    pub(super) fn after_shared_push(&self) {
        if self.request.jobs == Jobs::Shared {
            // ORDERING: SeqCst fence, pairs with the one in `work_in_sight`, and with the one
            // before a sleeper's scan. The job is stored before the fence, and the counts are read
            // after it. If the counts still show the last searching worker, that worker stops
            // searching later. If the counts miss a sleeper, the sleeper registers later. Both
            // workers then scan every deque, and see the job.
            fence(Ordering::SeqCst);
        }
    }

    /// Call this when the calling worker has pushed a job, and a request is set. `response` is the
    /// response of the worker's deque.
    pub(crate) fn respond(&self, response: Response) {
        // ORDERING: SeqCst fence, pairs with the one in `work_in_sight`, and with the one before a
        // sleeper's scan. The job is stored before the fence, and the counts are read after it. If
        // they still show the last searching worker, that worker stops later, fences, scans, and
        // sees the job. If they miss a sleeper, that sleeper fences later, and sees the job. The
        // sleeper may rely on this fence for as long as the request is published.
        fence(Ordering::SeqCst);
        // To the wake rule, a job that may be left to a searching worker finds its queue empty.
        // Searching workers come for jobs sooner than a woken worker would, unless they have left
        // jobs to the owner before.
        self.notify_job(response.is_first || !response.is_unwanted);
        // The request of a worker that searches is cleared, too: that worker may have no CPU. When
        // it searches again, it sets the request again.
        if response.is_unwanted && self.counters.sleeping() == 0 {
            self.clear_request();
        }
    }

    /// Clears the request, and sets it again if a worker sleeps by then.
    pub(super) fn clear_request(&self) {
        if !self.request.try_clear() {
            return;
        }
        // ORDERING: SeqCst fence, pairs with the one in `before_scan`. The request is cleared
        // before the fence, and the sleepers are read after it. A sleeper that this read misses
        // sets the request later.
        fence(Ordering::SeqCst);
        if self.counters.sleeping() > 0 {
            // Another worker may have pushed a job without a request, and so without a check for
            // sleepers. The woken worker sees that job after this heavy side, even if it finds
            // another job first, and only looks whether to wake a further worker.
            self.request.set_and_publish();
            self.wake_any(1);
        }
    }
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::*;
    use crate::sleep::counters::Packed;
    use crate::sleep::counters::dimensions::{IdleFirst, Inline, Jec, NoFence, WakeWhereWorkIs};
    use crate::sleep::parking::Slot;

    type Champion = Packed<(Jec, NoFence, IdleFirst, Inline, WakeWhereWorkIs)>;

    #[test]
    fn jobs_are_left_to_a_worker_that_searches_unless_no_thief_came_for_the_last_ones() {
        let request = StealRequest::new(Jobs::Private, Fences::full());
        let sleep = Sleep::<Champion, Slot>::with_request(3, request);
        (0..2).for_each(|worker| sleep.counters.begin_search(worker));
        let ticket = sleep.counters.become_sleepy(0);
        assert!(sleep.slots[0].try_arm(|| sleep.counters.try_begin_sleep(0, ticket)));
        for (is_first, is_unwanted, sleeping) in [
            (true, false, 1),
            (true, true, 1),
            (false, false, 1),
            (false, true, 0),
        ] {
            sleep.respond(Response {
                is_first,
                is_unwanted,
            });
            assert_eq!(
                sleep.counters.sleeping(),
                sleeping,
                "{is_first} {is_unwanted}"
            );
        }
    }
}
