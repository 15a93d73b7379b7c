//! Models of a pool whose jobs are private until a worker requests them, with the real deque and
//! the real request word.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::thread;

use super::pool::{Job, NextJob, Pool, Setup, Unseen};
use super::scenarios::push_and_wait;
use super::{Bounds, LOST, PAIR, TRIO_WITH_STEPS, TWO_SLEEPERS, holds, is_caught};
use crate::deque::on_demand::numbered::Numbered;
use crate::deque::on_demand::{Deque, Stealer};
use crate::deque::settle;
use crate::sleep::counters::SleepCounters;
use crate::sleep::counters::dimensions::{
    IdleFirst, Inline, Jec, NoFence, NoJec, ScanFence, SleepersOnly, WakeWhereWorkIs,
};
use crate::sleep::counters::{Packed, Split};
use crate::sleep::demand::{Jobs, PUBLISHED, REQUESTED, StealRequest};
use crate::sleep::parking::{ParkingSlot, Slot};
use crate::sleep::{IdlePeriod, Queues, SearchHistory, Sleep};
use crate::sync::modelled::{self, Fences};

/// The deque of the only worker that pushes, and planted mistakes of the pool around it.
pub(super) struct OnDemand {
    deque: OwnersEnd,
    stealer: Stealer<Numbered>,
    fences: Fences,
    /// The request is set at the start, by a worker that is no longer idle.
    is_request_old: bool,
    /// The number of pushed jobs. This number is no loom atomic, because only one thread pushes.
    pushed: AtomicUsize,
    /// Planted mistake: a worker about to block takes this step instead of `Sleep::before_scan`.
    before_scan: Option<fn(&StealRequest)>,
    /// Planted mistake: a worker that pushes wakes no sleeper if a job is shared already.
    leaves_it_at_one: bool,
    /// Planted mistake: a worker that pushes reads the count of searching workers without a fence.
    offers_without_fence: bool,
}

struct OwnersEnd(Deque<Numbered>);

// SAFETY: only the thread that pushes uses the owner's end.
unsafe impl Sync for OwnersEnd {}

impl OnDemand {
    fn with(fences: Fences) -> Self {
        let deque = Deque::new(fences);
        Self {
            stealer: deque.stealer(),
            deque: OwnersEnd(deque),
            fences,
            is_request_old: false,
            pushed: AtomicUsize::new(0),
            before_scan: None,
            leaves_it_at_one: false,
            offers_without_fence: false,
        }
    }

    fn right() -> Self {
        Self::with(Fences::cheapest())
    }

    fn with_old_request() -> Self {
        Self {
            is_request_old: true,
            ..Self::right()
        }
    }

    /// Planted mistake: a sleeper assumes that the request is set.
    fn that_requests_no_more() -> Self {
        Self {
            before_scan: Some(|request| request.fences.heavy()),
            ..Self::with_old_request()
        }
    }

    /// Planted mistake: a sleeper leaves out the heavy side although the request is not published.
    fn that_fences_locally() -> Self {
        Self {
            before_scan: Some(|request| {
                // ORDERING: SeqCst fence, as in the real `before_scan`.
                modelled::fence(modelled::Ordering::SeqCst);
                request.set();
            }),
            ..Self::right()
        }
    }

    /// Planted mistake: a sleeper publishes even a request that was cleared during its heavy side.
    fn that_publishes_a_later_request() -> Self {
        Self {
            before_scan: Some(|request| {
                // ORDERING: SeqCst fence, as in the real `before_scan`.
                modelled::fence(modelled::Ordering::SeqCst);
                let word = request
                    .word
                    .fetch_or(REQUESTED, modelled::Ordering::Acquire);
                if word & PUBLISHED == 0 {
                    request.fences.heavy();
                    let published = REQUESTED | PUBLISHED;
                    request
                        .word
                        .fetch_or(published, modelled::Ordering::Release);
                }
            }),
            ..Self::right()
        }
    }

    pub(super) fn sleep<C: SleepCounters, S: ParkingSlot>(&self, workers: usize) -> Sleep<C, S> {
        let mut request = StealRequest::new(Jobs::Private, self.fences);
        request.before_scan = self.before_scan;
        if self.is_request_old {
            request.set();
        }
        Sleep::with_request(workers, request)
    }

    /// Adds a job. Returns whether the push did not find the request, and so does nothing more.
    fn push_unnoticed<C: SleepCounters, S: ParkingSlot>(&self, sleep: &Sleep<C, S>) -> bool {
        self.add();
        let is_unnoticed = !sleep.wants_jobs();
        self.respond(sleep);
        is_unnoticed
    }

    fn add(&self) {
        let number = self.pushed.fetch_add(1, Ordering::Relaxed);
        self.deque.0.push(Numbered(number));
    }

    pub(super) fn push<C: SleepCounters, S: ParkingSlot>(&self, sleep: &Sleep<C, S>) {
        self.add();
        self.respond(sleep);
    }

    fn respond<C: SleepCounters, S: ParkingSlot>(&self, sleep: &Sleep<C, S>) {
        if !sleep.wants_jobs() {
            return;
        }
        if self.leaves_it_at_one || self.offers_without_fence {
            let is_first = self.deque.0.respond().is_first;
            if is_first || self.offers_without_fence {
                sleep.notify_job(true);
            }
        } else {
            sleep.respond(self.deque.0.respond());
        }
    }

    pub(super) fn steal<C: SleepCounters, S: ParkingSlot>(
        &self,
        sleep: &Sleep<C, S>,
    ) -> Option<usize> {
        sleep.request_jobs();
        let found = self.steal_shared().or_else(|| {
            if self.stealer.expose_for_owner() {
                self.steal_shared()
            } else {
                None
            }
        });
        if found.is_none() && self.has_jobs() {
            // Another thread exposes jobs, or the owner is about to take its job: let that thread
            // run.
            self.stealer.wait_for_exposing();
            thread::yield_now();
        }
        found
    }

    pub(super) fn steal_shared(&self) -> Option<usize> {
        settle(|| self.stealer.steal()).map(|job| job.0)
    }

    pub(super) fn has_jobs(&self) -> bool {
        !self.stealer.is_empty()
    }
}

type PackedJec = Packed<(Jec, NoFence, IdleFirst, Inline)>;
/// The counters of `champion`, in which a worker scans the queues before it wakes a sleeper.
pub(super) type PackedScansFirst = Packed<(Jec, NoFence, IdleFirst, Inline, WakeWhereWorkIs)>;
type SplitNoJec = Split<(NoJec, ScanFence, SleepersOnly, Inline)>;

fn one_job(make: fn() -> OnDemand) -> Setup {
    Setup {
        pushed: vec![Job::OpenGate],
        on_demand: Some(make),
        ..Setup::new(1)
    }
}

/// A busy worker pushes a private job, and waits for it outside the pool while the only other
/// worker falls asleep.
fn push<C: SleepCounters>(make: fn() -> OnDemand) {
    push_and_wait::<C, Slot>(one_job(make));
}

/// One worker clears the request, another worker pushes a job and waits for it, and the third
/// worker falls asleep. The third worker is the model's first thread, so that it may block before
/// the other workers begin.
fn clear_by<C: SleepCounters>(make: fn() -> OnDemand, clear: fn(&Sleep<C, Slot>)) {
    let pool = Arc::new(Pool::<C, Slot>::new(one_job(make)));
    let clearer = thread::spawn({
        let pool = Arc::clone(&pool);
        move || clear(&pool.sleep)
    });
    let pusher = thread::spawn({
        let pool = Arc::clone(&pool);
        move || {
            pool.push();
            pool.await_gate();
        }
    });
    pool.work(0);
    for thread in [clearer, pusher] {
        thread.join().expect("a failed thread has failed the model");
    }
    pool.assert_at_rest();
}

/// Planted mistake: a worker that cleared the request, and finds a sleeper, sets the request again
/// without the heavy side, and wakes up to `sleepers_to_wake` sleepers.
fn clear_and_set<C: SleepCounters>(sleep: &Sleep<C, Slot>, sleepers_to_wake: usize) {
    if sleep.request.try_clear() {
        // ORDERING: SeqCst fence, as in the real `clear_request`.
        modelled::fence(modelled::Ordering::SeqCst);
        if sleep.counters.sleeping() > 0 {
            sleep.request.set();
            if sleepers_to_wake > 0 {
                sleep.wake_any(sleepers_to_wake);
            }
        }
    }
}

/// Two workers search. One worker finds an injected job, which pushes a private job and waits for
/// it. The other worker falls asleep meanwhile.
fn push_after_search<C: SleepCounters>() {
    let pool = Arc::new(Pool::<C, Slot>::new(Setup {
        workers: 2,
        injected: vec![Job::PushAndAwait],
        waiting: 1,
        ..one_job(OnDemand::right)
    }));
    let other = thread::spawn({
        let pool = Arc::clone(&pool);
        move || pool.work(1)
    });
    pool.work(0);
    other.join().expect("a failed thread has failed the model");
    pool.assert_at_rest();
}

fn push_two_dependent_jobs<C: SleepCounters>(is_oversubscribed: bool) {
    push_and_wait::<C, Slot>(Setup {
        pushed: vec![Job::AwaitGate, Job::OpenGate],
        on_demand: Some(OnDemand::right),
        is_oversubscribed,
        ..Setup::new(2)
    });
}

/// Thieves take a second job without a search. If the first three pushes find no request, a thief
/// exposes two jobs.
fn push_to_thieves_that_take_two<C: SleepCounters>(pushed: &[Job], next_job: NextJob) {
    push_and_wait::<C, Slot>(Setup {
        pushed: pushed.to_vec(),
        on_demand: Some(OnDemand::right),
        next_job: Some(next_job),
        ..Setup::new(2)
    });
}

/// The message if two threads have ended and the third sleeps, but a job is left.
const LEFT: &str = "a job is left to a sleeper that no thread wakes";

/// A pool in which worker 0 is asleep, and worker 1 stops searching or scans private jobs.
struct Three<C> {
    pool: OnDemand,
    sleep: Sleep<C, Slot>,
}

impl<C: SleepCounters> Three<C> {
    fn new(make: fn() -> OnDemand) -> Arc<Self> {
        let pool = make();
        Arc::new(Self {
            sleep: pool.sleep(3),
            pool,
        })
    }

    fn begin_search(&self, worker: usize) -> IdlePeriod<'static> {
        // Leaked, because a period may end in another thread of the model than it began in.
        let history = Box::leak(Box::new(SearchHistory::new(3, 3)));
        self.sleep.begin_search(worker, history)
    }

    /// The worker falls asleep. The worker does not really block, but the other workers cannot see
    /// that.
    fn fall_asleep(&self, worker: usize) -> IdlePeriod<'static> {
        let Self { pool, sleep } = self;
        let idle = self.begin_search(worker);
        let ticket = sleep.counters.become_sleepy(worker);
        let is_armed =
            sleep.slots[worker].try_arm(|| sleep.counters.try_begin_sleep(worker, ticket));
        assert!(is_armed, "the events say that no job came");
        sleep.before_scan();
        assert!(!pool.has_jobs(), "the worker would not sleep");
        idle
    }

    fn check(&self) {
        let is_asleep = self.sleep.counters.sleeping() > 0;
        assert!(!is_asleep || !self.pool.has_jobs(), "{LEFT}");
    }
}

impl<C: SleepCounters> Queues for Three<C> {
    fn has_broadcasts(&self) -> bool {
        false
    }

    fn has_injected(&self) -> bool {
        false
    }

    fn stealable(&self, at_most: usize) -> usize {
        at_most.min(usize::from(self.pool.has_jobs()))
    }
}

/// Worker 1 is the last that searches. Worker 1 takes a job and stops searching, while worker 2
/// pushes that job and a second one. Worker 2 does not come back for the second job.
fn last_searcher_leaves<C: SleepCounters>(make: fn() -> OnDemand) {
    let three = Three::<C>::new(make);
    let idle = three.begin_search(1);
    three.fall_asleep(0);
    let searcher = thread::spawn({
        let three = Arc::clone(&three);
        move || {
            let found = three.pool.steal(&three.sleep).is_some();
            if found {
                three.sleep.end_search(idle, &*three);
            }
            found
        }
    });
    three.pool.push(&three.sleep);
    three.pool.push(&three.sleep);
    if searcher
        .join()
        .expect("a failed thread has failed the model")
    {
        three.check();
    }
}

/// Worker 1 is in `yield_now`, and so is counted as active. Worker 1 scans private jobs once.
/// Meanwhile worker 2 takes its job back and pushes another one, for which it does not come back.
fn a_yield_scans_too_early<C: SleepCounters>() {
    let three = Three::<C>::new(OnDemand::right);
    three.pool.push(&three.sleep);
    let yielding = thread::spawn({
        let three = Arc::clone(&three);
        move || {
            if three.pool.stealer.expose_for_owner() {
                settle(|| three.pool.stealer.steal());
            }
        }
    });
    three.pool.deque.0.pop();
    three.fall_asleep(0);
    three.pool.push(&three.sleep);
    yielding
        .join()
        .expect("a failed thread has failed the model");
    three.check();
}

/// Workers 0 and 1 sleep. Worker 2 clears the request, and wakes worker 0, which has a job of
/// another queue and stops searching. Meanwhile another thread of the model pushes a job of a busy
/// worker that does not come back for it, and may not find the request.
fn a_woken_sleeper_leaves<C: SleepCounters>(clear: fn(&Sleep<C, Slot>)) {
    let three = Three::<C>::new(OnDemand::right);
    let idle = three.fall_asleep(0);
    three.fall_asleep(1);
    let clearer = thread::spawn({
        let three = Arc::clone(&three);
        move || {
            clear(&three.sleep);
            if three.sleep.counters.sleeping() < 2 {
                three.sleep.end_search(idle, &*three);
            }
        }
    });
    let is_unnoticed = three.pool.push_unnoticed(&three.sleep);
    clearer
        .join()
        .expect("a failed thread has failed the model");
    if is_unnoticed {
        three.check();
    }
}

/// Workers 0 and 1 fall asleep, and worker 0 may rely on the heavy side of worker 1. Meanwhile a
/// busy worker ends worker 1, pushes `jobs`, and waits for the last one outside the pool. If
/// `clears`, it first clears the request. Worker 1 is the model's first thread, so that it may fall
/// asleep before the other workers begin.
fn one_sleeper_relies_on_another<C: SleepCounters>(
    make: fn() -> OnDemand,
    jobs: &'static [Job],
    clears: bool,
) {
    let pool = Arc::new(Pool::<C, Slot>::new(Setup {
        pushed: jobs.to_vec(),
        on_demand: Some(make),
        ..Setup::new(2)
    }));
    let busy = thread::spawn({
        let pool = Arc::clone(&pool);
        move || {
            pool.set_latch(1);
            if clears {
                pool.sleep.clear_request();
            }
            jobs.iter().for_each(|_| pool.push());
            pool.await_gate();
        }
    });
    let other = thread::spawn({
        let pool = Arc::clone(&pool);
        move || pool.work(0)
    });
    pool.work(1);
    for thread in [busy, other] {
        thread.join().expect("a failed thread has failed the model");
    }
    pool.assert_at_rest();
}

const ONE: &[Job] = &[Job::OpenGate];
const TWO: &[Job] = &[Job::Tick, Job::OpenGate];

const LARGE: Bounds = Bounds {
    fast: Some(0),
    deep: Some(1),
};

macro_rules! with {
    ($($module:ident: $counters:ty;)*) => {
        $(mod $module {
            use super::*;
            holds! {
                a_private_job_finds_a_sleeper_or_is_found: PAIR, || push::<$counters>(OnDemand::right);
                an_exposed_job_finds_a_sleeper: PAIR, || push::<$counters>(OnDemand::with_old_request);
                a_private_job_is_not_lost_while_another_worker_clears_the_request: TRIO_WITH_STEPS, || clear_by::<$counters>(OnDemand::with_old_request, Sleep::clear_request);
                a_job_pushed_after_a_search_finds_a_sleeper_or_is_found: TWO_SLEEPERS, push_after_search::<$counters>;
                a_private_job_that_waits_for_the_next_one_gets_it: LARGE, || push_two_dependent_jobs::<$counters>(false);
                a_job_that_a_thief_steals_again_and_that_waits_for_the_next_one_gets_it: LARGE, || push_to_thieves_that_take_two::<$counters>(&[Job::Tick, Job::AwaitGate, Job::OpenGate], NextJob::Afterwards);
                the_second_of_two_jobs_is_not_left_to_a_sleeper: PAIR, || last_searcher_leaves::<$counters>(OnDemand::right);
                a_sleeper_that_relies_on_another_finds_a_job_or_is_found: TRIO_WITH_STEPS, || one_sleeper_relies_on_another::<$counters>(OnDemand::right, ONE, false);
                a_sleeper_that_relies_on_another_finds_the_second_job_or_is_found: TRIO_WITH_STEPS, || one_sleeper_relies_on_another::<$counters>(OnDemand::right, TWO, false);
                a_sleeper_does_not_rely_on_another_if_the_request_is_cleared: TRIO_WITH_STEPS, || one_sleeper_relies_on_another::<$counters>(OnDemand::with_old_request, ONE, true);
                a_woken_sleeper_that_leaves_does_not_leave_a_job_to_another_sleeper: PAIR, || a_woken_sleeper_leaves::<$counters>(Sleep::clear_request);
                a_job_pushed_while_a_yield_scans_is_not_left_to_a_sleeper: PAIR, a_yield_scans_too_early::<$counters>;
            }
        })*
    };
}

with! {
    packed: PackedJec;
    champion: PackedScansFirst;
}

// In variants that do not count searching workers, a sleeper must set the request. The mutant
// `that_requests_no_more` does not set it.
holds! {
    a_private_job_that_waits_for_the_next_one_gets_it_in_an_oversubscribed_pool: LARGE, || push_two_dependent_jobs::<PackedScansFirst>(true);
    a_private_job_is_not_lost_where_searchers_are_not_counted: TRIO_WITH_STEPS, || clear_by::<SplitNoJec>(OnDemand::with_old_request, Sleep::clear_request);
}

is_caught! {
    a_sleeper_that_fences_for_itself_alone_is_caught: PAIR, LOST, || push::<PackedJec>(|| OnDemand::with(Fences::without_heavy_ones()));
    a_sleeper_that_does_not_scan_private_jobs_is_caught: PAIR, LOST, || push_and_wait::<PackedJec, Slot>(Setup { unseen: Some(Unseen::Deques), ..one_job(OnDemand::right) });
    a_sleeper_that_fences_locally_is_caught: PAIR, LOST, || push::<PackedJec>(OnDemand::that_fences_locally);
    // Only variants that do not count searching workers can fail. In other variants, a worker that
    // clears the request sees the searching workers.
    a_sleeper_that_does_not_request_jobs_is_caught: TRIO_WITH_STEPS, LOST, || clear_by::<SplitNoJec>(OnDemand::that_requests_no_more, Sleep::clear_request);
    clearing_without_a_wake_is_caught: TRIO_WITH_STEPS, LOST, || clear_by::<PackedJec>(OnDemand::with_old_request, |sleep| clear_and_set(sleep, 0));
    publishing_a_later_request_is_caught: TRIO_WITH_STEPS, LOST, || one_sleeper_relies_on_another::<PackedJec>(OnDemand::that_publishes_a_later_request, ONE, true);
    relying_on_another_where_pushes_do_not_fence_is_caught: TRIO_WITH_STEPS, LOST, || one_sleeper_relies_on_another::<PackedJec>(|| OnDemand { offers_without_fence: true, ..OnDemand::right() }, TWO, false);
    taking_a_job_along_is_caught: LARGE, LOST, || push_to_thieves_that_take_two::<PackedScansFirst>(&[Job::AwaitGate, Job::OpenGate, Job::Tick], NextJob::Along);
    // These mistakes matter only in variants in which a worker that stops searching scans the
    // queues first.
    clearing_without_a_heavy_side_is_caught: PAIR, LEFT, || a_woken_sleeper_leaves::<PackedScansFirst>(|sleep| clear_and_set(sleep, 1));
    leaving_out_the_second_notification_is_caught: PAIR, LEFT, || last_searcher_leaves::<PackedScansFirst>(|| OnDemand { leaves_it_at_one: true, ..OnDemand::right() });
    offering_the_second_job_without_a_fence_is_caught: PAIR, LEFT, || last_searcher_leaves::<PackedScansFirst>(|| OnDemand { offers_without_fence: true, ..OnDemand::right() });
}
