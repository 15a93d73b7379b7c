//! How a worker deals its jobs to those that wait for one, and waits itself. Without the feature
//! `deal`, nothing.

use super::{Registry, Worker};
use crate::core_latch::CoreLatch;
use crate::deque::deal::Deal;
use crate::deque::{SHARES_LAZILY, settle};
use crate::hooks::{self, Event};
use crate::job::JobRef;
use crate::sleep::Queues as _;
use crate::sync::hint;

/// Whether jobs are dealt. A browser's `Instant` panics.
pub(super) const DEALS: bool = IS_ON && !cfg!(target_family = "wasm");
const IS_ON: bool = SHARES_LAZILY && cfg!(feature = "deal");

/// What this file adds to the variant's name.
pub(crate) const MODIFIER: &str = if IS_ON { "+deal" } else { "" };

/// Looks at its own mailbox in a row. A guess.
const PROBES: u32 = 32;

/// After so many rows it looks at others' jobs. A guess: some microseconds.
const ROUNDS_UNTIL_LOOK: u32 = 8;

/// After so many it asks for jobs that nobody shows.
const ROUNDS_UNTIL_ASK: u32 = 32;

impl Registry {
    /// The mailboxes, where jobs are dealt.
    #[inline]
    fn mailboxes(&self) -> Option<&Deal> {
        self.deal.first()
    }

    /// Gives `job` to a worker that waits for one, if any does. Else gives it back.
    pub(super) fn deal_from_outside(&self, job: JobRef) -> Result<(), JobRef> {
        // Who waits has asked; and what was injected came before.
        match self.mailboxes() {
            Some(deal) if self.sleep.wants_jobs() && self.injector.is_empty() => {
                deal.deal_from_outside(job)?;
            }
            _ => return Err(job),
        }
        hooks::count(Event::Injection);
        Ok(())
    }
}

impl Worker {
    /// The worker has pushed a job, and there is demand: deals one to a worker that waits. `false`
    /// if there are jobs that nobody may know of, while somebody may sleep.
    #[inline]
    pub(super) fn deals(&self) -> bool {
        DEALS && self.deal_one()
    }

    // Not inlined, as `answer`.
    #[cold]
    #[inline(never)]
    fn deal_one(&self) -> bool {
        // Who waited is awake, and runs that one next or injects it. Of others a sleeper must hear
        // as if nothing had been dealt: no model shows what goes wrong otherwise, as the sleeper
        // would have to see the deal, and not the push before.
        self.deal_oldest() && (self.deque.is_empty() || !self.registry.sleep.somebody_sleeps())
    }

    /// The newest job was taken back, and runs next: deals the oldest of those that are left.
    #[inline]
    pub(super) fn job_popped(&self) {
        if DEALS && self.registry.sleep.wants_jobs() {
            self.deal_left();
        }
    }

    // Not inlined, as `answer`.
    #[cold]
    #[inline(never)]
    fn deal_left(&self) {
        if !self.deque.is_empty() {
            self.deal_oldest();
        }
    }

    fn deal_oldest(&self) -> bool {
        let mailboxes = self.registry.mailboxes();
        mailboxes.is_some_and(|deal| deal.deal(self.index, || self.deque.take_oldest()))
    }

    /// Before a search: waits for a job to be dealt, as long as that was worth it lately. The
    /// worker does not count as idle, and nobody relies on it.
    // Not inlined, as `find_job`.
    #[inline(never)]
    pub(super) fn await_job(&self, latch: &CoreLatch) -> Option<JobRef> {
        let deal = self
            .registry
            .mailboxes()
            .filter(|_| self.registry.sleep.are_pushes_silent())?;
        if !self.patience.begins_to_wait(latch) {
            return None;
        }
        deal.open(self.index);
        let (mut found, mut dealt) = (None, None);
        let mut rounds = 0;
        let mut is_in_vain = false;
        let is_over = || !deal.is_open(self.index) || latch.probe();
        while !self.has_broadcasts() {
            // Whoever has public jobs for which nobody comes clears it, though this worker waits.
            self.registry.sleep.ask_for_jobs();
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
            let looks = rounds % ROUNDS_UNTIL_LOOK == 0;
            if !looks && !self.has_injected() {
                continue;
            }
            // First what was dealt: it is older than what its owner shows.
            dealt = deal.close(self.index);
            if dealt.is_some() {
                break;
            }
            found = self.take_injected();
            if found.is_none() && looks {
                found = self.look_around(rounds);
            }
            if found.is_some() {
                break;
            }
            deal.open_again(self.index);
            // A public job says that others deal: by simulation, who then leaves out a wait makes
            // regions dearer.
            is_in_vain = looks && !self.patience.waits_on();
            if is_in_vain {
                break;
            }
        }
        let dealt = dealt.or_else(|| deal.close(self.index));
        self.patience.ends_to_wait(dealt.is_some(), is_in_vain);
        found = found.or_else(|| self.take_broadcast());
        let Some(dealt) = dealt else { return found };
        if found.is_none() && !latch.probe() {
            Self::count_theft(true);
            return Some(dealt);
        }
        // Anybody's, who counts its take, and not on the own deque: `yield_local` runs only what
        // its worker has pushed.
        self.registry.queue_injected(dealt);
        found
    }

    /// While the worker waits: a job that others show. Now and then asks one of them.
    fn look_around(&self, rounds: u32) -> Option<JobRef> {
        let found = self.victims().take(2).find_map(|victim| {
            let job = settle(|| victim.steal());
            Self::count_theft(job.is_some());
            job
        });
        if let (None, 0, Some(victim)) = (&found, rounds % ROUNDS_UNTIL_ASK, self.victims().next())
        {
            victim.ask();
        }
        found
    }

    /// A dealt job counts as a stolen one.
    fn count_theft(is_won: bool) {
        hooks::count(Event::StealTried);
        hooks::count_if(is_won, Event::StealWon);
    }

    /// After some searches in vain: a job that was dealt to a worker which does not take it, having
    /// lost its CPU.
    pub(super) fn take_dealt(&self, in_vain: u32) -> Option<JobRef> {
        let deal = self.registry.mailboxes().filter(|_| in_vain >= 2)?;
        let job = deal.take_from(self.rng.below(self.registry.num_threads()));
        Self::count_theft(job.is_some());
        job
    }

    /// For a worker that is not counted as idle: a job that was dealt to any.
    pub(super) fn take_any_dealt(&self) -> Option<JobRef> {
        let deal = self.registry.mailboxes()?;
        let job = (0..self.registry.num_threads()).find_map(|worker| deal.take_from(worker));
        job.inspect(|_| Self::count_theft(true))
    }
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::{DEALS, Deal};
    use crate::registry::Worker;
    use crate::{ThreadPool, ThreadPoolBuilder};

    fn mailboxes(pool: &ThreadPool) -> &Deal {
        pool.registry().mailboxes().expect("jobs are dealt")
    }

    /// A pool of two, of which one worker calls `body`. The other is in a job meanwhile, but seems
    /// to wait, as if it had lost its CPU.
    fn whose_other_worker_only_seems_to_wait(body: impl FnOnce(&ThreadPool) + Send) {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let (is_busy, is_over) = (AtomicBool::new(false), AtomicBool::new(false));
        let wait_for = |flag: &AtomicBool| {
            while !flag.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
        };
        let act = || {
            wait_for(&is_busy);
            mailboxes(&pool).open(1 - crate::current_thread_index().unwrap());
            pool.registry().sleep.ask_for_jobs();
            body(&pool);
            is_over.store(true, Ordering::Release);
        };
        let be_busy = || {
            is_busy.store(true, Ordering::Release);
            wait_for(&is_over);
        };
        pool.install(|| crate::join(act, be_busy));
    }

    #[test]
    fn a_worker_that_yields_takes_a_job_that_was_dealt_to_one_that_has_no_cpu() {
        if !DEALS {
            return;
        }
        whose_other_worker_only_seems_to_wait(|_| {
            let is_done = Arc::new(AtomicBool::new(false));
            let done = Arc::clone(&is_done);
            crate::spawn(move || done.store(true, Ordering::Release));
            assert!(
                !Worker::with_current(|worker| worker.unwrap().has_local_jobs()),
                "it was not dealt"
            );
            crate::yield_now();
            assert!(is_done.load(Ordering::Acquire));
        });
    }

    #[test]
    fn nothing_is_dealt_from_outside_before_what_was_injected() {
        if !DEALS {
            return;
        }
        whose_other_worker_only_seems_to_wait(|pool| {
            let from_outside =
                || std::thread::scope(|scope| drop(scope.spawn(|| pool.spawn(|| ())).join()));
            from_outside();
            assert!(pool.registry().injector.is_empty(), "it was not dealt");
            // The mailbox is full, so this one is injected.
            from_outside();
            let worker = Worker::with_current(|worker| worker.unwrap().take_any_dealt()).unwrap();
            mailboxes(pool).open(1 - crate::current_thread_index().unwrap());
            from_outside();
            assert_eq!(pool.registry().injector.len(), 2);
            worker.execute();
        });
    }
}
