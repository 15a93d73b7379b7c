//! The feature `instrument`: counts of known programs.

#[path = "../common/mod.rs"]
mod common;

use std::collections::BTreeSet;
use std::sync::Barrier;

use rayon_core::instrument::{EventCounts, Snapshot, snapshot};
use rayon_core::{ThreadPool, rayon_fork_variant};

use crate::common::{in_time, meet, panic_text, pool};

fn during(pool: &ThreadPool, body: impl FnOnce()) -> Snapshot {
    let before = snapshot(pool);
    body();
    snapshot(pool).since(&before)
}

fn count(counts: &EventCounts, name: &str) -> u64 {
    counts
        .get(name)
        .unwrap_or_else(|| panic!("no `{name}` in {counts:?}"))
}

/// Makes `2^depth - 1` joins, each of which pushes a job.
fn tree(depth: usize) {
    if depth > 0 {
        rayon_core::join(|| tree(depth - 1), || tree(depth - 1));
    }
}

fn rest(pool: &ThreadPool) {
    let at_rest = format!(
        "workers: [{}]",
        vec!["Parked"; pool.current_num_threads()].join(", ")
    );
    in_time(|| {
        while !format!("{pool:?}").contains(&at_rest) {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    });
}

fn variant_has(feature: &str) -> bool {
    rayon_fork_variant().split('+').any(|part| part == feature)
}

#[test]
fn a_worker_alone_pushes_and_runs_and_steals_nothing() {
    let pool = pool(1);
    let counts = during(&pool, || pool.install(|| tree(5))).total();
    for (name, expected) in [
        ("pushes", 31),
        ("jobs_executed", 32),
        ("steals_tried", 0),
        ("steals_won", 0),
    ] {
        assert_eq!(count(&counts, name), expected, "{name}");
    }
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
fn every_job_is_executed_once_by_whichever_thread() {
    let pool = pool(3);
    let counts = during(&pool, || {
        in_time(|| {
            pool.scope(|scope| {
                (0..100).for_each(|_| scope.spawn(|_| tree(4)));
                scope.spawn_broadcast(|_, _| tree(3));
            });
            pool.install(|| tree(6));
        });
        rest(&pool);
    })
    .total();
    let (joins, shares) = (100 * 15 + 3 * 7 + 63, 3);
    assert_eq!(count(&counts, "pushes"), 100 + joins);
    assert_eq!(count(&counts, "jobs_executed"), 100 + joins + shares + 2);
    assert!(count(&counts, "steals_won") <= count(&counts, "steals_tried"));
}

#[test]
fn a_job_that_another_worker_must_run_is_stolen_once() {
    let pool = pool(2);
    let meeting = Barrier::new(2);
    let counts = during(&pool, || {
        in_time(|| {
            pool.install(|| rayon_core::join(|| meet(&meeting), || meet(&meeting)));
        });
    })
    .total();
    assert_eq!(count(&counts, "steals_won"), 1);
    assert!(count(&counts, "steals_tried") >= 1);
}

#[test]
fn a_worker_of_another_pool_counts_as_an_external_thread() {
    let (asking, asked) = (pool(1), pool(1));
    let of_asking = during(&asking, || {
        let of_callee = during(&asked, || asking.install(|| asked.install(|| ())));
        assert_eq!(count(&of_callee.outside, "jobs_executed"), 0);
        assert_eq!(count(&of_callee.total(), "jobs_executed"), 1);
    });
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

#[test]
fn a_sleeper_that_comes_for_a_job_another_has_got_was_woken_spuriously() {
    let pool = pool(2);
    rest(&pool);
    // The injection wakes one worker. That worker wakes the other one to search for more jobs,
    // unless it scans the queues first.
    let spurious_wakes = u64::from(!variant_has("wake-where-work-is"));
    let counts = during(&pool, || {
        pool.install(|| ());
        rest(&pool);
    })
    .total();
    assert_eq!(count(&counts, "wakes_sent"), 1 + spurious_wakes);
    assert_eq!(count(&counts, "sleeps"), 1 + spurious_wakes);
    assert_eq!(count(&counts, "wakes_in_vain"), spurious_wakes);
}

fn words() -> Vec<&'static str> {
    if variant_has("packed") {
        return vec!["packed_word"];
    }
    let mut words = vec!["sleeping"];
    words.extend((!variant_has("no-jec")).then_some("events"));
    words.extend((!variant_has("sleepers-only")).then_some("inactive"));
    words
}

#[test]
fn a_variant_reports_its_own_words_and_no_other() {
    let reported: BTreeSet<_> = EventCounts::default()
        .named()
        .map(|(name, _)| name)
        .collect();
    for suffix in ["_loads", "_rmws", "_cas_failures"] {
        let of_words: BTreeSet<_> = reported
            .iter()
            .filter_map(|name| name.strip_suffix(suffix))
            .collect();
        assert_eq!(of_words, words().into_iter().collect(), "{suffix}");
    }
    assert_eq!(EventCounts::default().get("no_such_thing"), None);
}

#[test]
fn a_push_without_a_waiting_worker_loads_and_changes_nothing() {
    let pool = pool(1);
    rest(&pool);
    let counts = pool.install(|| {
        let before = snapshot(&pool);
        (0..100).for_each(|_| tree(1));
        snapshot(&pool).since(&before).total()
    });
    for word in words() {
        // With `demand`, only requests make pushes notify, and the worker of a pool of one worker
        // requests no jobs.
        let is_read = (word != "inactive" || variant_has("reads-both")) && !variant_has("demand");
        let (loads, rmws) = (format!("{word}_loads"), format!("{word}_rmws"));
        assert_eq!(count(&counts, &loads), 100 * u64::from(is_read), "{loads}");
        assert_eq!(count(&counts, &rmws), 0, "{rmws}");
    }
}

#[test]
fn sleepers_are_counted_up_and_down_in_the_word_that_has_them() {
    let pool = pool(4);
    for _ in 0..200 {
        pool.broadcast(|_| tree(1));
    }
    rest(&pool);
    let counts = snapshot(&pool).total();
    let registered = count(&counts, "sleeps") + count(&counts, "wakes_sent");
    let rmws = format!("{}_rmws", words()[0]);
    assert!(count(&counts, &rmws) >= registered, "{rmws} in {counts:?}");
    for word in words() {
        // An exchange that failed also counts as a read-modify-write.
        let (rmws, failures) = (format!("{word}_rmws"), format!("{word}_cas_failures"));
        assert!(
            count(&counts, &failures) <= count(&counts, &rmws),
            "{word} in {counts:?}"
        );
    }
}
