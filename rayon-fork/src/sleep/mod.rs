//! How long a worker searches, when it falls asleep, and which workers a thread wakes.
//!
//! This file has the order of steps, which all variants share. `counters/` counts workers, and
//! `parking.rs` blocks them. `README.md` argues why no wake-up is lost; comments cite its sections.

mod counters;
#[cfg_attr(
    not(any(fork_loom, all(feature = "demand", target_has_atomic = "64"))),
    path = "demand_off.rs"
)]
mod demand;
mod history;
mod parking;

#[cfg(all(test, fork_loom))]
pub(crate) mod models;
#[cfg(all(test, not(fork_loom)))]
mod tests;

pub(crate) use counters::MAX_WORKERS;
pub(crate) use history::SearchHistory;
#[allow(unused_imports)]
pub(crate) use history::{Backoff, cost_of_wake_ups};

use self::counters::dimensions::{Events, Fence, Propagation};
use self::counters::{EventsOf, FenceOf, PropagationOf, Selected, SleepCounters, SleepyTicket};
use self::demand::StealRequest;
use self::parking::{ParkingSlot, Slot};
use crate::core_latch::CoreLatch;
use crate::hooks::{self, Event};
use crate::sync::modelled::{Ordering, fence, yield_now};
use crossbeam_utils::CachePadded;
use std::fmt;
use std::time::Duration;

pub(crate) const VARIANT: &str = Selected::NAME;

#[cfg(feature = "instrument")]
pub(crate) fn uses_word(word: hooks::Word) -> bool {
    <Selected as SleepCounters>::uses(word)
}

/// The queues that a worker scans before it blocks. The results may err only towards `true`.
pub(crate) trait Queues {
    fn has_broadcasts(&self) -> bool;
    fn has_injected(&self) -> bool;
    /// Returns how many other workers have a job on their deques, or, if jobs are long, the number
    /// of these jobs; at most `at_most`.
    fn stealable(&self, at_most: usize) -> usize;

    /// Called when the worker is about to block. Returns `false` if the worker should search once
    /// more before it blocks.
    fn give_back(&self) -> bool {
        true
    }

    fn has_stealable(&self) -> bool {
        self.stealable(1) > 0
    }
}

/// One worker's search for work, from [`Sleep::begin_search`] to [`Sleep::end_search`].
pub(crate) struct IdlePeriod<'p> {
    worker: usize,
    phase: Phase,
    history: &'p SearchHistory,
}

assert_size!(IdlePeriod<'_>: 32);

#[derive(Clone, Copy)]
enum Phase {
    /// The worker goes on searching after `rounds_left` more unsuccessful searches, and spins or
    /// becomes sleepy after the next one.
    Searching { rounds_left: u32 },
    /// The worker has used up its rounds, and spins because few other workers search.
    Spinning,
    /// The worker searches once more, and then sleeps, unless a producer notifies the counters.
    Sleepy(SleepyTicket),
}

impl IdlePeriod<'_> {
    /// Returns whether an unsuccessful search may scan private jobs. After its last search before
    /// it sleeps, a worker need not scan private jobs, because it scans all jobs next.
    #[inline]
    pub(crate) fn may_scan_private_jobs(&self) -> bool {
        !matches!(self.phase, Phase::Sleepy(_))
    }

    /// Returns whether the worker spins or becomes sleepy if this search is unsuccessful.
    pub(crate) fn is_last_round(&self) -> bool {
        matches!(self.phase, Phase::Searching { rounds_left: 0 })
    }

    /// Returns how many earlier searches of this period were unsuccessful, up to
    /// [`SearchHistory::rounds`]. Searches that the worker has skipped count, too. So in a pool of
    /// more than three workers, a worker that was woken scans private jobs at once.
    pub(crate) fn unsuccessful_searches(&self) -> u32 {
        let rounds_left = match self.phase {
            Phase::Searching { rounds_left } => rounds_left,
            Phase::Spinning | Phase::Sleepy(_) => 0,
        };
        self.history.rounds(false) - rounds_left
    }

    fn restart(&mut self) {
        self.phase = Phase::Searching {
            rounds_left: self.history.rounds(true),
        };
    }

    /// The worker spins or becomes sleepy after one more unsuccessful search, not after all rounds.
    /// Call this when a producer has notified, or when the deque has memory left to free.
    fn search_once_more(&mut self) {
        self.phase = Phase::Searching { rounds_left: 0 };
    }
}

/// The searching and the sleeping workers of a pool, and the means to wake them.
pub(crate) struct Sleep<C = Selected, S = Slot> {
    counters: C,
    slots: Box<[CachePadded<S>]>,
    request: CachePadded<StealRequest>,
}

assert_size!(Sleep: (size_of::<Selected>() + 16).next_multiple_of(align_of::<Sleep>())
    + size_of::<CachePadded<StealRequest>>());

impl Sleep {
    /// Creates the state of a pool of `workers` active workers. If `is_fifo`, the workers take
    /// their oldest job first.
    pub(crate) fn new(workers: usize, is_fifo: bool) -> Self {
        // Reads the number of CPUs once for all workers; otherwise workers that start at the same
        // time would all read it.
        history::cpus();
        Self::with_request(workers, StealRequest::of_pool(workers, is_fifo))
    }
}

impl<C: SleepCounters, S: fmt::Debug> Sleep<C, S> {
    pub(crate) fn describe(&self, pool: &mut fmt::DebugStruct<'_, '_>) {
        pool.field("variant", &C::NAME)
            .field("sleeping", &self.counters.sleeping());
        if C::COUNTS_SEARCHERS {
            pool.field("inactive", &self.counters.inactive());
        }
        if EventsOf::<C>::COUNTED {
            pool.field("events", &self.counters.events());
        }
        pool.field(
            "workers",
            &self.slots.iter().map(|slot| &**slot).collect::<Vec<_>>(),
        );
        self.request.describe(pool);
    }
}

impl<C: SleepCounters, S: ParkingSlot> Sleep<C, S> {
    #[cfg(all(test, not(fork_loom)))]
    fn with_workers(workers: usize) -> Self {
        Self::with_request(workers, StealRequest::of_notified())
    }

    fn with_request(workers: usize, request: StealRequest) -> Self {
        assert!(
            workers <= MAX_WORKERS,
            "a pool of {workers} workers; {MAX_WORKERS} is the most that can be counted"
        );
        let slots = (0..workers).map(|_| CachePadded::new(S::new())).collect();
        Self {
            counters: C::new(workers),
            slots,
            request: CachePadded::new(request),
        }
    }

    pub(crate) fn history(&self) -> SearchHistory {
        SearchHistory::new(self.slots.len(), history::cpus())
    }

    #[inline]
    pub(crate) fn begin_search<'p>(
        &self,
        worker: usize,
        history: &'p SearchHistory,
    ) -> IdlePeriod<'p> {
        hooks::count(Event::Search);
        self.counters.begin_search(worker);
        self.request_jobs();
        IdlePeriod {
            worker,
            phase: Phase::Searching {
                rounds_left: history.rounds(false),
            },
            history,
        }
    }

    /// Call this when the worker found work, its latch was set, or it goes to register the process.
    /// Wakes sleepers that search in its place, because producers may have relied on the worker's
    /// search (README, section 6).
    #[inline]
    // Takes `idle` by value, because the caller must not use it again.
    #[allow(clippy::needless_pass_by_value)]
    pub(crate) fn end_search(&self, idle: IdlePeriod<'_>, queues: &impl Queues) {
        hooks::end_search();
        let history = idle.history;
        if matches!(idle.phase, Phase::Spinning) {
            history.was_worth_it();
        }
        let of_counters = self.counters.end_search(idle.worker);
        let of_queues = || {
            if of_counters > 0 {
                work_in_sight::<C>(queues, of_counters)
            } else if PropagationOf::<C>::SPINS {
                self.wanted_beside_searchers(history, queues)
            } else {
                0
            }
        };
        let sleepers_to_wake = if !PropagationOf::<C>::SCANS_FIRST {
            of_counters
        } else if history.is_oversubscribed() {
            self.wanted_beside_busy_workers().unwrap_or_else(of_queues)
        } else {
            of_queues()
        };
        if sleepers_to_wake > 0 {
            self.wake_any(sleepers_to_wake);
        }
    }

    /// In an oversubscribed pool, returns how many sleepers a worker that stops searching wakes: up
    /// to two, as in rayon-core. If workers looked for work first, those that often block while
    /// others are busy would steal about twice as many jobs, and rayon splits each stolen job again.
    /// Returns `None` if all other workers sleep. Then the worker looks for work first.
    #[inline]
    fn wanted_beside_busy_workers(&self) -> Option<usize> {
        // ORDERING: the counters' `end_search` came first. A producer that relied on the calling
        // worker read the counters before that step, so this load sees the sleepers that the
        // producer did not wake.
        let sleeping = self.counters.sleeping();
        (sleeping + 1 < self.slots.len()).then_some(sleeping.min(2))
    }

    /// Returns how many sleepers should help the workers that still search, at most two. Returns 0
    /// if jobs are short, because short jobs end before a woken worker runs. If jobs are long,
    /// workers that are woken one after the other would run late.
    #[inline]
    fn wanted_beside_searchers(&self, history: &SearchHistory, queues: &impl Queues) -> usize {
        if !C::COUNTS_SEARCHERS || !history.finds_long_jobs() || self.counters.sleeping() == 0 {
            return 0;
        }
        let searching = self.counters.searching();
        queues.stealable(searching + 2).saturating_sub(searching)
    }

    /// Call this after an unsuccessful search of all queues. The caller probes `latch` and searches
    /// again after every return.
    #[inline]
    pub(crate) fn found_nothing(
        &self,
        idle: &mut IdlePeriod<'_>,
        latch: &CoreLatch,
        queues: &impl Queues,
    ) {
        match idle.phase {
            Phase::Searching { rounds_left } if rounds_left > 0 => {
                rest::<C>(idle);
                idle.phase = Phase::Searching {
                    rounds_left: rounds_left - 1,
                };
            }
            Phase::Searching { .. } if self.begins_to_spin(idle.history) => {
                idle.phase = Phase::Spinning;
                yield_now();
            }
            Phase::Spinning if self.goes_on_spinning(idle.history) => yield_now(),
            Phase::Searching { .. } | Phase::Spinning => {
                idle.phase = Phase::Sleepy(self.counters.become_sleepy(idle.worker));
                FenceOf::<C>::after_becoming_sleepy();
                hooks::become_sleepy();
                yield_now();
            }
            Phase::Sleepy(ticket) => self.sleep(idle, ticket, latch, queues),
        }
    }

    #[inline]
    pub(crate) fn job_pushed(&self, queue_was_empty: bool) {
        FenceOf::<C>::after_push();
        self.after_shared_push();
        self.notify_job(queue_was_empty);
    }

    #[inline]
    pub(crate) fn job_injected(&self, queue_was_empty: bool) {
        // ORDERING: SeqCst fence, pairs with `after_registering` of every `Fence`. The job is
        // stored before the fence, and the sleepers are read after it. A sleeper that this read
        // misses must find the job (README, section 5). An injected job has no owner that comes
        // back for it, so this fence is never left out.
        fence(Ordering::SeqCst);
        self.notify_job(queue_was_empty);
    }

    /// Returns whether any worker sleeps or, if searching workers are counted, searches.
    pub(crate) fn somebody_is_idle(&self) -> bool {
        self.counters.sleeping() > 0 || (C::COUNTS_SEARCHERS && self.counters.inactive() > 0)
    }

    pub(crate) fn wake_worker(&self, worker: usize) -> bool {
        let was_asleep = self.slots[worker].wake(|| self.counters.end_sleep(worker));
        hooks::count_if(was_asleep, Event::WakeSent);
        was_asleep
    }

    #[inline]
    fn notify_job(&self, queue_was_empty: bool) {
        let sleepers_to_wake = self.counters.notify_job(queue_was_empty);
        if sleepers_to_wake > 0 {
            self.wake_any(sleepers_to_wake);
        }
    }

    /// Wakes up to `count` workers, the lowest indices first.
    #[cold]
    #[inline(never)]
    fn wake_any(&self, count: usize) {
        let mut remaining = count;
        for worker in 0..self.slots.len() {
            if self.wake_worker(worker) {
                remaining -= 1;
                if remaining == 0 {
                    return;
                }
            }
        }
    }

    fn begins_to_spin(&self, history: &SearchHistory) -> bool {
        PropagationOf::<C>::SPINS && history.try_begin(self.counters.searching())
    }

    fn goes_on_spinning(&self, history: &SearchHistory) -> bool {
        history.try_go_on(self.counters.searching())
    }

    #[cold]
    #[inline(never)]
    fn sleep(
        &self,
        idle: &mut IdlePeriod<'_>,
        ticket: SleepyTicket,
        latch: &CoreLatch,
        queues: &impl Queues,
    ) {
        // Freeing takes a while, and the worker must not count as asleep meanwhile.
        if !queues.give_back() {
            idle.search_once_more();
            return;
        }
        if !latch.try_get_sleepy() {
            return;
        }
        let wake_up = if FenceOf::<C>::SCANS_BEFORE_SLEEP || self.scans_for_pushes() {
            self.scan_and_park(idle, ticket, latch, queues)
        } else {
            self.check_and_park(idle, ticket, latch, queues)
        };
        latch.wake_up();
        match wake_up {
            Some(took) => idle.history.was_woken(took),
            None if PropagationOf::<C>::SPINS => idle.history.did_not_block(),
            None => {}
        }
    }

    /// Sets the latch to "sleeping", and counts the worker as asleep. Returns `false` and counts
    /// nothing if the latch is set or a producer has notified. Call this in the slot's critical
    /// section, which ends in blocking or arming.
    fn try_register(
        &self,
        idle: &mut IdlePeriod<'_>,
        ticket: SleepyTicket,
        latch: &CoreLatch,
    ) -> bool {
        if !latch.try_fall_asleep() {
            return false;
        }
        let is_registered = self.counters.try_begin_sleep(idle.worker, ticket);
        if !is_registered {
            idle.search_once_more();
        }
        is_registered
    }

    /// Puts the worker to sleep in variants without a scan. Blocks if no producer has notified
    /// since the worker became sleepy, and there is neither an injected job nor a share for the
    /// worker.
    fn check_and_park(
        &self,
        idle: &mut IdlePeriod<'_>,
        ticket: SleepyTicket,
        latch: &CoreLatch,
        queues: &impl Queues,
    ) -> Option<Duration> {
        let worker = idle.worker;
        idle.restart();
        self.slots[worker].park_if(|| {
            if !self.try_register(idle, ticket, latch) {
                return false;
            }
            FenceOf::<C>::after_registering();
            let has_work = queues.has_broadcasts() || queues.has_injected();
            if has_work {
                self.counters.end_sleep(worker);
            }
            !has_work
        })
    }

    /// Puts the worker to sleep in variants with a scan: registers unless a producer has notified,
    /// scans every queue, then blocks. The scan takes long in a wide pool, and a waker must not
    /// wait for it. So the worker does not hold the lock, and the slot is armed meanwhile (README,
    /// section 7).
    fn scan_and_park(
        &self,
        idle: &mut IdlePeriod<'_>,
        ticket: SleepyTicket,
        latch: &CoreLatch,
        queues: &impl Queues,
    ) -> Option<Duration> {
        let worker = idle.worker;
        let slot = &self.slots[worker];
        idle.restart();
        // A thread that sets the latch after this worker set it to "sleeping" must find the slot
        // armed. So latch and slot change in one critical section.
        if !slot.try_arm(|| self.try_register(idle, ticket, latch)) {
            return None;
        }
        FenceOf::<C>::after_registering();
        self.before_scan();
        if queues.has_broadcasts() || queues.has_stealable() || queues.has_injected() {
            slot.disarm(|| self.counters.end_sleep(worker));
            None
        } else {
            slot.park_unless_claimed()
        }
    }
}

#[inline]
pub(crate) fn job_found(history: &SearchHistory) {
    if history::SPINS {
        history.job_found();
    }
}

/// After an unsuccessful search, gives other threads a moment.
#[inline]
fn rest<C: SleepCounters>(idle: &IdlePeriod<'_>) {
    let is_first = PropagationOf::<C>::SPINS && idle.unsuccessful_searches() == 0;
    let yields = !is_first || idle.history.begin_rests();
    if yields {
        yield_now();
    } else {
        history::pause();
    }
}

/// Call this when the calling worker has stopped searching, and is no longer counted. Returns how
/// many queues have work for other workers, at most `at_most`. If jobs are long, counts the jobs in
/// deques instead.
// Not inlined: the found job runs in the caller's frame, and jobs nest.
#[inline(never)]
fn work_in_sight<C: SleepCounters>(queues: &impl Queues, at_most: usize) -> usize {
    // A sleeper executes the same fence before its scan. The fence pairs with that of a producer
    // that relied on this worker and fenced before reading the counters.
    FenceOf::<C>::after_registering();
    let injected = usize::from(queues.has_injected());
    injected + queues.stealable(at_most - injected)
}
