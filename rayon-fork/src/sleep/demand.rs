//! Whether anybody wants jobs: the word that a push looks at where jobs are private until somebody asks for them.
//!
//! Why nobody sleeps beside a private job is in `README.md`, section 10.

use crossbeam_utils::CachePadded;

use super::Sleep;
use super::counters::counts::Counts;
use super::parking::ParkingSlot;
use crate::deque::on_demand::{Answer, Deque, TwoWords};
use crate::hooks::{self, Event};
use crate::sync::modelled::{AtomicUsize, Fences, Ordering, fence};

/// On lines of its own, which every worker has while nothing changes.
pub(crate) struct Demand {
    /// 1 if somebody is idle, or was lately; 0 if nobody is, or somebody just began to be.
    pub(super) word: CachePadded<AtomicUsize>,
    /// Also those of the deques.
    pub(crate) fences: Fences,
}

impl Demand {
    /// Nobody wants a job. `fences` are those of the deques.
    pub(crate) fn new(fences: Fences) -> Self {
        Self { word: CachePadded::new(AtomicUsize::new(0)), fences }
    }

    /// Whether a push must be [answered](Self::answer).
    #[inline]
    pub(crate) fn is_there(&self) -> bool {
        // Relaxed: the light fence in `Deque::push` says what this may miss.
        self.word.load(Ordering::Relaxed) != 0
    }

    /// The calling worker searches. Called again with each search in vain, as somebody may have cleared it.
    #[inline]
    pub(crate) fn ask(&self) {
        if !self.is_there() {
            // Relaxed: whom it does not reach yet, it reaches later; before it blocks, the worker asks with a fence.
            self.word.store(1, Ordering::Relaxed);
        }
    }

    /// The calling worker is counted as asleep, and looks at every deque next, also for private jobs.
    pub(crate) fn before_scan<C: Counts, S: ParkingSlot>(&self, sleep: &Sleep<C, S>) {
        // ORDERING: SeqCst fence, pairs with the one in `clear`. The worker is counted, the demand set next: who clears
        // it later finds a sleeper.
        fence(Ordering::SeqCst);
        self.word.swap(1, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with the one in `after_search`. The demand is set, the counts are read next: a
        // worker that they show as idle and that stops searching finds the demand, and then the sleeper.
        fence(Ordering::SeqCst);
        if sleep.everybody_is_idle() {
            return;
        }
        // ORDERING: heavy fence, pairs with the light one in `Deque::push`. Sleeper and demand are visible, the jobs
        // are read next: a push whose job the scan misses finds the demand, and then the sleeper.
        self.fences.heavy();
        hooks::count(Event::HeavyFence);
    }

    /// The calling worker is not counted as idle any more, and may push next.
    #[inline]
    pub(crate) fn after_search() {
        // ORDERING: SeqCst fence, pairs with the second one in `before_scan`: who is about to block and still saw this
        // worker idle has set the demand, which the next push must find. No model shows what goes wrong without it; a
        // third worker would have to clear the demand just before, and this one to read it early.
        fence(Ordering::SeqCst);
    }

    /// The calling worker has pushed a job where all are public, and announces it next.
    #[inline]
    pub(crate) fn after_public_push() {
        // ORDERING: SeqCst fence, pairs with the one in `work_in_sight`, and with the one before a sleeper's scan. The
        // job is stored, the counts are read next: the last searching worker that this still shows leaves later, and a
        // sleeper that it misses registers later; both then look over every deque, and see the job.
        fence(Ordering::SeqCst);
    }

    /// A worker has pushed a job on `deque`, its own, and there is demand.
    // Not inlined: a push is in every frame that joins or spawns.
    #[cold]
    #[inline(never)]
    pub(crate) fn answer<T: TwoWords, C: Counts, S: ParkingSlot>(&self, deque: &Deque<T>, sleep: &Sleep<C, S>) {
        let answer = deque.answer();
        if answer == Answer::Exposed || sleep.somebody_sleeps() {
            sleep.job_offered();
        }
        if answer == Answer::Unwanted {
            self.try_clear(sleep);
        }
    }

    /// Nobody has come for public jobs in a while: clears the demand unless somebody is idle.
    fn try_clear<C: Counts, S: ParkingSlot>(&self, sleep: &Sleep<C, S>) {
        if !sleep.somebody_is_idle() {
            self.clear(sleep);
        }
    }

    /// Clears the demand, and sets it again if somebody is idle by then.
    pub(super) fn clear<C: Counts, S: ParkingSlot>(&self, sleep: &Sleep<C, S>) {
        self.word.swap(0, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with the one in `before_scan`. The demand is cleared, the sleepers are read
        // next: a sleeper that this misses sets the demand later.
        fence(Ordering::SeqCst);
        if sleep.somebody_is_idle() {
            // Relaxed: the slots' locks order it before the search of whom we wake, and others do not rely on it.
            self.word.swap(1, Ordering::Relaxed);
            // Somebody else may have pushed a job while there seemed to be no demand, and then not looked for sleepers.
            sleep.wake_one_if_asleep();
        }
    }
}

impl<C: Counts, S: ParkingSlot> Sleep<C, S> {
    /// Whether any worker sleeps. Asked after a push, behind its light fence.
    #[inline]
    pub(crate) fn somebody_sleeps(&self) -> bool {
        // ORDERING: the light fence of the push pairs with the heavy one in `before_scan`: a sleeper that this misses
        // counts itself later, and then finds the job before it blocks. One that did not fence heavily, as everybody
        // was idle, saw this worker idle, and so this worker's fence in `after_search` came later: it is not missed.
        self.counters.sleeping() > 0
    }

    /// There is demand, somebody may sleep, and a job was pushed, be it public or not: calls for a worker that looks
    /// for it, unless one searches.
    fn job_offered(&self) {
        // ORDERING: SeqCst fence, pairs with the one in `work_in_sight` and, for counters that are not one word, with
        // those of their README. The job is stored, the searching workers are read next: the last one that this still
        // shows stops searching later, looks for work behind its own fence, and sees the job. Without it a job that is
        // pushed beside a public one is left to a searcher that has taken the other and gone.
        fence(Ordering::SeqCst);
        // What was public may be gone, so the queue was empty, as far as others could see.
        self.announce_job(true);
    }

    /// Whether no worker runs a job or other code of users, as far as workers that search are counted.
    fn everybody_is_idle(&self) -> bool {
        C::COUNTS_SEARCHERS && self.counters.inactive() == self.slots.len()
    }

    /// Wakes a worker if any sleeps.
    fn wake_one_if_asleep(&self) {
        if self.somebody_sleeps() {
            self.wake_any(1);
        }
    }
}
