//! How a worker offers its jobs to others, and asks others for theirs: at once, or with the feature `demand` only when
//! somebody is idle.

// The deque of `demand` needs atomics of 64 bits. On a target without, jobs are offered at once.
#[cfg(not(all(feature = "demand", target_has_atomic = "64")))]
pub(crate) use at_once::{JobDeque, JobStealer, Offers};
#[cfg(all(feature = "demand", target_has_atomic = "64"))]
pub(crate) use on_demand::{JobDeque, JobStealer, Offers};

/// What this file adds to the variant's name.
pub(crate) const MODIFIER: &str = match (cfg!(feature = "demand"), cfg!(target_has_atomic = "64")) {
    (true, true) => "+demand",
    (true, false) => "+demand-is-missing-here",
    (false, _) => "",
};

/// Every push is announced, so there is nothing to ask for.
#[cfg(not(all(feature = "demand", target_has_atomic = "64")))]
mod at_once {
    use std::fmt;

    use crate::job::JobRef;
    use crate::registry::Worker;
    use crate::sleep::IdlePeriod;

    pub(crate) use crate::deque::{Deque as JobDeque, Stealer as JobStealer};

    /// What a pool has for offers: nothing.
    pub(crate) struct Offers;

    /// Where a pushed job lies: the deque does not tell.
    pub(crate) struct Place;

    // With the feature there is something to take.
    #[allow(clippy::unused_self)]
    impl Offers {
        pub(crate) fn new() -> Self {
            Self
        }

        /// A deque whose owner takes the newest job first.
        pub(crate) fn new_lifo(&self) -> JobDeque<JobRef> {
            JobDeque::new_lifo()
        }

        /// Adds nothing to the description of a pool.
        pub(in crate::registry) fn describe(&self, _pool: &mut fmt::DebugStruct<'_, '_>) {}
    }

    // With the feature there is something to take.
    #[allow(clippy::unused_self)]
    impl Worker {
        /// Puts `job` on the own deque, where thieves find it, and wakes one if need be. Returns its [place](Place).
        #[inline]
        pub(crate) fn push(&self, job: JobRef) -> Place {
            self.push_in_public(&self.deque, job, || ());
            Place
        }

        /// Not without a pop.
        #[inline]
        pub(crate) fn try_take_back(&self, _place: Place) -> bool {
            false
        }

        /// A search begins.
        #[inline]
        pub(in crate::registry) fn ask_for_jobs(&self) {
            let Offers = self.registry.offers;
        }

        /// A search has ended.
        #[inline]
        pub(in crate::registry) fn stop_asking(&self) {}

        /// A search was in vain: looks for what it could not see.
        #[inline]
        pub(in crate::registry) fn look_closer(&self, _idle: &IdlePeriod) -> Option<JobRef> {
            None
        }

        /// A job from anywhere, for a worker that is not counted as idle, and does not search again.
        // Not inlined, as `find_job`.
        #[inline(never)]
        pub(crate) fn find_any_job(&self) -> Option<JobRef> {
            self.find_job()
        }

        /// Whether pushes rely on a look over every deque before a worker blocks.
        #[inline]
        pub(in crate::registry) fn scans_before_blocking(&self) -> bool {
            false
        }

        /// The worker is about to block, and looks over every deque next.
        #[inline]
        pub(in crate::registry) fn ask_before_blocking(&self) {}
    }
}

/// A job is its worker's alone until somebody is idle.
#[cfg(all(feature = "demand", target_has_atomic = "64"))]
mod on_demand {
    use std::fmt;

    use crate::deque::settle;
    use crate::hooks::{self, Event};
    use crate::job::JobRef;
    use crate::registry::Worker;
    use crate::sleep::{Demand, IdlePeriod};
    use crate::sync::modelled::Fences;

    pub(crate) use crate::deque::jobs::{JobDeque, JobStealer};

    /// Where a pushed job lies: at an index of its deque, or in one that does not tell.
    pub(crate) struct Place(Option<u64>);

    /// At how many workers a search in vain looks closer. To look takes a line that its owner writes with every push and
    /// pop; others search, too, and before one of them sleeps it looks at all. Where jobs are long, at twice as many with
    /// each search: their owners do not write, and show nothing either. Where each CPU has several workers, at all of them: to
    /// come again takes turns of the others.
    const LOOKED_AT: usize = 1;

    /// More workers than that are in no pool.
    const MOST_DOUBLINGS: u32 = 16;

    /// What a pool has for offers.
    pub(crate) struct Offers {
        demand: Demand,
    }

    impl Offers {
        pub(crate) fn new() -> Self {
            Self { demand: Demand::new(Fences::cheapest()) }
        }

        /// A deque whose owner takes the newest job first.
        pub(crate) fn new_lifo(&self) -> JobDeque<JobRef> {
            JobDeque::new_lifo(self.demand.fences)
        }

        /// Adds whether somebody asks for jobs, and whether pushes and pops fence, to the description of a pool.
        pub(in crate::registry) fn describe(&self, pool: &mut fmt::DebugStruct<'_, '_>) {
            pool.field("demand", &self.demand.is_there());
            pool.field("fences", &format_args!("{}", self.demand.fences.name()));
        }
    }

    impl Worker {
        /// Puts `job` on the own deque. Only if somebody is idle, it is shown to thieves, and one is woken if need be.
        /// Returns its [place](Place).
        #[inline]
        pub(crate) fn push(&self, job: JobRef) -> Place {
            match &self.deque {
                JobDeque::OnDemand(deque) => {
                    let index = deque.push(job);
                    hooks::count(Event::Push);
                    if self.registry.offers.demand.is_there() {
                        self.registry.offers.demand.answer(deque, &self.registry.sleep);
                    }
                    Place(Some(index))
                }
                JobDeque::Fifo(deque) => {
                    self.push_in_public(deque, job, Demand::after_public_push);
                    Place(None)
                }
            }
        }

        /// Takes a job back, if that needs no look at it: `true` if the job is the newest of the own deque, and nobody
        /// else may take it. The caller knows that this worker has not run it.
        #[inline]
        pub(crate) fn try_take_back(&self, place: Place) -> bool {
            let (JobDeque::OnDemand(deque), Place(Some(index))) = (&self.deque, place) else {
                return false;
            };
            let is_back = deque.try_take_back(index);
            hooks::count_if(is_back, Event::Pop);
            is_back
        }

        /// A search begins.
        #[inline]
        pub(in crate::registry) fn ask_for_jobs(&self) {
            if self.are_pushes_silent() {
                self.registry.offers.demand.ask();
            }
        }

        /// A search has ended.
        #[inline]
        pub(in crate::registry) fn stop_asking(&self) {
            if self.are_pushes_silent() {
                Demand::after_search();
            }
        }

        /// A search was in vain: asks again, first all, by the demand, and one other worker that has jobs, and later takes a
        /// job that its owner has not shown.
        #[inline]
        pub(in crate::registry) fn look_closer(&self, idle: &IdlePeriod) -> Option<JobRef> {
            self.ask_for_jobs();
            if !idle.wants_closer_look() {
                return None;
            }
            let in_vain = idle.searches_in_vain();
            let is_costly = self.patience.shares_cpus();
            let doublings = if is_costly {
                MOST_DOUBLINGS
            } else if self.patience.finds_long_jobs() {
                in_vain.saturating_sub(2).min(MOST_DOUBLINGS)
            } else {
                0
            };
            // A worker that has jobs gets a moment to show some by itself, and a second one unless that costs a turn, or the
            // worker has not stirred.
            let looked_at = self.victims().take(LOOKED_AT << doublings);
            self.steal_private(looked_at.filter(|victim| {
                let is_due = match in_vain {
                    0 => false,
                    1 => is_costly || !victim.has_stirred(),
                    _ => true,
                };
                if !is_due {
                    victim.ask();
                }
                is_due
            }))
        }

        /// A job from anywhere, for a worker that is not counted as idle, and does not search again.
        // Not inlined, as `find_job`.
        #[inline(never)]
        pub(crate) fn find_any_job(&self) -> Option<JobRef> {
            let job = self
                .take_local()
                .or_else(|| self.steal())
                .or_else(|| self.steal_private(self.victims()));
            job.or_else(|| self.take_injected())
        }

        /// Whether pushes may go unannounced: not if the jobs have their order from the other deque, nor if there is nobody
        /// else.
        #[inline]
        fn are_pushes_silent(&self) -> bool {
            matches!(self.deque, JobDeque::OnDemand(_)) && self.registry.num_threads() > 1
        }

        /// Whether pushes rely on a look over every deque before a worker blocks: silent ones, and public ones, which fence
        /// for it.
        #[inline]
        pub(in crate::registry) fn scans_before_blocking(&self) -> bool {
            self.registry.num_threads() > 1
        }

        /// The worker is about to block, and looks over every deque next.
        pub(in crate::registry) fn ask_before_blocking(&self) {
            if self.are_pushes_silent() {
                self.registry.offers.demand.before_scan(&self.registry.sleep);
            }
        }

        /// Makes jobs of one of these workers public in its stead, and takes one.
        #[cold]
        #[inline(never)]
        fn steal_private<'v>(
            &self,
            victims: impl Iterator<Item = &'v JobStealer<JobRef>>,
        ) -> Option<JobRef> {
            if !self.are_pushes_silent() {
                return None;
            }
            for victim in victims.filter(|victim| victim.expose_for_owner()) {
                hooks::count(Event::StealTried);
                if let Some(job) = settle(|| victim.steal()) {
                    hooks::count(Event::StealWon);
                    return Some(job);
                }
            }
            None
        }
    }

    #[cfg(all(test, not(fork_loom)))]
    mod tests {
        use std::time::{Duration, Instant};

        #[test]
        fn a_pool_shows_that_an_idle_worker_asks_and_who_fences() {
            let pool = crate::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
            let by_kernel = cfg!(all(target_os = "linux", not(miri)));
            let wanted =
                format!("demand: true, fences: {}", if by_kernel { "membarrier" } else { "full" });
            let start = Instant::now();
            while !format!("{pool:?}").contains(&wanted) {
                assert!(start.elapsed() < Duration::from_secs(20), "{wanted} is not in {pool:?}");
                std::thread::yield_now();
            }
        }
    }
}
