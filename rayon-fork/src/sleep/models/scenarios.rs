//! The scenarios of the models. If a job is left that no thread takes, every thread blocks, which
//! loom reports.

use super::pool::{Caller, Job, Pool, Setup, Unseen};
use crate::sleep::counters::SleepCounters;
use crate::sleep::parking::ParkingSlot;
use loom::thread::{self, JoinHandle};
use std::sync::Arc;

/// Runs each worker, except the owner if there is one, in a thread of its own. Runs `meanwhile` in
/// the calling thread.
pub(super) fn play<C: SleepCounters, S: ParkingSlot + 'static>(
    setup: Setup,
    meanwhile: impl FnOnce(&Arc<Pool<C, S>>),
) {
    let workers = usize::from(setup.is_owned)..setup.workers;
    let pool = Arc::new(Pool::<C, S>::new(setup));
    let threads: Vec<_> = workers
        .map(|worker| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || pool.work(worker))
        })
        .collect();
    meanwhile(&pool);
    threads.into_iter().for_each(end);
    pool.assert_at_rest();
}

fn end(thread: JoinHandle<()>) {
    thread.join().expect("a failed thread has failed the model");
}

fn inject_in_a_thread<C: SleepCounters, S: ParkingSlot + 'static>(
    pool: &Arc<Pool<C, S>>,
) -> JoinHandle<()> {
    let pool = Arc::clone(pool);
    thread::spawn(move || pool.inject())
}

fn inject_into<C: SleepCounters, S: ParkingSlot + 'static>(setup: Setup) {
    play::<C, S>(setup, |pool| pool.inject());
}

fn inject_setup(workers: usize) -> Setup {
    Setup {
        injected: vec![Job::Tick],
        ..Setup::new(workers)
    }
}

pub(super) fn inject<C: SleepCounters, S: ParkingSlot + 'static>() {
    inject_into::<C, S>(inject_setup(1));
}

pub(super) fn inject_after_notification<C: SleepCounters, S: ParkingSlot + 'static>() {
    inject_into::<C, S>(Setup {
        starts_notified: true,
        ..inject_setup(1)
    });
}

/// Planted mistake: sleepers do not scan the injector.
pub(super) fn inject_unseen<C: SleepCounters, S: ParkingSlot + 'static>() {
    inject_into::<C, S>(Setup {
        unseen: Some(Unseen::Injector),
        ..inject_setup(1)
    });
}

pub(super) fn one_job_for_two<C: SleepCounters, S: ParkingSlot + 'static>() {
    inject_into::<C, S>(inject_setup(2));
}

fn push_setup() -> Setup {
    Setup {
        pushed: vec![Job::OpenGate],
        ..Setup::new(1)
    }
}

pub(super) fn push_and_wait<C: SleepCounters, S: ParkingSlot + 'static>(setup: Setup) {
    let pushes = setup.pushed.len();
    play::<C, S>(setup, |pool| {
        (0..pushes).for_each(|_| pool.push());
        pool.await_gate();
    });
}

/// A busy worker pushes one job, and waits for it outside the pool while the only other worker
/// falls asleep.
pub(super) fn push<C: SleepCounters, S: ParkingSlot + 'static>() {
    push_and_wait::<C, S>(push_setup());
}

pub(super) fn push_after_notification<C: SleepCounters, S: ParkingSlot + 'static>() {
    push_and_wait::<C, S>(Setup {
        starts_notified: true,
        ..push_setup()
    });
}

/// Planted mistake: sleepers do not scan deques.
pub(super) fn push_unseen<C: SleepCounters, S: ParkingSlot + 'static>() {
    push_and_wait::<C, S>(Setup {
        unseen: Some(Unseen::Deques),
        ..push_setup()
    });
}

fn inject_awaited_setup() -> Setup {
    Setup {
        injected: vec![Job::AwaitGate, Job::OpenGate],
        waiting: 1,
        ..Setup::new(2)
    }
}

/// One of two workers finds a job that waits for a second job, which is injected meanwhile. A
/// worker that stops searching must not leave the second job to a sleeper that no thread wakes.
pub(super) fn inject_what_a_job_awaits<C: SleepCounters, S: ParkingSlot + 'static>() {
    inject_into::<C, S>(inject_awaited_setup());
}

/// Planted mistake: a worker that stops searching scans the queues before it leaves the count.
pub(super) fn inject_what_a_job_awaits_scanning_first<
    C: SleepCounters,
    S: ParkingSlot + 'static,
>() {
    inject_into::<C, S>(Setup {
        scans_before_leaving: true,
        ..inject_awaited_setup()
    });
}

pub(super) fn push_what_a_job_awaits<C: SleepCounters, S: ParkingSlot + 'static>() {
    push_and_wait::<C, S>(Setup {
        injected: vec![Job::AwaitGate],
        waiting: 1,
        pushed: vec![Job::OpenGate],
        ..Setup::new(2)
    });
}

pub(super) fn set_latch<C: SleepCounters, S: ParkingSlot + 'static>() {
    play::<C, S>(Setup::new(1), |pool| pool.set_latch(0));
}

pub(super) fn broadcast<C: SleepCounters, S: ParkingSlot + 'static>() {
    play::<C, S>(
        Setup {
            shares: vec![Job::Tick],
            ..Setup::new(1)
        },
        |pool| pool.broadcast(),
    );
}

pub(super) fn two_producers<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        pushed: vec![Job::Tick],
        injected: vec![Job::Tick],
        ..Setup::new(1)
    };
    play::<C, S>(setup, |pool| {
        let external_thread = inject_in_a_thread(pool);
        pool.push();
        end(external_thread);
    });
}

pub(super) fn push_two_dependent_jobs<C: SleepCounters, S: ParkingSlot + 'static>(
    is_oversubscribed: bool,
) {
    push_and_wait::<C, S>(Setup {
        pushed: vec![Job::AwaitGate, Job::OpenGate],
        is_oversubscribed,
        ..Setup::new(2)
    });
}

pub(super) fn terminate<C: SleepCounters, S: ParkingSlot + 'static>() {
    play::<C, S>(Setup::new(2), |pool| {
        pool.set_latch(0);
        pool.set_latch(1);
    });
}

/// A worker of one pool lets another pool run a job, and sleeps on a latch until that job has
/// ended.
fn call<C: SleepCounters, S: ParkingSlot + 'static>(is_mistaken_for_own: bool) {
    let home = Arc::new(Pool::<C, S>::new(Setup::new(1)));
    let caller = Caller {
        pool: Arc::clone(&home),
        is_mistaken_for_own,
    };
    let setup = Setup {
        injected: vec![Job::Tick],
        ..Setup::new(1)
    };
    let other = Arc::new(Pool::new(setup).called_by(caller));
    let thread = thread::spawn({
        let other = Arc::clone(&other);
        move || other.work(0)
    });
    other.inject();
    home.work(0);
    other.end_workers_from(0);
    end(thread);
    home.assert_at_rest();
    other.assert_at_rest();
}

pub(super) fn call_another_pool<C: SleepCounters, S: ParkingSlot + 'static>() {
    call::<C, S>(false);
}

/// Planted mistake: the setter takes the calling worker for a worker of its own pool.
pub(super) fn call_another_pool_that_wakes_its_own<C: SleepCounters, S: ParkingSlot + 'static>() {
    call::<C, S>(true);
}

/// A broadcast and an injected job come at the same time. One of the two wakes the worker while the
/// worker backs out of sleep for the other.
pub(super) fn broadcast_and_inject<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        shares: vec![Job::Tick],
        injected: vec![Job::Tick],
        ..Setup::new(1)
    };
    play::<C, S>(setup, |pool| {
        let external_thread = inject_in_a_thread(pool);
        pool.broadcast();
        end(external_thread);
    });
}

/// Worker 0 built the pool and has no main loop. Worker 0 pushes a job and waits for it as a scope
/// does. An external thread injects a second job, for which the first job waits. If one worker runs
/// the first job, the other worker must take the second job, even if that worker is asleep.
pub(super) fn wait_for_a_scope<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        pushed: vec![Job::AwaitGate],
        injected: vec![Job::OpenGate],
        is_owned: true,
        ..Setup::new(2)
    };
    play::<C, S>(setup, |pool| {
        let external_thread = inject_in_a_thread(pool);
        pool.push();
        pool.work(0);
        end(external_thread);
        pool.end_workers_from(1);
    });
}
