//! Models of a FIFO pool in a build whose other pools keep jobs private. In a FIFO pool all jobs
//! are shared at once, pushes fence, and sleepers scan.

use super::on_demand::PackedScansFirst;
use super::pool::{Job, Setup};
use super::scenarios::push_and_wait;
use super::{LOST, PAIR, TRIO, holds, is_caught};
use crate::sleep::parking::Slot;

fn push(setup: Setup) {
    push_and_wait::<PackedScansFirst, Slot>(setup);
}

/// A busy worker pushes one job while the only other worker falls asleep. The events counter is odd
/// at the start.
fn one_job() -> Setup {
    Setup {
        pushed: vec![Job::OpenGate],
        starts_notified: true,
        scans: true,
        ..Setup::new(1)
    }
}

/// The first job waits for the second job, while two workers search or sleep.
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
