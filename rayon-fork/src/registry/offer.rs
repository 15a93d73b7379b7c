//! How a worker offers its jobs to others, and asks others for theirs: at once, or with the feature `demand` only when
//! somebody is idle.

use super::worker::Worker;
#[cfg(feature = "demand")]
use crate::deque::{JobDeque, settle};
use crate::hooks::{self, Event};
use crate::job::JobRef;
use crate::sleep::IdlePeriod;

/// Every push is announced, so there is nothing to ask for.
#[cfg(not(feature = "demand"))]
// With the feature there is something to take.
#[allow(clippy::unused_self)]
impl Worker {
    /// Puts `job` on the own deque, where thieves find it, and wakes one if need be.
    #[inline]
    pub(crate) fn push(&self, job: JobRef) {
        let queue_was_empty = self.deque.is_empty();
        self.deque.push(job);
        hooks::count(Event::Push);
        self.registry.sleep.job_pushed(queue_was_empty);
    }

    /// A search begins.
    #[inline]
    pub(super) fn ask_for_jobs(&self) {}

    /// A search was in vain: looks for what it could not see.
    #[inline]
    pub(super) fn look_closer(&self, _idle: &IdlePeriod) -> Option<JobRef> {
        None
    }

    /// A job from anywhere, for a worker that is not counted as idle, and does not search again.
    #[inline]
    // Not inlined, as `find_job`.
    #[inline(never)]
    pub(crate) fn find_any_job(&self) -> Option<JobRef> {
        self.find_job()
    }

    /// Whether pushes may go unannounced.
    #[inline]
    pub(super) fn are_pushes_silent(&self) -> bool {
        false
    }

    /// The worker is about to block, and looks over every deque next.
    #[inline]
    pub(super) fn ask_before_blocking(&self) {}
}

#[cfg(feature = "demand")]
impl Worker {
    /// Puts `job` on the own deque. Only if somebody is idle, it is shown to thieves, and one is woken if need be.
    #[inline]
    pub(crate) fn push(&self, job: JobRef) {
        match &self.deque {
            JobDeque::OnDemand(deque) => {
                deque.push(job);
                hooks::count(Event::Push);
                if self.registry.demand.is_there() {
                    self.registry.demand.answer(deque, &self.registry.sleep);
                }
            }
            JobDeque::Fifo(deque) => {
                let queue_was_empty = deque.is_empty();
                deque.push(job);
                hooks::count(Event::Push);
                self.registry.sleep.job_pushed(queue_was_empty);
            }
        }
    }

    /// A search begins.
    #[inline]
    pub(super) fn ask_for_jobs(&self) {
        if self.are_pushes_silent() {
            self.registry.demand.ask();
        }
    }

    /// A search was in vain: asks again, and at times takes a job that its owner has not shown.
    #[inline]
    pub(super) fn look_closer(&self, idle: &IdlePeriod) -> Option<JobRef> {
        self.ask_for_jobs();
        if idle.wants_closer_look() { self.steal_private() } else { None }
    }

    /// A job from anywhere, for a worker that is not counted as idle, and does not search again.
    // Not inlined, as `find_job`.
    #[inline(never)]
    pub(crate) fn find_any_job(&self) -> Option<JobRef> {
        let job = self.take_local().or_else(|| self.steal()).or_else(|| self.steal_private());
        job.or_else(|| self.take_injected())
    }

    /// Whether pushes may go unannounced: not if the jobs have their order from the other deque, nor if there is nobody
    /// else.
    #[inline]
    pub(super) fn are_pushes_silent(&self) -> bool {
        matches!(self.deque, JobDeque::OnDemand(_)) && self.registry.num_threads() > 1
    }

    /// The worker is about to block, and looks over every deque next.
    pub(super) fn ask_before_blocking(&self) {
        if self.are_pushes_silent() {
            self.registry.demand.before_scan();
            hooks::count(Event::HeavyFence);
        }
    }

    /// Makes jobs of another worker public in its stead, and takes one.
    #[cold]
    #[inline(never)]
    fn steal_private(&self) -> Option<JobRef> {
        if !self.are_pushes_silent() {
            return None;
        }
        let stealers = &*self.registry.stealers;
        let (before, from) = stealers.split_at(self.rng.below(stealers.len()));
        let first = before.len();
        let from = from.iter().enumerate().map(|(i, victim)| (first + i, victim));
        for (index, victim) in from.chain(before.iter().enumerate()) {
            if index == self.index || !victim.expose_for_owner() {
                continue;
            }
            hooks::count(Event::StealTried);
            if let Some(job) = settle(|| victim.steal()) {
                hooks::count(Event::StealWon);
                return Some(job);
            }
        }
        None
    }
}
