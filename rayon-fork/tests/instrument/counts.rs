//! Jobs: put in, taken, and run.

use std::sync::Barrier;

use rayon_core::instrument::{EventCounts, snapshot};
use rayon_core::rayon_fork_variant;

use crate::common::{Count, meet, panic_text, patiently, pool};
use crate::{count, during, rest, sum_of};

/// Ways to get a job out of a queue.
const TAKES: [&str; 4] = ["pops", "steals_won", "injector_takes", "broadcasts_taken"];

fn tree(depth: usize) {
    if depth > 0 {
        rayon_core::join(|| tree(depth - 1), || tree(depth - 1));
    }
}

#[test]
fn a_worker_alone_takes_back_each_job_it_pushed() {
    let pool = pool(1);
    let counts = during(&pool, || pool.install(|| tree(5))).total();
    let joins = (1 << 5) - 1;
    // With `demand`, pushes are announced only if another worker is idle.
    let announced = if rayon_fork_variant().contains("+demand") {
        0
    } else {
        joins
    };
    for (name, expected) in [
        ("pushes", joins),
        ("pops", joins),
        ("injections", 1),
        ("injector_takes", 1),
        ("jobs_executed", joins + 1),
        ("announcements", announced + 1),
        ("steals_tried", 0),
        ("steals_won", 0),
        ("broadcasts_taken", 0),
    ] {
        assert_eq!(count(&counts, name), expected, "{name}");
    }
}

#[test]
fn each_install_from_outside_is_an_injection_by_an_outsider() {
    let pool = pool(2);
    let events = during(&pool, || (0..10).for_each(|_| pool.install(|| ())));
    assert_eq!(count(&events.outside, "injections"), 10);
    assert_eq!(count(&events.total(), "injections"), 10);
    let counts = events.total();
    assert_eq!(count(&counts, "injector_takes"), 10);
    assert_eq!(count(&events.outside, "jobs_executed"), 0);
}

#[test]
fn each_worker_takes_its_share_of_a_broadcast() {
    let pool = pool(3);
    let events = during(&pool, || drop(pool.broadcast(|_| ())));
    for worker in &events.workers {
        assert_eq!(sum_of(worker, &["broadcasts_taken", "jobs_executed"]), 2);
    }
    assert_eq!(
        sum_of(&events.total(), &["pushes", "injections", "announcements"]),
        0
    );
}

#[test]
fn a_job_of_a_fifo_is_one_job_though_a_token_stands_for_it() {
    let pool = pool(1);
    let spawn_ten = || {
        rayon_core::scope_fifo(|scope| (0..10).for_each(|_| scope.spawn_fifo(|_| ())));
    };
    let counts = during(&pool, || pool.install(spawn_ten)).total();
    assert_eq!(
        (count(&counts, "pushes"), count(&counts, "jobs_executed")),
        (10, 11)
    );
}

#[test]
fn every_job_is_taken_once_and_run_once_whoever_does_it() {
    let pool = pool(3);
    let spawned = Count::new();
    let events = during(&pool, || {
        patiently("a mixture of jobs", || {
            pool.scope(|scope| {
                for _ in 0..100 {
                    scope.spawn(|_| {
                        tree(4);
                        spawned.add(1);
                    });
                }
                scope.spawn_broadcast(|_, _| tree(3));
            });
            pool.install(|| tree(6));
        });
        rest(&pool);
    });
    assert_eq!(spawned.get(), 100);
    let counts = events.total();
    let (joins, shares) = (100 * 15 + 3 * 7 + 63, 3);
    assert_eq!(count(&counts, "pushes"), 100 + joins);
    assert_eq!(count(&counts, "jobs_executed"), 100 + joins + shares + 2);
    assert_eq!(sum_of(&counts, &TAKES), count(&counts, "jobs_executed"));
    for worker in &events.workers {
        assert_eq!(sum_of(worker, &TAKES), count(worker, "jobs_executed"));
    }
}

#[test]
fn a_job_that_another_worker_must_run_is_stolen_once() {
    let pool = pool(2);
    let meeting = Barrier::new(2);
    let counts = during(&pool, || {
        patiently("two workers that meet", || {
            pool.install(|| rayon_core::join(|| meet(&meeting), || meet(&meeting)));
        });
    })
    .total();
    assert_eq!(count(&counts, "pops"), 0);
    assert_eq!(count(&counts, "steals_won"), 1);
    assert!(count(&counts, "steals_tried") >= sum_of(&counts, &["steals_won", "steals_contended"]));
}

#[test]
fn a_worker_of_another_pool_is_an_outsider() {
    let (asking, asked) = (pool(1), pool(1));
    let of_asking = during(&asking, || {
        let of_asked = during(&asked, || asking.install(|| asked.install(|| ())));
        assert_eq!(count(&of_asked.outside, "injections"), 1);
        assert_eq!(count(&of_asked.total(), "jobs_executed"), 1);
    });
    assert_eq!(count(&of_asking.total(), "injections"), 1);
    assert_eq!(count(&of_asking.total(), "jobs_executed"), 1);
}

#[test]
fn differences_of_snapshots_in_a_row_add_up() {
    let pool = pool(2);
    let first = snapshot(&pool);
    pool.install(|| tree(3));
    let second = snapshot(&pool);
    pool.install(|| tree(4));
    rest(&pool);
    let third = snapshot(&pool);
    let sum = second.since(&first).total() + third.since(&second).total();
    assert_eq!(sum, third.since(&first).total());
    assert_eq!(count(&sum, "pushes"), 7 + 15);
    assert_eq!(third.since(&third).total(), EventCounts::default());
}

#[test]
fn snapshots_in_the_wrong_order_or_of_two_pools_are_refused() {
    let pool_of_two = pool(2);
    let early = snapshot(&pool_of_two);
    pool_of_two.install(|| ());
    let late = snapshot(&pool_of_two);
    assert!(panic_text(|| early.since(&late)).contains("later"));
    assert!(panic_text(|| snapshot(&pool(1)).since(&early)).contains("different pools"));
}
