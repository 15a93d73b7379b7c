//! Models of a FIFO pool, whose workers take the oldest job first, in a build whose other pools
//! keep jobs private. Here all jobs are shared at once, pushes fence, and sleepers scan. A worker
//! that stops searching scans the queues before it wakes others.

use super::on_demand::PackedScansFirst;
use super::pool::{Job, Setup};
use super::scenarios::play;
use super::{LOST, PAIR, TRIO, holds, is_caught};
use crate::sleep::parking::Slot;

/// A busy worker pushes all jobs, and waits for them outside the pool.
fn push(setup: Setup) {
    let pushes = setup.pushed.len();
    play::<PackedScansFirst, Slot>(setup, |pool| {
        (0..pushes).for_each(|_| pool.push());
        pool.await_gate();
    });
}

/// One job, while the only other worker falls asleep. A producer has notified before, so that the
/// events are odd.
fn one_job() -> Setup {
    Setup {
        pushed: vec![Job::OpenGate],
        starts_notified: true,
        scans: true,
        ..Setup::new(1)
    }
}

/// The first job waits for the second, while two workers search or sleep.
fn two_jobs() -> Setup {
    Setup {
        pushed: vec![Job::AwaitGate, Job::OpenGate],
        scans: true,
        ..Setup::new(2)
    }
}

holds! {
    a_shared_job_after_notification_finds_a_sleeper_or_is_found: PAIR, || push(one_job());
    a_shared_job_that_waits_for_the_next_one_gets_it: TRIO, || push(two_jobs());
}

is_caught! {
    a_push_that_does_not_fence_for_a_scan_is_caught: PAIR, LOST, || {
        push(Setup {
            is_push_unfenced: true,
            ..one_job()
        })
    };
    a_push_that_does_not_fence_for_who_stops_searching_is_caught: TRIO, LOST, || {
        push(Setup {
            is_push_unfenced: true,
            ..two_jobs()
        })
    };
}
