//! How a worker offers its jobs to others, and asks others for theirs: at once, or with the feature `demand` only when
//! somebody is idle.

// The deque of `demand` needs atomics of 64 bits. On a target without, jobs are offered at once.
#[cfg(not(all(feature = "demand", target_has_atomic = "64")))]
pub(crate) use at_once::{JobDeque, JobStealer, Offers};
#[cfg(all(feature = "demand", target_has_atomic = "64"))]
pub(crate) use on_demand::{JobDeque, JobStealer, Offers};

/// What this file adds to the variant's name.
pub(crate) const MODIFIER: &str = match (cfg!(feature = "demand"), cfg!(target_has_atomic = "64")) {
    (true, true) if cfg!(feature = "deal") => "+demand+deal",
    (true, true) => "+demand",
    (true, false) => "+demand-is-missing-here",
    (false, _) => "",
};

/// Every push is announced, so there is nothing to ask for.
#[cfg(not(all(feature = "demand", target_has_atomic = "64")))]
mod at_once {
    use std::fmt;

    use crate::core_latch::CoreLatch;
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
        pub(crate) fn new(_workers: usize) -> Self {
            Self
        }

        /// Nobody waits for a job.
        pub(crate) fn deal_from_outside(&self, job: JobRef) -> Result<(), JobRef> {
            Err(job)
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

        /// Nobody waits for those that are left.
        #[inline]
        pub(in crate::registry) fn job_popped(&self) {}

        /// Not at all.
        #[inline]
        pub(in crate::registry) fn await_job(&self, _latch: &CoreLatch) -> Option<JobRef> {
            None
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

    use crate::core_latch::CoreLatch;
    use crate::deque::deal::Deal;
    use crate::deque::{on_demand, settle};
    use crate::hooks::{self, Event};
    use crate::job::JobRef;
    use crate::registry::Worker;
    use crate::sleep::{Demand, IdlePeriod, Queues as _};
    use crate::sync::hint;
    use crate::sync::modelled::Fences;

    pub(crate) use crate::deque::jobs::{JobDeque, JobStealer};

    /// Where a pushed job lies: at an index of its deque, or in one that does not tell.
    pub(crate) struct Place(Option<u64>);

    /// At how many workers a search in vain looks closer. To look takes a line that its owner writes with every push
    /// and pop; others search, too, and before one of them sleeps it looks at all. Where jobs are long, at twice as
    /// many with each search: their owners do not write, and show nothing either. Where each CPU has several workers,
    /// at all of them: to come again takes turns of the others.
    const LOOKED_AT: usize = 1;

    /// More workers than that are in no pool.
    const MOST_DOUBLINGS: u32 = 16;

    /// What a pool has for offers.
    pub(crate) struct Offers {
        demand: Demand,
        deal: Deal,
    }

    /// Whether jobs are dealt to those that wait for one. A browser's `Instant` panics.
    const DEALS: bool = cfg!(feature = "deal") && !cfg!(target_family = "wasm");

    /// Looks at its own mailbox in a row. A guess.
    const PROBES: u32 = 32;

    /// After so many rows it looks at others' jobs. A guess: some microseconds.
    const ROUNDS_UNTIL_LOOK: u32 = 8;

    /// After so many it asks for jobs that nobody shows.
    const ROUNDS_UNTIL_ASK: u32 = 32;

    impl Offers {
        pub(crate) fn new(workers: usize) -> Self {
            let deal = Deal::new(if DEALS { workers } else { 0 });
            Self { demand: Demand::new(Fences::cheapest()), deal }
        }

        /// Gives `job` to a worker that waits for one, if any does. Else gives it back.
        pub(crate) fn deal_from_outside(&self, job: JobRef) -> Result<(), JobRef> {
            // Who waits has asked.
            if !DEALS || !self.demand.is_there() {
                return Err(job);
            }
            self.deal.deal_from_outside(job)?;
            hooks::count(Event::Injection);
            Ok(())
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
                    hooks::count(Event::Push);
                    let index = deque.push(job);
                    let Self { registry, .. } = self;
                    if registry.offers.demand.is_there() && !self.deals(deque) {
                        registry.offers.demand.answer(deque, &registry.sleep);
                    }
                    Place(Some(index))
                }
                JobDeque::Fifo(deque) => {
                    self.push_in_public(deque, job, Demand::after_public_push);
                    Place(None)
                }
            }
        }

        /// Deals a job to a worker that waits for one. `false` if there are jobs that nobody may know of, while
        /// somebody may sleep.
        #[inline]
        fn deals(&self, deque: &on_demand::Deque<JobRef>) -> bool {
            DEALS && self.deal_one(deque)
        }

        // Not inlined, as `answer`.
        #[cold]
        #[inline(never)]
        fn deal_one(&self, deque: &on_demand::Deque<JobRef>) -> bool {
            let Self { registry, index, .. } = self;
            if !registry.offers.deal.deal(*index, || deque.take_oldest()) {
                return false;
            }
            // Who waited is awake, and runs that one next. Of others a sleeper must hear as if nothing had been dealt:
            // no model shows what goes wrong otherwise, as the sleeper would have to see the deal, and not the push
            // before.
            deque.is_empty() || !registry.sleep.somebody_sleeps()
        }

        /// Before a search: waits for a job to be dealt, as long as that was worth it lately. The worker does not count
        /// as idle, and nobody relies on it.
        // Not inlined, as `find_job`.
        #[inline(never)]
        pub(in crate::registry) fn await_job(&self, latch: &CoreLatch) -> Option<JobRef> {
            if !DEALS || !self.are_pushes_silent() || !self.patience.begins_to_wait(latch) {
                return None;
            }
            let deal = &self.registry.offers.deal;
            deal.open(self.index);
            let mut found = None;
            let mut rounds = 0;
            let mut is_in_vain = false;
            let is_over = || !deal.is_open(self.index) || latch.probe();
            while !self.has_broadcasts() {
                // Whoever has public jobs for which nobody comes clears it, though this worker waits.
                self.registry.offers.demand.ask();
                for _ in 0..PROBES {
                    if is_over() {
                        break;
                    }
                    hint::spin_loop();
                }
                if is_over() {
                    break;
                }
                rounds += 1;
                found = self.take_injected();
                if found.is_none() && rounds % ROUNDS_UNTIL_LOOK == 0 {
                    found = self.look_around(rounds);
                    // A public job says that others deal: by simulation, who then leaves out a wait makes regions
                    // dearer.
                    is_in_vain = found.is_none() && !self.patience.waits_on();
                    deal.show_again(self.index);
                }
                if found.is_some() || is_in_vain {
                    break;
                }
            }
            let dealt = deal.close(self.index);
            self.patience.ends_to_wait(dealt.is_some(), is_in_vain);
            found = found.or_else(|| self.take_broadcast());
            let Some(dealt) = dealt else { return found };
            if found.is_none() && !latch.probe() {
                Self::count_theft(true);
                return Some(dealt);
            }
            // Anybody's, who counts its take, and not on the own deque: `yield_local` runs only what its worker has
            // pushed.
            self.registry.queue_injected(dealt);
            found
        }

        /// A dealt job counts as a stolen one.
        fn count_theft(is_won: bool) {
            hooks::count(Event::StealTried);
            hooks::count_if(is_won, Event::StealWon);
        }

        /// While the worker waits: a job that others show. Now and then asks one of them.
        fn look_around(&self, rounds: u32) -> Option<JobRef> {
            let found = self.victims().take(2).find_map(|victim| {
                let job = settle(|| victim.steal());
                Self::count_theft(job.is_some());
                job
            });
            if let (None, 0, Some(victim)) = (&found, rounds % ROUNDS_UNTIL_ASK, self.victims().next()) {
                victim.ask();
            }
            found
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
            if is_back {
                self.job_popped();
            }
            is_back
        }

        /// The newest job was taken back, and runs next: deals the oldest of those that are left.
        #[inline]
        pub(in crate::registry) fn job_popped(&self) {
            if let (true, JobDeque::OnDemand(deque)) = (DEALS, &self.deque) {
                if self.registry.offers.demand.is_there() {
                    self.deal_left(deque);
                }
            }
        }

        // Not inlined, as `answer`.
        #[cold]
        #[inline(never)]
        fn deal_left(&self, deque: &on_demand::Deque<JobRef>) {
            if !deque.is_empty() {
                self.registry.offers.deal.deal(self.index, || deque.take_oldest());
            }
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

        /// A search was in vain: asks again, first all, by the demand, and one other worker that has jobs, and later
        /// takes a job that its owner has not shown.
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
            if let Some(job) = self.take_dealt(in_vain) {
                return Some(job);
            }
            // A worker that has jobs gets a moment to show some by itself, and a second one unless that costs a turn,
            // or the worker has not stirred.
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

        /// After some searches in vain: a job that was dealt to a worker which does not take it, having lost its CPU.
        fn take_dealt(&self, in_vain: u32) -> Option<JobRef> {
            if !DEALS || in_vain < 2 || !self.are_pushes_silent() {
                return None;
            }
            let job = self.registry.offers.deal.take_from(self.rng.below(self.registry.num_threads()));
            Self::count_theft(job.is_some());
            job
        }

        /// A job from anywhere, for a worker that is not counted as idle, and does not search again.
        // Not inlined, as `find_job`.
        #[inline(never)]
        pub(crate) fn find_any_job(&self) -> Option<JobRef> {
            let job = self.take_local().or_else(|| self.steal()).or_else(|| self.steal_private(self.victims()));
            job.or_else(|| self.take_injected())
        }

        /// Whether pushes may go unannounced: not if the jobs have their order from the other deque, nor if there is
        /// nobody else.
        #[inline]
        fn are_pushes_silent(&self) -> bool {
            matches!(self.deque, JobDeque::OnDemand(_)) && self.registry.num_threads() > 1
        }

        /// Whether pushes rely on a look over every deque before a worker blocks: silent ones, and public ones, which
        /// fence for it.
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
        fn steal_private<'v>(&self, victims: impl Iterator<Item = &'v JobStealer<JobRef>>) -> Option<JobRef> {
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
            let wanted = format!("demand: true, fences: {}", if by_kernel { "membarrier" } else { "full" });
            let start = Instant::now();
            while !format!("{pool:?}").contains(&wanted) {
                assert!(start.elapsed() < Duration::from_secs(20), "{wanted} is not in {pool:?}");
                std::thread::yield_now();
            }
        }
    }
}
