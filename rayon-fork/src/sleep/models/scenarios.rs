//! The scenarios of the models, with what must be true at their end. If no thread takes a job,
//! every thread blocks.

use super::pool::{Caller, Job, Pool, Setup, Unseen};
use crate::sleep::counters::SleepCounters;
use crate::sleep::parking::ParkingSlot;
use loom::thread;
use std::sync::Arc;

/// All workers except an owner search or sleep in threads of their own, while `meanwhile` happens
/// here. At the end every job must have run.
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
    for thread in threads {
        thread.join().expect("a failed thread has failed the model");
    }
    pool.assert_at_rest();
}

/// A job is injected while the only worker falls asleep.
pub(super) fn inject<C: SleepCounters, S: ParkingSlot + 'static>() {
    play::<C, S>(
        Setup {
            injected: vec![Job::Tick],
            ..Setup::new(1)
        },
        |pool| pool.inject(),
    );
}

/// The same, when a producer has notified since a worker last became sleepy.
pub(super) fn inject_after_notification<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        injected: vec![Job::Tick],
        starts_notified: true,
        ..Setup::new(1)
    };
    play::<C, S>(setup, |pool| pool.inject());
}

/// The same, with sleepers that do not scan the injector.
pub(super) fn inject_unseen<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        injected: vec![Job::Tick],
        unseen: Some(Unseen::Injector),
        ..Setup::new(1)
    };
    play::<C, S>(setup, |pool| pool.inject());
}

fn push_setup() -> Setup {
    Setup {
        pushed: vec![Job::OpenGate],
        ..Setup::new(1)
    }
}

fn push_and_wait<C: SleepCounters, S: ParkingSlot + 'static>(setup: Setup) {
    play::<C, S>(setup, |pool| {
        pool.push();
        pool.await_gate();
    });
}

/// A busy worker pushes a job and waits for it outside the pool while the only other worker falls
/// asleep.
pub(super) fn push<C: SleepCounters, S: ParkingSlot + 'static>() {
    push_and_wait::<C, S>(push_setup());
}

/// The same, when a producer has notified since a worker last became sleepy.
pub(super) fn push_after_notification<C: SleepCounters, S: ParkingSlot + 'static>() {
    push_and_wait::<C, S>(Setup {
        starts_notified: true,
        ..push_setup()
    });
}

/// The same, with sleepers that do not scan deques.
pub(super) fn push_unseen<C: SleepCounters, S: ParkingSlot + 'static>() {
    push_and_wait::<C, S>(Setup {
        unseen: Some(Unseen::Deques),
        ..push_setup()
    });
}

/// Two workers search or sleep. One finds a job that waits for another, which is injected
/// meanwhile. A worker that stops searching must not leave the second job to a sleeper that no
/// thread wakes.
pub(super) fn inject_what_a_job_awaits<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        injected: vec![Job::AwaitGate, Job::OpenGate],
        waiting: 1,
        ..Setup::new(2)
    };
    play::<C, S>(setup, |pool| pool.inject());
}

/// The same, with workers that scan the queues before they leave the count of searching workers.
pub(super) fn inject_what_a_job_awaits_scanning_first<
    C: SleepCounters,
    S: ParkingSlot + 'static,
>() {
    let setup = Setup {
        injected: vec![Job::AwaitGate, Job::OpenGate],
        waiting: 1,
        scans_before_leaving: true,
        ..Setup::new(2)
    };
    play::<C, S>(setup, |pool| pool.inject());
}

/// As [`inject_what_a_job_awaits`], with the second job pushed by a busy worker.
pub(super) fn push_what_a_job_awaits<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        injected: vec![Job::AwaitGate],
        waiting: 1,
        pushed: vec![Job::OpenGate],
        ..Setup::new(2)
    };
    play::<C, S>(setup, |pool| {
        pool.push();
        pool.await_gate();
    });
}

/// A worker's latch is set while it falls asleep.
pub(super) fn set_latch<C: SleepCounters, S: ParkingSlot + 'static>() {
    play::<C, S>(Setup::new(1), |pool| pool.set_latch(0));
}

/// A broadcast reaches a worker that falls asleep.
pub(super) fn broadcast<C: SleepCounters, S: ParkingSlot + 'static>() {
    play::<C, S>(
        Setup {
            shares: vec![Job::Tick],
            ..Setup::new(1)
        },
        |pool| pool.broadcast(),
    );
}

/// One job is pushed and one injected, by two threads, for one worker.
pub(super) fn two_producers<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        pushed: vec![Job::Tick],
        injected: vec![Job::Tick],
        ..Setup::new(1)
    };
    play::<C, S>(setup, |pool| {
        let external_thread = thread::spawn({
            let pool = Arc::clone(pool);
            move || pool.inject()
        });
        pool.push();
        external_thread
            .join()
            .expect("a failed thread has failed the model");
    });
}

/// One injected job for two workers; then both are ended.
pub(super) fn one_job_for_two<C: SleepCounters, S: ParkingSlot + 'static>() {
    play::<C, S>(
        Setup {
            injected: vec![Job::Tick],
            ..Setup::new(2)
        },
        |pool| pool.inject(),
    );
}

/// A busy worker pushes two jobs and waits for the second, for which the first waits too.
pub(super) fn push_two_dependent_jobs<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        pushed: vec![Job::AwaitGate, Job::OpenGate],
        ..Setup::new(2)
    };
    play::<C, S>(setup, |pool| {
        pool.push();
        pool.push();
        pool.await_gate();
    });
}

/// A pool ends while its two workers fall asleep.
pub(super) fn terminate<C: SleepCounters, S: ParkingSlot + 'static>() {
    play::<C, S>(Setup::new(2), |pool| {
        pool.set_latch(0);
        pool.set_latch(1);
    });
}

/// A worker of one pool lets another pool run a job, and sleeps on a latch until that job has
/// ended. Then it ends the other pool.
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
    thread.join().expect("a failed thread has failed the model");
    home.assert_at_rest();
    other.assert_at_rest();
}

/// See [`call`].
pub(super) fn call_another_pool<C: SleepCounters, S: ParkingSlot + 'static>() {
    call::<C, S>(false);
}

/// The same with a pool that mistakes the calling worker for one of its own.
pub(super) fn call_another_pool_that_wakes_its_own<C: SleepCounters, S: ParkingSlot + 'static>() {
    call::<C, S>(true);
}

/// A broadcast comes to wake the worker while it backs out of sleep because of an injected job, or
/// the other way round.
pub(super) fn broadcast_and_inject<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        shares: vec![Job::Tick],
        injected: vec![Job::Tick],
        ..Setup::new(1)
    };
    play::<C, S>(setup, |pool| {
        let external_thread = thread::spawn({
            let pool = Arc::clone(pool);
            move || pool.inject()
        });
        pool.broadcast();
        external_thread
            .join()
            .expect("a failed thread has failed the model");
    });
}

/// The thread that built the pool is its worker 0, and has no main loop. It pushes a job and waits
/// for it as a scope does. An external thread injects a second job, for which the first one waits.
/// The other of the two workers must take the second job, even if it is asleep.
pub(super) fn wait_for_a_scope<C: SleepCounters, S: ParkingSlot + 'static>() {
    let setup = Setup {
        pushed: vec![Job::AwaitGate],
        injected: vec![Job::OpenGate],
        is_owned: true,
        ..Setup::new(2)
    };
    play::<C, S>(setup, |pool| {
        let external_thread = thread::spawn({
            let pool = Arc::clone(pool);
            move || pool.inject()
        });
        pool.push();
        pool.work(0);
        external_thread
            .join()
            .expect("a failed thread has failed the model");
        pool.end_workers_from(1);
    });
}
