//! Adaptive spin-then-park: how long an idle worker spins before it blocks.
//!
//! A worker that falls asleep just before the next job arrives pays for a wake-up. So the last
//! searching workers *spin*: before they park, they search for as long as a wake-up costs. Each
//! worker measures that cost, and remembers whether a job came in time.
//!
//! A worker yields between two searches, so that another thread on its CPU may produce the job. If
//! other threads need the CPU, a yield may cost a time slice. Then the spin usually fails, and
//! without credit the worker skips attempts to spin. The yields before a spin are never skipped.

use std::cell::Cell;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::counters::dimensions::Propagation as _;
use super::counters::{PropagationOf, Selected};
use crate::sync::{AtomicUsize, Cost, Instant, Ordering, hint};
use crate::thread_count;

/// The assumed time from a waker's call until the woken thread runs, until wake-ups were measured.
/// The value is from a virtual machine of two CPUs.
const A_WAKE_UP: Duration = Duration::from_micros(25);

/// A measured wake-up outside these bounds counts as the nearer bound. A guess: after a shorter
/// wake-up the thread had hardly blocked, and in a longer one other threads had the CPU.
const WAKE_UPS: RangeInclusive<Duration> = Duration::from_micros(3)..=Duration::from_micros(50);

/// Whether workers spin before they park, and measure what their wake-ups cost.
pub(super) const SPINS: bool = PropagationOf::<Selected>::SPINS;

/// A worker goes on searching after this many unsuccessful searches, and spins or becomes sleepy
/// after the next one. The number is inherited from rayon-core. A model needs no such searches,
/// because an early search that finds nothing changes nothing.
pub(super) const ROUNDS: u32 = if cfg!(fork_loom) { 0 } else { 32 };

/// The same number for a worker that may spin, and was woken or was just about to block. If all
/// workers of the pool may spin, all their searches have this number. It is from trials by hand
/// on two CPUs: with more rounds, idle workers use more CPU time. In a larger pool, a worker that
/// just had a job has all [`ROUNDS`]: simulated joins on 64 cores are slower with fewer on most
/// machines of a box. In an oversubscribed pool, all searches have all rounds, because the first
/// yields often run other workers.
pub(super) const FEWER_ROUNDS: u32 = if SPINS && ROUNDS > 8 { 8 } else { ROUNDS };

/// Workers spin while at most this many search. The number is from simulations: if only one worker
/// may spin, the other workers sleep between short fork-join regions. If all workers may spin, tiny
/// jobs on many cores take up to twice as long.
const MOST_SPINNERS: usize = 3;

/// The failed attempts for which one success earns credit. With a higher number, jobs that come at
/// random cost more CPU time and start no sooner. If this number were 0, each failure would skip an
/// attempt, even if every second attempt succeeds.
const A_SUCCESS: usize = 2;

/// The most credit that a worker can have, in failed attempts.
const MOST_CREDIT: usize = 16;

/// In an oversubscribed pool, a *long* spin lasts this many times as long as a wake-up. In such a
/// pool the kernel often makes a woken thread wait for a running one, while a spinning worker
/// yields its CPU. A job that a spin finds later than a wake-up earns no credit: otherwise workers
/// would wait for timers.
const LONG_SPIN_FACTOR: u32 = 3;

/// After a long spin failed, this many spins are short. The number is from trials by hand on two
/// CPUs: with a lower number, pools of three and four workers use more CPU time between regions.
/// With a higher one, requests from outside find the workers asleep in some runs.
const SHORT_SPINS: usize = 16;

/// The credit of a new worker.
const FIRST_CREDIT: usize = 4;

/// A worker that did not get to block this many times in a row, because work came, spins next time.
/// Otherwise it would pay for the fence before each sleep, every few microseconds. With a lower
/// number, joins whose halves wait for each other cost more CPU time, in trials by hand on two CPUs.
const CALLS_BACK: u32 = 3;

/// The longest back-off skips 2^N − 1 attempts, N being this number.
const MOST_UNSUCCESSFUL: usize = 8;

/// After the first search of an idle period, this many pauses give a pushing worker time to respond
/// to a steal request. A guess: some hundred nanoseconds.
const PAUSES: usize = 16;

/// After a short job, this many jobs are not timed. A guess.
const UNTIMED: u32 = 7;

/// Returns the cost of waking a thread that has blocked: its time is from the waker's call until the
/// thread runs.
pub(crate) fn cost_of_wake_ups() -> Cost {
    Cost::new(A_WAKE_UP, WAKE_UPS)
}

/// Returns the number of CPUs. Workers that do not spin do not depend on it, so their variants do not
/// ask the system.
pub(super) fn cpus() -> usize {
    if SPINS {
        thread_count::cpus_at_first()
    } else {
        usize::MAX
    }
}

/// The number of next attempts to skip.
#[derive(Default)]
struct LeftOut(AtomicUsize);

impl LeftOut {
    /// Returns whether no attempt is left to skip. If an attempt is left, this call skips it.
    // Relaxed, here and below: the number only steers a heuristic.
    fn are_over(&self) -> bool {
        let left = self.0.load(Ordering::Relaxed);
        if left > 0 {
            self.0.store(left - 1, Ordering::Relaxed);
        }
        left == 0
    }

    fn set(&self, times: usize) {
        self.0.store(times, Ordering::Relaxed);
    }
}

/// Decides whether to attempt something that often fails. A success earns credit for some failures.
/// Without credit, each failure doubles the number of attempts that are skipped. So attempts
/// continue as long as one in three succeeds.
#[derive(Default)]
pub(crate) struct Backoff {
    /// The number of failures for which earlier successes have earned credit, up to
    /// [`MOST_CREDIT`].
    credit: AtomicUsize,
    /// The failures since credit ran out, up to [`MOST_UNSUCCESSFUL`].
    unsuccessful: AtomicUsize,
    left_out: LeftOut,
}

impl Backoff {
    /// Returns whether to make the attempt now. If not, this call counts as one of the skipped
    /// attempts.
    pub(crate) fn try_begin(&self) -> bool {
        self.left_out.are_over()
    }

    pub(crate) fn was_unsuccessful(&self) {
        let credit = self.credit.load(Ordering::Relaxed);
        if credit > 0 {
            self.credit.store(credit - 1, Ordering::Relaxed);
            return;
        }
        let unsuccessful = self.unsuccessful.load(Ordering::Relaxed) + 1;
        self.skip_after(unsuccessful.min(MOST_UNSUCCESSFUL));
    }

    /// Records a failure that cost far more than a success gains: skips attempts for as long as
    /// after many failures.
    // Only `warm-install` calls this.
    #[allow(dead_code)]
    pub(crate) fn was_expensive(&self) {
        self.credit.store(0, Ordering::Relaxed);
        self.skip_after(MOST_UNSUCCESSFUL);
    }

    fn skip_after(&self, unsuccessful: usize) {
        self.unsuccessful.store(unsuccessful, Ordering::Relaxed);
        self.left_out.set((1 << unsuccessful) - 1);
    }

    pub(crate) fn was_worth_it(&self) {
        let credit = self.credit.load(Ordering::Relaxed);
        if credit < MOST_CREDIT {
            self.credit
                .store((credit + A_SUCCESS).min(MOST_CREDIT), Ordering::Relaxed);
        }
        if self.unsuccessful.load(Ordering::Relaxed) > 0 {
            self.unsuccessful.store(0, Ordering::Relaxed);
            self.left_out.set(0);
        }
    }
}

pub(crate) struct SearchHistory {
    spinning: Backoff,
    /// When the worker began to spin.
    spins_since: Cell<Option<Instant>>,
    /// Whether the current spin is a long one.
    is_spin_long: Cell<bool>,
    /// The long spins that are replaced by short ones.
    long_spins: LeftOut,
    /// When the worker found its last job. The worker takes this value out when its next search
    /// finds nothing.
    found: Cell<Option<Instant>>,
    /// Whether the worker took a broadcast share since its last idle period.
    took_share: Cell<bool>,
    finds_long_jobs: Cell<bool>,
    untimed: Cell<u32>,
    /// How many times in a row the worker did not get to block, less than [`CALLS_BACK`].
    called_back: Cell<u32>,
    /// When [`is_idle_for`](Self::is_idle_for) was first called in the idle period, or when
    /// [`may_expose_again`](Self::may_expose_again) last returned `true`.
    idle_since: Cell<Option<Instant>>,
    wake_up: Cost,
    /// Whether the pool has more workers than there are CPUs.
    is_oversubscribed: bool,
    /// Whether the pool has no more workers than may spin.
    all_may_spin: bool,
}

impl SearchHistory {
    pub(super) fn new(workers: usize, cpus: usize) -> Self {
        let spinning = Backoff {
            credit: AtomicUsize::new(FIRST_CREDIT),
            ..Backoff::default()
        };
        Self {
            spinning,
            spins_since: Cell::default(),
            is_spin_long: Cell::default(),
            long_spins: LeftOut::default(),
            found: Cell::default(),
            took_share: Cell::default(),
            finds_long_jobs: Cell::default(),
            untimed: Cell::default(),
            called_back: Cell::default(),
            idle_since: Cell::default(),
            wake_up: cost_of_wake_ups(),
            is_oversubscribed: workers > cpus,
            all_may_spin: workers <= MOST_SPINNERS,
        }
    }

    /// The history of a worker whose next attempts to spin are skipped.
    #[cfg(all(test, not(fork_loom)))]
    pub(super) fn that_skips_spins(workers: usize, cpus: usize) -> Self {
        let history = Self::new(workers, cpus);
        history.spinning.was_expensive();
        history
    }

    #[cfg(all(test, not(fork_loom)))]
    pub(super) fn of_long_jobs() -> Self {
        Self {
            finds_long_jobs: Cell::new(true),
            ..Self::new(0, 0)
        }
    }

    pub(super) fn was_woken(&self, took: Duration) {
        self.called_back.set(0);
        self.wake_up.took(took);
    }

    /// Call this when the worker was about to block and did not, because its latch was set, a
    /// producer notified, or its scan saw work. From the [`CALLS_BACK`]th time in a row, each call
    /// records a success of spinning.
    pub(super) fn did_not_block(&self) {
        let called_back = self.called_back.get() + 1;
        if called_back < CALLS_BACK {
            self.called_back.set(called_back);
        } else {
            self.spinning.was_worth_it();
        }
    }

    pub(super) fn job_found(&self) {
        // Reading a clock twice takes about as long as a small job.
        let untimed = self.untimed.get();
        if untimed > 0 {
            self.untimed.set(untimed - 1);
            return;
        }
        let now = Instant::now();
        if let Some(found) = self.found.replace(Some(now)) {
            self.learn(now.duration_since(found));
        }
    }

    fn job_ended(&self) {
        if let Some(found) = self.found.take() {
            self.learn(found.elapsed());
        }
    }

    fn learn(&self, busy: Duration) {
        let is_long = busy > self.wake_up.get();
        self.finds_long_jobs.set(is_long);
        self.untimed.set(if is_long { 0 } else { UNTIMED });
    }

    /// Returns whether the last job that was timed was long. A job is long if it, and all the work
    /// it led to, took longer than a wake-up costs.
    pub(crate) fn finds_long_jobs(&self) -> bool {
        self.finds_long_jobs.get()
    }

    pub(crate) fn begin_idle_period(&self) {
        self.idle_since.set(None);
    }

    /// Returns whether the worker has been idle for `time`, or `time` is `None`. Call this after an
    /// unsuccessful search. The first call of an idle period reads the clock, and later calls
    /// compare with it. The time includes that in which the worker was blocked.
    pub(crate) fn is_idle_for(&self, time: Option<Duration>) -> bool {
        let Some(time) = time else { return true };
        if let Some(since) = self.idle_since.get() {
            return since.elapsed() >= time;
        }
        self.idle_since.set(Some(Instant::now()));
        false
    }

    /// Returns whether the last idle period began, and the last call returned `true`, at least
    /// `time` ago; or `time` is `None`. Call this outside idle periods.
    pub(crate) fn may_expose_again(&self, time: Option<Duration>) -> bool {
        let Some(time) = time else { return true };
        let now = Instant::now();
        let is_early = |since| now.duration_since(since) < time;
        if self.idle_since.get().is_some_and(is_early) {
            return false;
        }
        self.idle_since.set(Some(now));
        true
    }

    pub(crate) fn share_taken(&self) {
        self.took_share.set(true);
    }

    /// Call this after the first search of an idle period found nothing. Returns whether the worker
    /// should yield, because it took a broadcast share, and another worker may need the CPU for its
    /// own. Otherwise the worker should [`pause`], so that a pushing worker may expose a job.
    pub(super) fn begin_rests(&self) -> bool {
        self.job_ended();
        self.took_share.take()
    }

    pub(super) fn try_begin(&self, searching: usize) -> bool {
        let begins = searching <= MOST_SPINNERS && self.spinning.try_begin();
        if begins {
            self.spins_since.set(Some(Instant::now()));
            let is_long = self.is_oversubscribed && self.long_spins.are_over();
            self.is_spin_long.set(is_long);
        }
        begins
    }

    /// If the worker has spun for its full time, records a failure and returns `false`.
    pub(super) fn try_go_on(&self, searching: usize) -> bool {
        if searching > MOST_SPINNERS {
            // Enough other workers search. This is neither a success nor a failure of spinning.
            return false;
        }
        let is_long = self.is_spin_long.get();
        let factor = if is_long { LONG_SPIN_FACTOR } else { 1 };
        let goes_on = self.has_spun_less_than(factor * self.wake_up.get());
        if !goes_on {
            self.spinning.was_unsuccessful();
            if is_long {
                self.long_spins.set(SHORT_SPINS);
            }
        }
        goes_on
    }

    pub(super) fn is_oversubscribed(&self) -> bool {
        self.is_oversubscribed
    }

    /// Returns after how many unsuccessful searches the worker searches on. After the next one it
    /// spins or becomes sleepy. `was_called` says that the worker was woken or was just about to
    /// block.
    pub(super) fn rounds(&self, was_called: bool) -> u32 {
        if !self.is_oversubscribed && (was_called || self.all_may_spin) {
            FEWER_ROUNDS
        } else {
            ROUNDS
        }
    }

    /// Call this when the search ended while the worker was spinning. Records a success if a
    /// wake-up would have cost more than the spinning.
    pub(super) fn was_worth_it(&self) {
        if self.has_spun_less_than(self.wake_up.get()) {
            self.spinning.was_worth_it();
        }
    }

    fn has_spun_less_than(&self, time: Duration) -> bool {
        self.spins_since
            .get()
            .is_some_and(|since| since.elapsed() < time)
    }
}

/// Spins for a moment and keeps the calling thread's CPU.
pub(super) fn pause() {
    (0..PAUSES).for_each(|_| hint::spin_loop());
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::*;

    /// Returns how many of `times` attempts in a row are made, if each fails.
    fn unsuccessful(backoff: &Backoff, times: usize) -> usize {
        (0..times)
            .filter(|_| backoff.try_begin())
            .inspect(|_| backoff.was_unsuccessful())
            .count()
    }

    #[test]
    fn a_caller_that_never_succeeds_tries_one_time_in_256() {
        let backoff = Backoff::default();
        unsuccessful(&backoff, 1_000);
        assert_eq!(unsuccessful(&backoff, 2_560), 10);
    }

    #[test]
    fn after_a_success_it_is_tried_again_at_once() {
        let backoff = Backoff::default();
        unsuccessful(&backoff, 1_000);
        while !backoff.try_begin() {}
        backoff.was_worth_it();
        assert!(backoff.try_begin());
    }

    #[test]
    fn after_an_expensive_failure_255_attempts_are_skipped_whatever_was_earned_before() {
        let backoff = Backoff::default();
        (0..MOST_CREDIT).for_each(|_| backoff.was_worth_it());
        backoff.was_expensive();
        assert_eq!((0..1_000).take_while(|_| !backoff.try_begin()).count(), 255);
    }

    #[test]
    fn attempts_go_on_for_as_long_as_one_in_three_succeeds() {
        let backoff = Backoff::default();
        unsuccessful(&backoff, 1_000);
        let attempts = (0..3_000)
            .filter(|_| backoff.try_begin())
            .zip(0..)
            .inspect(|(_, number)| match number % 3 {
                0 => backoff.was_worth_it(),
                _ => backoff.was_unsuccessful(),
            })
            .count();
        assert!(attempts > 2_700, "{attempts}");
    }

    #[test]
    fn jobs_are_long_if_the_last_one_that_was_found_took_longer_than_a_wake_up() {
        let history = SearchHistory::new(0, 0);
        history.job_found();
        std::thread::sleep(2 * history.wake_up.get());
        history.begin_rests();
        assert!(history.finds_long_jobs());
        history.begin_rests();
        assert!(
            history.finds_long_jobs(),
            "a further search changes nothing"
        );
        // With a start in the future, the job takes no time, however busy the host is.
        history
            .found
            .set(Some(Instant::now() + Duration::from_secs(3600)));
        history.begin_rests();
        assert!(!history.finds_long_jobs());
    }

    #[test]
    fn the_time_that_a_worker_is_idle_counts_from_its_first_search_and_not_from_a_later_one() {
        let history = SearchHistory::new(2, 2);
        let time = Some(Duration::from_millis(1));
        assert!(!history.is_idle_for(time));
        std::thread::sleep(Duration::from_millis(2));
        assert!(!history.is_idle_for(Some(Duration::from_secs(3600))));
        assert!(history.is_idle_for(time));
        history.begin_idle_period();
        assert!(history.is_idle_for(None), "without a cost there is no wait");
        assert!(!history.is_idle_for(time));
    }

    #[test]
    fn after_a_worker_exposed_jobs_it_does_so_again_only_after_some_time() {
        let history = SearchHistory::new(2, 2);
        let (soon, late) = (Duration::from_millis(1), Duration::from_secs(3600));
        assert!(history.may_expose_again(Some(late)));
        assert!(!history.may_expose_again(Some(late)));
        std::thread::sleep(2 * soon);
        assert!(history.may_expose_again(Some(soon)));
        assert!(!history.may_expose_again(Some(late)));
        assert!(history.may_expose_again(None), "exposing costs nothing");
    }

    #[test]
    fn only_after_a_broadcast_share_the_first_rest_is_a_yield() {
        let history = SearchHistory::new(0, 0);
        assert!(!history.begin_rests());
        history.share_taken();
        assert!(history.begin_rests());
        assert!(!history.begin_rests());
    }

    #[test]
    fn at_most_three_workers_spin() {
        let begins = |searching| SearchHistory::new(64, 64).try_begin(searching);
        assert!(begins(3) && !begins(4));
    }

    #[test]
    fn only_a_job_that_comes_as_soon_as_a_wake_up_earns_credit() {
        let history = SearchHistory::new(2, 1);
        history.spinning.credit.store(0, Ordering::Relaxed);
        history.spins_since.set(Some(Instant::now()));
        std::thread::sleep(2 * history.wake_up.get());
        history.was_worth_it();
        let credit = || history.spinning.credit.load(Ordering::Relaxed);
        assert_eq!(credit(), 0);
        // The start is in the future, so that no time has passed.
        history
            .spins_since
            .set(Some(Instant::now() + Duration::from_secs(3600)));
        history.was_worth_it();
        assert_eq!(credit(), A_SUCCESS);
    }

    #[test]
    fn a_worker_that_did_not_get_to_block_three_times_in_a_row_spins_again() {
        let history = SearchHistory::that_skips_spins(2, 2);
        let begins_after = |times| {
            (0..times).for_each(|_| history.did_not_block());
            history.try_begin(1)
        };
        assert!(!begins_after(2));
        history.was_woken(Duration::ZERO);
        assert!(!begins_after(2), "a wake-up ends the row");
        assert!(begins_after(1));
    }

    #[test]
    fn in_an_oversubscribed_pool_short_spins_follow_a_long_one_that_failed() {
        let begins_long_spin = |history: &SearchHistory| {
            while !history.try_begin(1) {}
            history.is_spin_long.get()
        };
        let history = SearchHistory::new(2, 1);
        assert!(begins_long_spin(&history));
        std::thread::sleep(LONG_SPIN_FACTOR * history.wake_up.get());
        assert!(!history.try_go_on(1));
        assert_eq!((0..100).position(|_| begins_long_spin(&history)), Some(16));
        assert!(!begins_long_spin(&SearchHistory::new(2, 2)));
    }
}
