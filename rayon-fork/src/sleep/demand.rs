//! Whether anybody wants jobs: the word that a push looks at where jobs are private until somebody
//! asks for them.
//!
//! Why nobody sleeps beside a private job is in `README.md`, section 10.

use std::fmt;

use super::Sleep;
use super::parking::ParkingSlot;
use super::{IdlePeriod, Phase};
use crate::deque::Answer;
use crate::hooks::{self, Event};
use crate::sleep::counters::SleepCounters;
use crate::sync::AtomicUsize as UnmodelledUsize;
use crate::sync::modelled::{AtomicUsize, Fences, Ordering, fence};

/// Of what use it is to a pool.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Jobs {
    /// None: every push is announced, or nobody else is there.
    Announced,
    /// Jobs are public, as they have their order from the other deque. Pushes fence, and sleepers
    /// scan, for those that stop searching.
    Public,
    /// Jobs are private until somebody asks, so pushes go unannounced.
    Private,
}

/// For lines of its own, which every worker has while nothing changes.
pub(crate) struct Demand {
    /// 1 if somebody is idle, or was lately; 0 if nobody is, or somebody just began to be.
    pub(super) word: AtomicUsize,
    /// Also those of the deques.
    pub(super) fences: Fences,
    jobs: Jobs,
    /// 1 as soon as a worker has gone to register the process for the fences. Of the pool, not of
    /// the process: a child of `fork` has none of its parent's threads, and builds pools of its
    /// own. No part of any model.
    registrar: UnmodelledUsize,
    /// What a broken twin does in the place of [`before_scan`](Sleep::before_scan).
    #[cfg(all(test, fork_loom))]
    pub(super) before_scan: Option<fn(&Self)>,
}

impl Demand {
    /// Nobody wants a job. `fences` are those of the deques.
    pub(crate) fn new(jobs: Jobs, fences: Fences) -> Self {
        Self {
            word: AtomicUsize::new(0),
            fences,
            jobs,
            registrar: UnmodelledUsize::new(0),
            #[cfg(all(test, fork_loom))]
            before_scan: None,
        }
    }

    /// Adds whether somebody asks for jobs, and whether pushes and pops fence, to the description
    /// of a pool.
    pub(super) fn describe(&self, pool: &mut fmt::DebugStruct<'_, '_>) {
        pool.field("demand", &self.is_there());
        pool.field("fences", &format_args!("{}", self.fences.name()));
    }

    /// Whether a push must be [answered](Sleep::answer).
    #[inline]
    fn is_there(&self) -> bool {
        // Relaxed: the light fence in `Deque::push` says what this may miss.
        self.word.load(Ordering::Relaxed) != 0
    }

    /// Somebody wants jobs. Said again with each search in vain, as somebody may have cleared it.
    #[inline]
    pub(super) fn ask(&self) {
        if !self.is_there() {
            // Relaxed: whom it does not reach yet, it reaches later; before it blocks, the worker
            // asks with a fence.
            self.word.store(1, Ordering::Relaxed);
        }
    }
}

impl<C: SleepCounters, S: ParkingSlot> Sleep<C, S> {
    #[inline]
    fn jobs(&self) -> Jobs {
        self.demand
            .first()
            .map_or(Jobs::Announced, |demand| demand.jobs)
    }

    /// Whether pushes may go unannounced: then somebody who searches must ask for jobs.
    #[inline]
    pub(crate) fn are_pushes_silent(&self) -> bool {
        self.jobs() == Jobs::Private
    }

    /// The fences of deques whose jobs are private.
    pub(crate) fn fences(&self) -> Option<Fences> {
        self.demand.first().map(|demand| demand.fences)
    }

    /// Whether the calling worker, which is in its main loop and may block next, shall end this
    /// search and [register](Self::register) the process. `true` to one worker of a pool: the
    /// others stay ready for jobs.
    pub(crate) fn try_begin_registering(&self, idle: &IdlePeriod<'_>) -> bool {
        let Some(demand) = self.demand.first() else {
            return false;
        };
        matches!(idle.phase, Phase::Sleepy(_))
            && demand.fences.is_register_called_for()
            // Relaxed: nothing but the system call depends on it.
            && demand.registrar.swap(1, Ordering::Relaxed) == 0
    }

    /// Registers the process for the fences of deques. The kernel may take milliseconds over it; to
    /// all others, the calling worker is in a job meanwhile.
    #[cold]
    pub(crate) fn register(&self) {
        self.demand
            .iter()
            .for_each(|demand| demand.fences.register());
    }

    /// Whether a push must be [answered](Self::answer).
    #[inline]
    pub(crate) fn wants_jobs(&self) -> bool {
        self.demand.first().is_some_and(|demand| demand.is_there())
    }

    /// The calling worker has no job.
    #[inline]
    pub(crate) fn ask_for_jobs(&self) {
        if self.are_pushes_silent() {
            self.demand.iter().for_each(|demand| demand.ask());
        }
    }

    /// Whether pushes rely on a look over every deque before a worker blocks: silent ones, and
    /// public ones, which fence for it.
    #[inline]
    pub(super) fn scans_for_pushes(&self) -> bool {
        self.jobs() != Jobs::Announced
    }

    /// The calling worker is counted as asleep, and looks at every deque next, also for private
    /// jobs.
    pub(super) fn before_scan(&self) {
        let Some(demand) = self.demand.first().filter(|_| self.are_pushes_silent()) else {
            return;
        };
        #[cfg(all(test, fork_loom))]
        if let Some(twin) = demand.before_scan {
            return twin(demand);
        }
        // ORDERING: SeqCst fence, pairs with the one in `clear_demand`. The worker is counted, the
        // demand set next: who clears it later finds a sleeper.
        fence(Ordering::SeqCst);
        demand.word.swap(1, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with the one in `after_search`. The demand is set, the
        // counts are read next: a worker that they show as idle and that stops searching finds the
        // demand, and then the sleeper.
        fence(Ordering::SeqCst);
        if self.everybody_is_idle() {
            return;
        }
        // ORDERING: heavy fence, pairs with the light one in `Deque::push`. Sleeper and demand are
        // visible, the jobs are read next: a push whose job the scan misses finds the demand, and
        // then the sleeper.
        demand.fences.heavy();
        hooks::count(Event::HeavyFence);
    }

    /// The calling worker is not counted as idle any more, and may push next.
    #[inline]
    pub(super) fn after_search(&self) {
        if self.are_pushes_silent() {
            // ORDERING: SeqCst fence, pairs with the second one in `before_scan`: who is about to
            // block and still saw this worker idle has set the demand, which the next push must
            // find. No model shows what goes wrong without it; a third worker would have to clear
            // the demand just before, and this one to read it early.
            fence(Ordering::SeqCst);
        }
    }

    /// The calling worker has pushed a job that it announces next.
    #[inline]
    pub(super) fn after_public_push(&self) {
        if self.jobs() == Jobs::Public {
            // ORDERING: SeqCst fence, pairs with the one in `work_in_sight`, and with the one
            // before a sleeper's scan. The job is stored, the counts are read next: the last
            // searching worker that this still shows leaves later, and a sleeper that it misses
            // registers later; both then look over every deque, and see the job.
            fence(Ordering::SeqCst);
        }
    }

    /// The calling worker has pushed a job, there is demand, and `answer` is what its deque could
    /// do for that.
    pub(crate) fn answer(&self, answer: Answer) {
        if answer == Answer::Exposed || self.somebody_sleeps() {
            self.job_offered();
        }
        // Nobody has come for public jobs in a while.
        if answer == Answer::Unwanted && !self.somebody_is_idle() {
            self.clear_demand();
        }
    }

    /// Clears the demand, and sets it again if somebody is idle by then.
    pub(super) fn clear_demand(&self) {
        let Some(demand) = self.demand.first() else {
            return;
        };
        demand.word.swap(0, Ordering::Relaxed);
        // ORDERING: SeqCst fence, pairs with the one in `before_scan`. The demand is cleared, the
        // sleepers are read next: a sleeper that this misses sets the demand later.
        fence(Ordering::SeqCst);
        if self.somebody_is_idle() {
            // Relaxed: the slots' locks order it before the search of whom we wake, and others do
            // not rely on it.
            demand.word.swap(1, Ordering::Relaxed);
            // Somebody else may have pushed a job while there seemed to be no demand, and then not
            // looked for sleepers.
            if self.somebody_sleeps() {
                self.wake_any(1);
            }
        }
    }

    /// Whether any worker sleeps. Asked after a push, behind its light fence.
    #[inline]
    pub(crate) fn somebody_sleeps(&self) -> bool {
        // ORDERING: the light fence of the push pairs with the heavy one in `before_scan`: a
        // sleeper that this misses counts itself later, and then finds the job before it blocks.
        // One that did not fence heavily, as everybody was idle, saw this worker idle, and so this
        // worker's fence in `after_search` came later: it is not missed.
        self.counters.sleeping() > 0
    }

    /// There is demand, somebody may sleep, and a job was pushed, be it public or not: calls for a
    /// worker that looks for it, unless one searches.
    fn job_offered(&self) {
        // ORDERING: SeqCst fence, pairs with the one in `work_in_sight` and, for counters that are
        // not one word, with those of their README. The job is stored, the searching workers are
        // read next: the last one that this still shows stops searching later, looks for work
        // behind its own fence, and sees the job. Without it a job that is pushed beside a public
        // one is left to a searcher that has taken the other and gone.
        fence(Ordering::SeqCst);
        // What was public may be gone, so the queue was empty, as far as others could see.
        self.announce_job(true);
    }

    /// Whether no worker runs a job or other code of users, as far as workers that search are
    /// counted.
    fn everybody_is_idle(&self) -> bool {
        C::COUNTS_SEARCHERS && self.counters.inactive() == self.slots.len()
    }
}
