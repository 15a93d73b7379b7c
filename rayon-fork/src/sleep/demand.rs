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

/// The steal request of a pool. The request has cache lines of its own, because it seldom changes.
pub(crate) struct StealRequest {
    /// 1 if a worker is idle or was idle lately, else 0.
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
        self.word.load(Ordering::Relaxed) != 0
    }

    /// Requests jobs for a worker. The worker repeats this call after each unsuccessful search,
    /// because another worker may have cleared the request.
    #[inline]
    pub(super) fn set(&self) {
        if !self.is_there() {
            // Relaxed: a worker may see the request late. Before this worker blocks, it sets the
            // request again, with a fence.
            self.word.store(1, Ordering::Relaxed);
        }
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
        // ORDERING: SeqCst fence, pairs with the one in `clear_request`. The worker is counted as
        // asleep before the fence, and sets the request after it. So a worker that clears the
        // request later finds a sleeper.
        fence(Ordering::SeqCst);
        request.word.swap(1, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with the one in `after_search`. The request is set before
        // the fence, and the counts are read after it. A worker that the counts show as idle, and
        // that stops searching, finds the request, and through it the sleeper.
        fence(Ordering::SeqCst);
        if self.everybody_is_idle() {
            return;
        }
        // ORDERING: heavy side, pairs with the light side in `Deque::push`. The changes of S and of
        // the request come before the heavy side, and the scan reads the jobs after it. A pushing
        // worker whose job the scan misses finds the request, and then the sleeper.
        request.fences.heavy();
    }

    /// Call this when the calling worker is no longer counted as idle, and may push next.
    #[inline]
    pub(super) fn after_search(&self) {
        if self.are_pushes_silent() {
            // ORDERING: SeqCst fence, pairs with the second one in `before_scan`. A worker about to
            // block that still saw this worker as idle has set the request, and this worker's next
            // push must find it. No model fails without this fence. A failure would need a third
            // worker that clears the request just before that, and an early read of the request by
            // this worker.
            fence(Ordering::SeqCst);
        }
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
        if response.is_first || self.somebody_sleeps() {
            // Searching workers come for the jobs sooner than a woken worker would, unless they
            // have left jobs to the owner before.
            self.job_offered(response.is_first || !response.is_unwanted);
        }
        // The request of a worker that searches is cleared, too: that worker may have no CPU. When
        // it searches again, it sets the request again.
        if response.is_unwanted && !self.somebody_sleeps() {
            self.clear_request();
        }
    }

    /// Clears the request, and sets it again if a worker sleeps by then.
    pub(super) fn clear_request(&self) {
        let request = &*self.request;
        request.word.swap(0, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with the one in `before_scan`. The request is cleared
        // before the fence, and the sleepers are read after it. A sleeper that this read misses
        // sets the request later.
        fence(Ordering::SeqCst);
        if self.somebody_sleeps() {
            // Relaxed: the lock of a woken worker's slot orders this store before its search.
            // Threads that are not woken do not rely on this store.
            request.word.swap(1, Ordering::Relaxed);
            // Another worker may have pushed a job without a request, and so without a check for
            // sleepers.
            self.wake_any(1);
        }
    }

    /// Returns whether any worker sleeps. The caller has executed the light side of the fence in
    /// its push, or a full fence.
    #[inline]
    pub(crate) fn somebody_sleeps(&self) -> bool {
        // ORDERING: the light side in the push pairs with the heavy side in `before_scan`. A
        // sleeper that this read misses counts itself later, and finds the job before it blocks. A
        // sleeper that left out the heavy side saw every worker as idle, this worker included. So
        // this worker's fence in `after_search` came later, and this read does not miss that
        // sleeper.
        self.counters.sleeping() > 0
    }

    /// Call this after a push that found the steal request set, and that exposed a job or saw a
    /// sleeper. Wakes a sleeper, if there is one. If `is_left_to_searchers` and a worker searches,
    /// the wake rule may leave the job to that worker.
    fn job_offered(&self, is_left_to_searchers: bool) {
        // ORDERING: SeqCst fence, pairs with the one in `work_in_sight`, and with the one before a
        // sleeper's scan. The job is stored before the fence, and the searching workers are read
        // after it. If that count still shows the last searching worker, that worker stops later,
        // fences, scans, and sees the job. Without this fence, the job might be left to a worker
        // that took another shared job.
        fence(Ordering::SeqCst);
        // To the wake rule, such a job finds its queue empty.
        self.notify_job(is_left_to_searchers);
    }

    fn everybody_is_idle(&self) -> bool {
        C::COUNTS_SEARCHERS && self.counters.inactive() == self.slots.len()
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
