use super::counters::variants::for_every_variant;
use super::counters::{EventsOf, Packed, SleepCounters, Split, dimensions::*};
use super::history::{FEWER_ROUNDS, ROUNDS};
use super::parking::{ParkingSlot, Slot, State};
use super::{IdlePeriod, MAX_WORKERS, Phase, Queues, SearchHistory, Sleep};
use crate::core_latch::CoreLatch;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

#[test]
fn a_slot_that_is_locked_says_so_instead_of_waiting() {
    let slot = Slot::new();
    let state = slot.state.lock();
    assert_eq!(format!("{slot:?}"), "Locked");
    drop(state);
    assert_eq!(format!("{slot:?}"), "Awake");
}

/// Ends the process when a test that lost a wake-up would wait for ever.
struct Watchdog(#[expect(dead_code, reason = "its drop ends the watchdog")] mpsc::Sender<()>);

impl Watchdog {
    fn new(test: &'static str) -> Self {
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            if receiver.recv_timeout(TIME_LIMIT * 3) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("{test}: a worker sleeps that should not");
                std::process::abort();
            }
        });
        Self(sender)
    }
}

/// How long another thread may take for a step that should take microseconds.
const TIME_LIMIT: Duration = Duration::from_secs(if cfg!(miri) { 100_000 } else { 20 });

#[derive(Default)]
struct Scripted<'a> {
    broadcasts: bool,
    injected: bool,
    stealable: usize,
    scans: Cell<usize>,
    /// The worker calls this closure, if there is one, while it scans the queues.
    meanwhile: Option<&'a dyn Fn()>,
}

impl Scripted<'_> {
    fn with_injected_job() -> Self {
        Self {
            injected: true,
            ..Self::default()
        }
    }
}

impl Queues for Scripted<'_> {
    fn has_broadcasts(&self) -> bool {
        self.scans.set(self.scans.get() + 1);
        if let Some(meanwhile) = self.meanwhile {
            meanwhile();
        }
        self.broadcasts
    }

    fn has_injected(&self) -> bool {
        self.injected
    }

    fn stealable(&self, at_most: usize) -> usize {
        at_most.min(self.stealable)
    }
}

/// The history of a worker of a pool of four, whose next attempts to spin are skipped.
fn of_four() -> SearchHistory {
    SearchHistory::that_skips_spins(4, 4)
}

fn one_worker<C: SleepCounters>(history: &SearchHistory) -> (Sleep<C>, IdlePeriod<'_>, CoreLatch) {
    let sleep = Sleep::<C>::with_workers(1);
    let idle = sleep.begin_search(0, history);
    (sleep, idle, CoreLatch::new())
}

/// Puts the worker to sleep until another thread wakes it.
fn sleep_until_woken<C: SleepCounters>(sleep: &Sleep<C>, worker: usize) {
    let (history, latch) = (of_four(), CoreLatch::new());
    let mut idle = sleep.begin_search(worker, &history);
    rounds_until_scan(sleep, &mut idle, &latch, &Scripted::default());
}

fn rounds_until_scan<C: SleepCounters>(
    sleep: &Sleep<C>,
    idle: &mut IdlePeriod<'_>,
    latch: &CoreLatch,
    queues: &Scripted<'_>,
) -> u32 {
    let scans = queues.scans.get();
    for round in 1..1_000 {
        sleep.found_nothing(idle, latch, queues);
        if queues.scans.get() > scans {
            return round;
        }
    }
    panic!("1000 rounds without an attempt to sleep");
}

/// Asserts that the worker first scans after all rounds, and next after fewer. The job in `queues`
/// keeps it awake.
fn assert_all_rounds_and_then_fewer<C: SleepCounters>(
    sleep: &Sleep<C>,
    idle: &mut IdlePeriod<'_>,
    queues: &Scripted<'_>,
) {
    let latch = CoreLatch::new();
    for rounds in [ROUNDS, FEWER_ROUNDS] {
        assert_eq!(rounds_until_scan(sleep, idle, &latch, queues), rounds + 2);
    }
}

fn a_worker_searches_for_its_rounds_and_twice_more_before_it_tries_to_sleep<C: SleepCounters>() {
    let history = of_four();
    let (sleep, mut idle, _) = one_worker::<C>(&history);
    assert_all_rounds_and_then_fewer(&sleep, &mut idle, &Scripted::with_injected_job());
}

#[test]
fn only_workers_of_wide_or_oversubscribed_pools_begin_with_all_rounds() {
    let of_pool = |workers, cpus| SearchHistory::new(workers, cpus).rounds(false);
    assert_eq!((of_pool(3, 4), of_pool(4, 4)), (FEWER_ROUNDS, ROUNDS));
    assert_eq!(of_pool(3, 2), ROUNDS);
}

#[test]
fn only_workers_of_oversubscribed_pools_have_all_rounds_after_they_slept() {
    let of_pool = |cpus| SearchHistory::new(4, cpus).rounds(true);
    assert_eq!((of_pool(4), of_pool(3)), (FEWER_ROUNDS, ROUNDS));
}

fn a_notification_costs_a_sleepy_worker_one_more_search_and_not_all_rounds<C: SleepCounters>() {
    let history = of_four();
    let (sleep, mut idle, latch) = one_worker::<C>(&history);
    let queues = Scripted::with_injected_job();
    for _ in 0..=ROUNDS {
        sleep.found_nothing(&mut idle, &latch, &queues);
    }
    sleep.job_pushed(true);
    sleep.found_nothing(&mut idle, &latch, &queues);
    if EventsOf::<C>::COUNTED {
        assert_eq!(
            queues.scans.get(),
            0,
            "the notification alone keeps the worker awake"
        );
        assert_eq!(rounds_until_scan(&sleep, &mut idle, &latch, &queues), 2);
    } else {
        assert_eq!(
            queues.scans.get(),
            1,
            "without an events counter the worker scans the queues"
        );
    }
}

/// Waits until the first `workers` workers are blocked. A worker that counts as asleep may not be
/// blocked yet: a split layout counts a worker first, and lets it back out if a producer notifies.
fn until_blocked<C: SleepCounters>(sleep: &Sleep<C>, workers: usize) {
    let since = Instant::now();
    let is_blocked = |slot: &Slot| *slot.state.lock() == State::Parked;
    while !sleep.slots[..workers].iter().all(|slot| is_blocked(slot)) {
        assert!(
            since.elapsed() < TIME_LIMIT,
            "not all of {workers} workers fell asleep"
        );
        std::thread::yield_now();
    }
    assert_eq!(sleep.counters.sleeping(), workers);
}

fn is_woken<C: SleepCounters>(wake: impl Fn(&Sleep<C>)) {
    // Worker 0 sleeps; worker 1 exists so that `wake` can act as a second worker.
    let sleep = Sleep::<C>::with_workers(2);
    std::thread::scope(|scope| {
        scope.spawn(|| sleep_until_woken(&sleep, 0));
        until_blocked(&sleep, 1);
        wake(&sleep);
    });
    assert_eq!(
        sleep.counters.sleeping(),
        0,
        "the waker must have taken the worker out of S"
    );
}

fn a_sleeper_is_woken_beside_a_searcher_if_jobs_lie_on_the_queue<C: SleepCounters>() {
    is_woken::<C>(|sleep| {
        let history = of_four();
        let searcher = sleep.begin_search(1, &history);
        sleep.job_pushed(false);
        assert_eq!(sleep.counters.sleeping(), 0);
        sleep.end_search(searcher, &Scripted::default());
    });
}

fn a_sleeper_is_woken_by_name_and_once<C: SleepCounters>() {
    is_woken::<C>(|sleep| {
        assert!(sleep.wake_worker(0));
        assert!(!sleep.wake_worker(0));
    });
}

fn a_searcher_that_stops_wakes_two_of_three_sleepers<C: SleepCounters>() {
    let sleep = Sleep::<C>::with_workers(4);
    let roused = [const { AtomicUsize::new(0) }; 3];
    std::thread::scope(|scope| {
        for worker in 0..3 {
            let (sleep, roused) = (&sleep, &roused);
            scope.spawn(move || {
                sleep_until_woken(sleep, worker);
                roused[worker].store(1, Ordering::Release);
            });
        }
        let history = of_four();
        let idle = sleep.begin_search(3, &history);
        until_blocked(&sleep, 3);
        sleep.end_search(idle, &Scripted::default());
        assert_eq!(sleep.counters.sleeping(), 1);
        while roused[..2]
            .iter()
            .any(|roused| roused.load(Ordering::Acquire) == 0)
        {
            std::thread::yield_now();
        }
        assert_eq!(roused[2].load(Ordering::Acquire), 0);
        assert!(sleep.wake_worker(2));
    });
}

type ScansFirst = Split<(Jec, NoFence, IdleFirst, Inline, WakeWhereWorkIs)>;

fn would_get_sleepy<'p>(sleep: &Sleep<ScansFirst>, history: &'p SearchHistory) -> IdlePeriod<'p> {
    let mut idle = sleep.begin_search(0, history);
    idle.phase = Phase::Searching { rounds_left: 0 };
    sleep.found_nothing(&mut idle, &CoreLatch::new(), &Scripted::default());
    idle
}

#[test]
fn with_scans_first_the_last_three_searchers_spin() {
    let sleep = Sleep::<ScansFirst>::with_workers(4);
    let history = SearchHistory::new(4, 4);
    let queues = Scripted::default();
    let mut others: Vec<_> = (1..3)
        .map(|worker| sleep.begin_search(worker, &history))
        .collect();
    let mut idle = would_get_sleepy(&sleep, &history);
    assert!(matches!(idle.phase, Phase::Spinning));

    others.push(sleep.begin_search(3, &history));
    sleep.found_nothing(&mut idle, &CoreLatch::new(), &queues);
    assert!(
        matches!(idle.phase, Phase::Sleepy(_)),
        "three other workers search"
    );
    sleep.end_search(idle, &queues);
    let idle = would_get_sleepy(&sleep, &history);
    assert!(
        matches!(idle.phase, Phase::Sleepy(_)),
        "three other workers search"
    );
    sleep.end_search(idle, &queues);
    for other in others {
        sleep.end_search(other, &queues);
    }
}

#[test]
fn a_worker_whose_scan_saw_work_three_times_in_a_row_spins_before_the_next_one() {
    let sleep = Sleep::<ScansFirst>::with_workers(1);
    let history = SearchHistory::that_skips_spins(1, 1);
    let queues = Scripted::with_injected_job();
    let latch = CoreLatch::new();
    let mut idle = sleep.begin_search(0, &history);
    for scans in 0..=3 {
        assert_eq!(queues.scans.get(), scans);
        for _ in 0..=FEWER_ROUNDS {
            sleep.found_nothing(&mut idle, &latch, &queues);
        }
        assert_eq!(matches!(idle.phase, Phase::Spinning), scans == 3);
        sleep.found_nothing(&mut idle, &latch, &queues);
    }
    sleep.end_search(idle, &queues);
}

#[test]
fn a_worker_of_a_pool_of_four_has_fewer_rounds_after_a_scan_that_saw_work() {
    let sleep = Sleep::<ScansFirst>::with_workers(4);
    let history = of_four();
    let queues = Scripted::with_injected_job();
    let mut idle = sleep.begin_search(0, &history);
    assert_all_rounds_and_then_fewer(&sleep, &mut idle, &queues);
    sleep.end_search(idle, &queues);
}

#[test]
fn of_those_that_scan_first_a_searcher_that_stops_wakes_a_sleeper_only_where_it_sees_work() {
    let _watchdog = Watchdog::new("a searcher that scans first");
    let sleep = Sleep::<ScansFirst>::with_workers(2);
    std::thread::scope(|scope| {
        scope.spawn(|| sleep_until_woken(&sleep, 0));
        until_blocked(&sleep, 1);
        let history = of_four();
        sleep.end_search(sleep.begin_search(1, &history), &Scripted::default());
        assert_eq!(
            sleep.counters.sleeping(),
            1,
            "a sleeper was woken although no queue has a job"
        );
        let injected = Scripted {
            injected: true,
            ..Scripted::default()
        };
        sleep.end_search(sleep.begin_search(1, &history), &injected);
        assert_eq!(
            sleep.counters.sleeping(),
            0,
            "no sleeper was woken although a job waits"
        );
    });
}

#[test]
fn beside_a_searcher_one_that_stops_wakes_helpers_only_where_jobs_are_long() {
    let _watchdog = Watchdog::new("helpers for long jobs");
    let sleep = Sleep::<ScansFirst>::with_workers(4);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let sleep = &sleep;
            scope.spawn(move || sleep_until_woken(sleep, worker));
        }
        until_blocked(&sleep, 2);
        let history = of_four();
        let searcher = sleep.begin_search(2, &history);
        let (short, long) = (SearchHistory::new(0, 0), SearchHistory::of_long_jobs());
        let stop = |stealable, history| {
            let queues = Scripted {
                stealable,
                ..Scripted::default()
            };
            sleep.end_search(sleep.begin_search(3, history), &queues);
            sleep.counters.sleeping()
        };
        assert_eq!(stop(10, &short), 2, "a sleeper was woken for short jobs");
        assert_eq!(
            stop(1, &long),
            2,
            "a sleeper was woken for a job that the searcher takes"
        );
        assert_eq!(
            stop(10, &long),
            0,
            "not all sleepers were woken although long jobs wait"
        );
        sleep.end_search(searcher, &Scripted::default());
    });
}

/// Returns how many of `asleep` sleepers are left in a pool of four workers on two CPUs, after the
/// last worker stopped searching and saw no work.
fn left_asleep_if_oversubscribed(asleep: usize) -> usize {
    let sleep = Sleep::<ScansFirst>::with_workers(4);
    for worker in 0..asleep {
        sleep.counters.begin_search(worker);
        let ticket = sleep.counters.become_sleepy(worker);
        let slot = &sleep.slots[worker];
        assert!(slot.try_arm(|| sleep.counters.try_begin_sleep(worker, ticket)));
    }
    let history = SearchHistory::new(4, 2);
    sleep.end_search(sleep.begin_search(3, &history), &Scripted::default());
    sleep.counters.sleeping()
}

#[test]
fn in_an_oversubscribed_pool_a_searcher_that_stops_wakes_two_unless_all_others_sleep() {
    assert_eq!(left_asleep_if_oversubscribed(2), 0, "worker 2 is busy");
    assert_eq!(left_asleep_if_oversubscribed(1), 0, "two workers are busy");
    assert_eq!(left_asleep_if_oversubscribed(3), 3, "no queue has a job");
}

#[test]
fn where_searchers_are_not_counted_no_helper_is_woken() {
    let sleep =
        Sleep::<Split<(Jec, NoFence, SleepersOnly, Inline, WakeWhereWorkIs)>>::with_workers(2);
    sleep.counters.begin_search(0);
    let ticket = sleep.counters.become_sleepy(0);
    assert!(sleep.counters.try_begin_sleep(0, ticket) && sleep.counters.sleeping() == 1);
    let queues = Scripted {
        stealable: 10,
        ..Scripted::default()
    };
    assert_eq!(
        sleep.wanted_beside_searchers(&SearchHistory::of_long_jobs(), &queues),
        0
    );
}

macro_rules! policy_tests {
    ($layout:ident $($dimension:ident)*) => {
        policy_tests! { @tests $layout<($($dimension),*)>:
            a_worker_searches_for_its_rounds_and_twice_more_before_it_tries_to_sleep,
            a_notification_costs_a_sleepy_worker_one_more_search_and_not_all_rounds,
            a_sleeper_is_woken_beside_a_searcher_if_jobs_lie_on_the_queue,
            a_sleeper_is_woken_by_name_and_once,
            a_searcher_that_stops_wakes_two_of_three_sleepers,
        }
    };
    (@tests $counters:ty: $($test:ident,)*) => {
        $(#[test]
        fn $test() {
            let _watchdog = Watchdog::new(concat!(stringify!($test), ", ", stringify!($counters)));
            crate::sleep::tests::$test::<$counters>();
        })*
    };
}
for_every_variant!(in_modules policy_tests);

#[test]
#[should_panic(expected = "is the most that can be counted")]
fn a_pool_too_large_to_count_is_refused() {
    let _ = Sleep::new(MAX_WORKERS + 1, false);
}

#[cfg(all(feature = "demand", target_os = "linux", not(miri)))]
#[test]
fn the_deque_of_a_pools_only_worker_has_no_fences_whether_or_not_the_process_is_registered() {
    let fences = Sleep::new(1, false).fences();
    assert_eq!(fences.name(), "membarrier");
    assert!(!fences.is_register_called_for());
}

#[cfg(all(feature = "demand", target_os = "linux", not(miri)))]
#[test]
fn one_worker_leaves_a_pool_to_register_the_process_and_only_when_the_pool_is_old() {
    use super::demand::{Jobs, REGISTERS_AFTER, StealRequest};
    use crate::sync::modelled::Fences;

    let request = StealRequest::new(Jobs::Private, Fences::unregistered());
    let mut sleep =
        Sleep::<Packed<(Jec, NoFence, IdleFirst, Inline, WakeWhereWorkIs)>>::with_request(
            2, request,
        );
    let ticket = sleep.counters.become_sleepy(0);
    let history = of_four();
    let sleepy = |worker| IdlePeriod {
        worker,
        phase: Phase::Sleepy(ticket),
        history: &history,
    };
    assert!(
        !sleep.try_begin_registering(&sleepy(0)),
        "the pool is young"
    );
    sleep.request.built = Instant::now().checked_sub(REGISTERS_AFTER);
    let awake = IdlePeriod {
        phase: Phase::Searching { rounds_left: 0 },
        ..sleepy(0)
    };
    assert!(!sleep.try_begin_registering(&awake), "a job may come soon");
    assert!(sleep.try_begin_registering(&sleepy(0)));
    assert!(
        !sleep.try_begin_registering(&sleepy(1)),
        "another worker has gone to register"
    );
}
