//! Steal requests to a whole pool: the word that each push reads if jobs stay private until a
//! worker requests them. `demand_off.rs` is the counterpart in builds without private jobs.
//!
//! `README.md`, section 10, argues why no worker sleeps while a private job waits.

use std::fmt;
use std::time::Duration;

use super::Sleep;
use super::parking::ParkingSlot;
use super::{IdlePeriod, Phase};
use crate::deque::Answer;
use crate::sleep::counters::SleepCounters;
use crate::sync::modelled::{AtomicUsize, Fences, Ordering, fence};
use crate::sync::{AtomicUsize as UnmodelledUsize, Instant};

/// How old a pool is before one of its workers may leave it to [register](Sleep::register) the
/// process.
///
/// The kernel may take a hundredth of this to register a process. A program that ends sooner keeps
/// its worker, and a longer one loses some percent of a worker's time at most. A guess: any limit
/// above the time of short commands serves these, such as the program `dust` of the workloads.
pub(super) const REGISTERS_AFTER: Duration = Duration::from_secs(1);

/// How the pushes of a pool depend on steal requests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jobs {
    /// Every push notifies the counters, or the pool has one worker: the word is not used.
    Notified,
    /// Jobs are shared at once, because their deque has no private part. Pushes fence and sleepers
    /// scan. So a worker that stops searching sees the jobs that others pushed.
    Public,
    /// Jobs are private until a worker requests them, so pushes do not notify the counters.
    Private,
}

/// The steal request of a pool, for cache lines of its own. While nothing changes, every worker has
/// these lines in its cache.
pub(crate) struct StealRequest {
    /// 1 if a worker is idle, or was lately. 0 if no worker is idle, or one has just become idle.
    pub(super) word: AtomicUsize,
    /// The asymmetric fence, shared with the deques.
    pub(super) fences: Fences,
    jobs: Jobs,
    /// 1 as soon as a worker has gone to register the process for the fences. It belongs to the
    /// pool, not to the process: a child of `fork` has none of its parent's threads, and builds its
    /// own pools. No model contains it.
    registrar: UnmodelledUsize,
    /// When the pool was built, if the kernel had not registered the process by then.
    pub(super) built: Option<Instant>,
    /// The step that a mutant takes instead of [`before_scan`](Sleep::before_scan).
    #[cfg(all(test, fork_loom))]
    pub(super) before_scan: Option<fn(&Self)>,
}

impl StealRequest {
    /// Creates the word of a pool of `workers` workers. `is_fifo` says whether they take their
    /// oldest job first.
    pub(crate) fn of_pool(workers: usize, is_fifo: bool) -> Self {
        match workers {
            0..=1 => Self::new(Jobs::Notified, Fences::alone()),
            // No thread executes these fences.
            _ if is_fifo => Self::new(Jobs::Public, Fences::full()),
            _ => Self::new(Jobs::Private, Fences::cheapest_in_time()),
        }
    }

    /// Creates the word of a pool in which every push notifies the counters.
    #[cfg(all(test, not(fork_loom)))]
    pub(crate) fn of_notified() -> Self {
        Self::new(Jobs::Notified, Fences::full())
    }

    /// Creates a word without a request. `fences` are the fences of the deques.
    pub(crate) fn new(jobs: Jobs, fences: Fences) -> Self {
        Self {
            word: AtomicUsize::new(0),
            fences,
            jobs,
            registrar: UnmodelledUsize::new(0),
            // A browser's `Instant` panics, but there no thread registers.
            built: fences.is_register_called_for().then(Instant::now),
            #[cfg(all(test, fork_loom))]
            before_scan: None,
        }
    }

    /// Adds two facts to the description of a pool: whether a worker requests jobs, and how pushes
    /// and pops fence.
    pub(super) fn describe(&self, pool: &mut fmt::DebugStruct<'_, '_>) {
        pool.field("steal_request", &self.is_there());
        pool.field("fences", &format_args!("{}", self.fences.name()));
    }

    /// Returns whether a worker must [respond](Sleep::answer) after its push.
    #[inline]
    fn is_there(&self) -> bool {
        // Relaxed: the light fence in `Deque::push` says what this may miss.
        self.word.load(Ordering::Relaxed) != 0
    }

    /// A worker requests jobs. It repeats this after each unsuccessful search, because another
    /// worker may have cleared the request.
    #[inline]
    pub(super) fn set(&self) {
        if !self.is_there() {
            // Relaxed: a worker that does not see the request yet sees it later. Before this worker
            // blocks, it sets the request again, with a fence.
            self.word.store(1, Ordering::Relaxed);
        }
    }
}

impl<C: SleepCounters, S: ParkingSlot> Sleep<C, S> {
    /// Returns whether a push may leave out the notification. If so, a searching worker must
    /// request jobs.
    #[inline]
    pub(crate) fn are_pushes_silent(&self) -> bool {
        self.request.jobs == Jobs::Private
    }

    /// Returns the fences of deques whose jobs are private.
    pub(crate) fn fences(&self) -> Fences {
        self.request.fences
    }

    /// Returns whether the calling worker must end this search and [register](Self::register) the
    /// process. The worker is in its main loop and may block next. Only one worker of a pool gets
    /// `true`, and only when the pool has existed for a while; the others stay ready for jobs.
    pub(crate) fn try_begin_registering(&self, idle: &IdlePeriod<'_>) -> bool {
        let request = &self.request;
        matches!(idle.phase, Phase::Sleepy(_))
            && request.fences.is_register_called_for()
            && request.built.is_some_and(|it| it.elapsed() >= REGISTERS_AFTER)
            // Relaxed: nothing but the system call depends on it.
            && request.registrar.swap(1, Ordering::Relaxed) == 0
    }

    /// Registers the process for the fences of the deques. The kernel may take milliseconds for
    /// that. Meanwhile all other threads see the calling worker as one that runs a job.
    #[cold]
    pub(crate) fn register(&self) {
        self.request.fences.register();
    }

    /// Returns whether a worker must [respond](Self::answer) after its push.
    #[inline]
    pub(crate) fn wants_jobs(&self) -> bool {
        self.request.is_there()
    }

    /// The calling worker has no job, and requests one.
    #[inline]
    pub(crate) fn request_jobs(&self) {
        if self.are_pushes_silent() {
            self.request.set();
        }
    }

    /// Returns whether pushes rely on the scan of every deque that a worker makes before it blocks.
    /// Pushes without a notification rely on it. So do pushes of shared jobs: their fence pairs
    /// with the scan.
    #[inline]
    pub(super) fn scans_for_pushes(&self) -> bool {
        self.request.jobs != Jobs::Notified
    }

    /// The calling worker is counted as asleep. It scans every deque next, and the scan includes
    /// private jobs.
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
        // the fence, and the counts are read after it. Suppose the counts show a worker as idle,
        // and that worker stops searching. Then it finds the request, and through it the sleeper.
        fence(Ordering::SeqCst);
        if self.everybody_is_idle() {
            return;
        }
        // ORDERING: heavy fence, pairs with the light one in `Deque::push`. The sleeper and the
        // request are visible before the fence, and the scan reads the jobs after it. So a pushing
        // worker whose job the scan misses finds the request, and then the sleeper.
        request.fences.heavy();
    }

    /// The calling worker is no longer counted as idle, and may push next.
    #[inline]
    pub(super) fn after_search(&self) {
        if self.are_pushes_silent() {
            // ORDERING: SeqCst fence, pairs with the second one in `before_scan`. A worker that is
            // about to block, and still saw this worker as idle, has set the request. This worker's
            // next push must find that request. No model shows a failure without this fence. A
            // failure would need a third worker that clears the request just before, and an early
            // read of it by this worker.
            fence(Ordering::SeqCst);
        }
    }

    /// The calling worker has pushed a job, and notifies the counters next.
    #[inline]
    pub(super) fn after_public_push(&self) {
        if self.request.jobs == Jobs::Public {
            // ORDERING: SeqCst fence, pairs with the one in `work_in_sight`, and with the one
            // before a sleeper's scan. The job is stored before the fence, and the counts are read
            // after it. If the counts still show the last searching worker, that worker leaves
            // later. If the counts miss a sleeper, it registers later. Both then scan every deque,
            // and see the job.
            fence(Ordering::SeqCst);
        }
    }

    /// The calling worker has pushed a job, and a request is set. `answer` is the response of its
    /// deque to that request.
    pub(crate) fn answer(&self, answer: Answer) {
        let is_unwanted = answer == Answer::Unwanted;
        if answer == Answer::Exposed || self.somebody_sleeps() {
            // No thief has taken a shared job for a while. So workers that are counted as searching
            // may have no CPU, as where the kernel put a woken worker behind its waker.
            self.job_offered(!is_unwanted);
        }
        if is_unwanted && !self.somebody_is_idle() {
            self.clear_request();
        }
    }

    /// Clears the request, and sets it again if a worker is idle by then.
    pub(super) fn clear_request(&self) {
        let request = &*self.request;
        request.word.swap(0, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with the one in `before_scan`. The request is cleared
        // before the fence, and the sleepers are read after it. So a sleeper that this read misses
        // sets the request later.
        fence(Ordering::SeqCst);
        if self.somebody_is_idle() {
            // Relaxed: the lock of a woken worker's slot orders this store before that worker's
            // search. Other threads do not rely on it.
            request.word.swap(1, Ordering::Relaxed);
            // Another worker may have pushed a job while it saw no request, and then did not check
            // for sleepers.
            if self.somebody_sleeps() {
                self.wake_any(1);
            }
        }
    }

    /// Returns whether any worker sleeps. The caller has pushed a job, and the light fence of that
    /// push precedes this read.
    #[inline]
    pub(crate) fn somebody_sleeps(&self) -> bool {
        // ORDERING: the light fence of the push pairs with the heavy one in `before_scan`. A
        // sleeper that this read misses counts itself later, and then finds the job before it
        // blocks. A sleeper may have left out the heavy fence, because it saw every worker as idle.
        // It saw this worker as idle, too, so this worker's fence in `after_search` came later.
        // Hence this read does not miss that sleeper.
        self.counters.sleeping() > 0
    }

    /// A request is set, a worker may sleep, and the caller has pushed a shared or a private job.
    /// Wakes a worker that searches for it, unless one searches already and `is_news`.
    fn job_offered(&self, is_news: bool) {
        // ORDERING: SeqCst fence, pairs with the one in `work_in_sight`. For counters that are not
        // one word, it also pairs with the fences that their README names. The job is stored before
        // the fence, and the count of searching workers is read after it. If that count still shows
        // the last searching worker, it stops searching later. It then scans for work after its own
        // fence, and sees the job. Without this fence, a job pushed beside a shared one would be
        // left to a searching worker that has taken the shared one and gone.
        fence(Ordering::SeqCst);
        // Thieves may have taken the shared jobs, so to other workers the queue may have been
        // empty.
        self.notify_job(is_news);
    }

    /// Returns whether no worker runs a job or other user code, if searching workers are counted.
    fn everybody_is_idle(&self) -> bool {
        C::COUNTS_SEARCHERS && self.counters.inactive() == self.slots.len()
    }
}
