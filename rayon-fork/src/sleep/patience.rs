//! How long to look before blocking, by what it was worth lately, and by what it costs.
//!
//! To fall asleep just before the next job comes costs a wake-up. Where jobs come after gaps that
//! are shorter than a wake-up takes, it is cheaper to search on; where they come after long ones,
//! it only burns time. So the last workers that search *linger*: they go on for about as long as a
//! wake-up takes, and remember whether a job came.
//!
//! Who looks yields between two looks, so that a thread on the same CPU may do what it waits for.
//! Where more threads want CPUs than there are, a yield costs a turn of all of them. So whoever
//! finds a yield that takes as long as a turn stops looking, and for some times to come only pauses
//! between two looks: for more, the more often that happens. A yield that takes less went to a
//! thread that soon gave the CPU back: one outside the pool, say, that does something between two
//! jobs for the pool. Without yields such a thread would wait for whole turns. A pool of more
//! workers than CPUs always yields: there a long yield is mostly one to a worker of the same pool,
//! or to the thread that waits for it.

use std::cell::Cell;
use std::time::Duration;

use super::counters::axes::LeaveRule as _;
use super::counters::{LeaveRuleOf, Selected};
use crate::sync::modelled::yield_now;
use crate::sync::{AtomicUsize, Instant, Ordering, hint};

/// About what it costs to block a thread and wake it, which is also how long it takes. Measured on
/// a virtual machine of two CPUs, where a halted CPU is slow to come back; less elsewhere.
pub(crate) const A_WAKE_UP: Duration = Duration::from_micros(50);

/// A yield that takes longer gave the CPU to a thread that kept it for its turn. Linux' turns last
/// some milliseconds where there are two CPUs or more.
const A_TURN: Duration = Duration::from_millis(1);

/// Whether searches watch what they cost.
pub(super) const LINGERS: bool = LeaveRuleOf::<Selected>::LINGERS;

/// While so many search, or fewer, they linger. By simulation: where one alone does, the others
/// sleep between two short regions of a stream, and each region waits for wake-ups; where all do,
/// tiny jobs on many cores take up to twice as long.
const LINGERERS: usize = 3;

/// Who never succeeds leaves out one less than two to the power of this.
const MOST_IN_VAIN: usize = 8;

/// Pauses in which a worker that pushes answers a demand. A guess: some hundred nanoseconds.
const PAUSES: usize = 16;

/// Searches of a worker that does without yields. A guess: together some ten microseconds.
const SEARCHES: u32 = 24;

/// Times to come in which something is not tried.
#[derive(Default)]
struct LeftOut(AtomicUsize);

impl LeftOut {
    /// Whether none is left. If not, that was one.
    // Relaxed, here and below: what several threads make of it at a time is a guess like any.
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

/// Whether to try something that often is in vain: after each time in vain leaves out twice as many
/// (as a sender backs off after collisions), after a success none.
#[derive(Default)]
pub(crate) struct Backoff {
    /// How often it was in vain since it last succeeded, as far as that matters.
    in_vain: AtomicUsize,
    left_out: LeftOut,
}

impl Backoff {
    /// Whether to try now. If not, that was one left out.
    pub(crate) fn try_begin(&self) -> bool {
        self.left_out.are_over()
    }

    /// What was begun did not pay.
    pub(crate) fn was_in_vain(&self) {
        let in_vain = (self.in_vain.load(Ordering::Relaxed) + 1).min(MOST_IN_VAIN);
        self.in_vain.store(in_vain, Ordering::Relaxed);
        self.left_out.set((1 << in_vain) - 1);
    }

    /// What was begun paid.
    pub(crate) fn was_worth_it(&self) {
        if self.in_vain.load(Ordering::Relaxed) > 0 {
            self.in_vain.store(0, Ordering::Relaxed);
        }
    }
}

/// Cheap yields in a row that end the memory of dear ones: on a busy host one says little. A guess.
const CHEAP_AGAIN: usize = 8;

/// Whether to yield: after a yield that was dear not for a while, and not for longer the more often
/// that happens, since it need not be a stranger who had the CPU.
#[derive(Default)]
pub(crate) struct Yielding {
    dear: Backoff,
    cheap_in_a_row: AtomicUsize,
    /// However long yields take, they go on.
    is_free: bool,
}

impl Yielding {
    /// Whether to yield this time. If not, that was one left out.
    pub(crate) fn try_begin(&self) -> bool {
        self.dear.try_begin()
    }

    /// Yields, and says whether that was cheap.
    pub(crate) fn yield_now(&self) -> bool {
        let start = Instant::now();
        yield_now();
        let is_cheap = self.is_free || start.elapsed() < A_TURN;
        let in_a_row = if is_cheap {
            self.cheap_in_a_row.load(Ordering::Relaxed) + 1
        } else {
            0
        };
        self.cheap_in_a_row
            .store(in_a_row % CHEAP_AGAIN, Ordering::Relaxed);
        if !is_cheap {
            self.dear.was_in_vain();
        } else if in_a_row == CHEAP_AGAIN {
            self.dear.was_worth_it();
        }
        is_cheap
    }
}

/// What one worker remembers of its searches.
#[derive(Default)]
pub(crate) struct Patience {
    lingering: Backoff,
    until: Cell<Option<Instant>>,
    /// When the last job was found, until the next search.
    found: Cell<Option<Instant>>,
    finds_long_jobs: Cell<bool>,
    yielding: Yielding,
    /// In this search: more searches to be made without yields; none if it yields.
    without_yields: Cell<Option<u32>>,
    /// Each CPU has several workers of the pool.
    shares_cpus: bool,
}

impl Patience {
    /// Of a worker of a pool of so many, on so many CPUs.
    pub(super) fn new(workers: usize, cpus: usize) -> Self {
        let yielding = Yielding {
            is_free: workers > cpus,
            ..Yielding::default()
        };
        Self {
            yielding,
            shares_cpus: workers >= 2 * cpus,
            ..Self::default()
        }
    }

    /// Of a worker that found a long job last.
    #[cfg(all(test, not(fork_loom)))]
    pub(super) fn of_long_jobs() -> Self {
        Self {
            finds_long_jobs: Cell::new(true),
            ..Self::default()
        }
    }

    /// A job was found, and runs next.
    pub(super) fn job_found(&self) {
        let now = Instant::now();
        if let Some(found) = self.found.replace(Some(now)) {
            self.learn(now.duration_since(found));
        }
    }

    /// The worker is out of jobs.
    fn job_ended(&self) {
        if let Some(found) = self.found.take() {
            self.learn(found.elapsed());
        }
    }

    /// What the last search found kept the worker busy for so long.
    fn learn(&self, busy: Duration) {
        self.finds_long_jobs.set(busy > A_WAKE_UP);
    }

    /// Whether the job that was found last kept its worker busy, with all that came of it, for
    /// longer than a wake-up takes.
    pub(crate) fn finds_long_jobs(&self) -> bool {
        self.finds_long_jobs.get()
    }

    /// The first search was in vain: a worker that pushes may show a job if given a moment.
    pub(super) fn begin_rests(&self) {
        self.job_ended();
        self.without_yields
            .set((!self.yielding.try_begin()).then_some(SEARCHES));
        pause();
    }

    /// A later search was in vain. `false` if there should be no more before the worker becomes
    /// sleepy.
    pub(super) fn rest(&self) -> bool {
        if let Some(left) = self.without_yields.get() {
            self.without_yields.set(Some(left.saturating_sub(1)));
            pause();
            return left > 1;
        }
        let is_cheap = self.yielding.yield_now();
        if !is_cheap {
            self.without_yields.set(Some(0));
        }
        is_cheap
    }

    /// Whether each CPU has several workers of the pool.
    pub(crate) fn shares_cpus(&self) -> bool {
        self.shares_cpus
    }

    /// Whether this search does without yields.
    pub(super) fn yields_are_dear(&self) -> bool {
        self.without_yields.get().is_some()
    }

    /// Whether to linger from now on, where so many search. If not for what was learned, that was
    /// one search left out.
    pub(super) fn try_begin(&self, searching: usize) -> bool {
        let begins =
            searching <= LINGERERS && !self.yields_are_dear() && self.lingering.try_begin();
        if begins {
            self.until.set(Some(Instant::now() + A_WAKE_UP));
        }
        begins
    }

    /// Whether to linger longer, where so many search. If not for them, it was in vain.
    pub(super) fn try_go_on(&self, searching: usize) -> bool {
        if searching > LINGERERS {
            // This worker is not needed, and nothing is learned.
            return false;
        }
        let goes_on = self.until.get().is_some_and(|until| Instant::now() < until);
        if !goes_on {
            self.lingering.was_in_vain();
        }
        goes_on
    }

    /// The search ended while the worker lingered.
    pub(super) fn was_worth_it(&self) {
        self.lingering.was_worth_it();
    }
}

/// For a moment does nothing, on the calling thread's CPU.
pub(crate) fn pause() {
    (0..PAUSES).for_each(|_| hint::spin_loop());
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::*;

    /// How many of `times` in a row were tried, each in vain.
    fn in_vain(backoff: &Backoff, times: usize) -> usize {
        (0..times)
            .filter(|_| backoff.try_begin())
            .inspect(|_| backoff.was_in_vain())
            .count()
    }

    #[test]
    fn who_never_succeeds_tries_one_time_in_256() {
        let backoff = Backoff::default();
        in_vain(&backoff, 1_000);
        assert_eq!(in_vain(&backoff, 2_560), 10);
    }

    #[test]
    fn after_a_success_it_is_tried_again_at_once() {
        let backoff = Backoff::default();
        in_vain(&backoff, 1_000);
        while !backoff.try_begin() {}
        backoff.was_worth_it();
        assert!(backoff.try_begin());
    }

    #[test]
    fn each_time_in_vain_leaves_out_more() {
        let backoff = Backoff::default();
        // The first, then 1, 3 and 7 left out between.
        assert_eq!([1, 2, 4, 8].map(|times| in_vain(&backoff, times)), [1; 4]);
    }

    #[test]
    fn jobs_are_long_if_the_last_one_that_was_found_took_longer_than_a_wake_up() {
        let patience = Patience::default();
        patience.job_found();
        std::thread::sleep(2 * A_WAKE_UP);
        patience.begin_rests();
        assert!(patience.finds_long_jobs());
        patience.begin_rests();
        assert!(patience.finds_long_jobs(), "a search more teaches nothing");
        // So that it took no time, however busy the host is.
        patience
            .found
            .set(Some(Instant::now() + Duration::from_secs(3600)));
        patience.begin_rests();
        assert!(!patience.finds_long_jobs());
    }

    #[test]
    fn a_pool_of_more_workers_than_cpus_yields_on_however_long_that_takes() {
        let patience = Patience::new(2, 1);
        patience.begin_rests();
        // Threads that want the only CPU of this one make its yields dear.
        assert!((0..100).all(|_| patience.rest()) && !patience.yields_are_dear());
    }

    #[test]
    fn dear_yields_are_forgotten_after_some_cheap_ones_and_not_after_one() {
        // Yields of a pool of more workers than CPUs are never dear, so none of these is by chance.
        let yielding = Patience::new(2, 1).yielding;
        yielding.dear.was_in_vain();
        let forgotten_after = 1
            + (0..100)
                .take_while(|_| {
                    yielding.yield_now();
                    yielding.dear.in_vain.load(Ordering::Relaxed) > 0
                })
                .count();
        assert_eq!(forgotten_after, CHEAP_AGAIN);
    }

    #[test]
    fn a_worker_whose_yields_are_dear_does_without_and_does_not_linger() {
        let patience = Patience::default();
        patience.yielding.dear.left_out.set(1);
        patience.begin_rests();
        assert!(patience.yields_are_dear() && !patience.try_begin(1));
        let rests = 1 + (0..100).take_while(|_| patience.rest()).count();
        assert_eq!(rests, SEARCHES as usize);
        // That was the one time to be left out.
        patience.begin_rests();
        assert!(!patience.yields_are_dear());
    }
}
