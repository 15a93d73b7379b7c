//! Searches, sleeps, and wakes.

use crate::common::pool;
#[cfg(feature = "demand")]
use crate::common::{meet, patiently};
use crate::{count, during, rest, sum_of};
use rayon_core::instrument::snapshot;

#[test]
fn workers_without_a_job_search_in_vain_doze_and_sleep() {
    let pool = pool(3);
    rest(&pool);
    for worker in &snapshot(&pool).workers {
        for name in ["searches", "search_rounds", "yields", "dozes", "sleeps"] {
            assert!(count(worker, name) >= 1, "{name} in {worker:?}");
        }
        assert_eq!(count(worker, "jobs_executed"), 0);
    }
}

#[test]
fn after_each_search_in_vain_a_worker_yields_or_pauses_or_tries_to_sleep() {
    let pool = pool(2);
    pool.install(|| ());
    rest(&pool);
    for worker in &snapshot(&pool).workers {
        let ends = sum_of(worker, &["yields", "pauses", "sleeps", "sleeps_cancelled"]);
        assert_eq!(count(worker, "search_rounds"), ends);
        let attempts = sum_of(worker, &["sleeps", "sleeps_cancelled"]);
        assert!(
            count(worker, "dozes") >= attempts,
            "dozes before {attempts} attempts to sleep"
        );
    }
}

#[test]
fn a_sleeper_that_comes_for_a_job_another_has_got_was_woken_in_vain() {
    let pool = pool(2);
    rest(&pool);
    // The injection wakes one worker. When that has the job, it wakes the other to search for more,
    // unless it looks first.
    let woken_in_vain = u64::from(!cfg!(feature = "wake-where-work-is"));
    let counts = during(&pool, || {
        pool.install(|| ());
        rest(&pool);
    })
    .total();
    assert_eq!(count(&counts, "wakes_sent"), 1 + woken_in_vain);
    assert_eq!(count(&counts, "sleeps"), 1 + woken_in_vain);
    assert_eq!(count(&counts, "wakes_in_vain"), woken_in_vain);
}

#[test]
fn a_sleeper_that_gets_the_job_was_not_woken_in_vain() {
    let pool = pool(1);
    rest(&pool);
    let counts = during(&pool, || {
        pool.install(|| ());
        rest(&pool);
    })
    .total();
    assert_eq!(
        (
            count(&counts, "wakes_sent"),
            count(&counts, "wakes_in_vain")
        ),
        (1, 0)
    );
}

#[test]
fn each_sleep_ends_by_a_wake_and_each_wake_is_tried() {
    let pool = pool(3);
    for _ in 0..20 {
        pool.broadcast(|_| ());
        pool.install(|| rayon_core::join(|| (), || ()));
    }
    rest(&pool);
    let counts = snapshot(&pool).total();
    let ended = count(&counts, "sleeps") - 3;
    // A wake may also come before the worker has blocked, and then there is no sleep.
    assert!(ended <= count(&counts, "wakes_sent"), "{counts:?}");
    assert!(
        count(&counts, "wakes_sent") <= count(&counts, "wakes_tried"),
        "{counts:?}"
    );
    assert!(
        count(&counts, "wakes_in_vain") <= count(&counts, "wakes_sent"),
        "{counts:?}"
    );
}

#[test]
fn a_broadcast_tries_to_wake_each_worker() {
    let pool = pool(3);
    rest(&pool);
    let events = during(&pool, || drop(pool.broadcast(|_| ())));
    assert_eq!(count(&events.outside, "wakes_tried"), 3);
    assert!(count(&events.total(), "wakes_sent") >= 3);
}

/// Only that fence lets it find a job that a busy worker keeps private just then.
#[cfg(feature = "demand")]
#[test]
fn a_worker_that_blocks_beside_a_busy_one_makes_it_fence() {
    let pool = pool(2);
    let meeting = std::sync::Barrier::new(2);
    let counts = patiently("a worker that blocks beside a busy one", || {
        pool.install(|| {
            let here = || meet(&meeting);
            let ((), before) = rayon_core::join(here, || {
                meet(&meeting);
                snapshot(&pool)
            });
            while !format!("{pool:?}").contains("Parked") {
                std::thread::yield_now();
            }
            snapshot(&pool).since(&before).total()
        })
    });
    assert!(count(&counts, "heavy_fences") >= 1, "{counts:?}");
}
