//! `join`: both halves run, results and panics come back.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rayon_core::{current_thread_index, join, scope};

use crate::common::{AddsWhenDropped, Count, Log, Tally, panic_text, patiently, pool, rounds};

fn sort(numbers: &mut [u32]) {
    let Some((&mut pivot, rest)) = numbers.split_first_mut() else {
        return;
    };
    let mut below = 0;
    for i in 0..rest.len() {
        if rest[i] < pivot {
            rest.swap(i, below);
            below += 1;
        }
    }
    numbers.swap(0, below);
    let (left, right) = numbers.split_at_mut(below);
    join(|| sort(left), || sort(&mut right[1..]));
}

fn shuffled(count: u32) -> Vec<u32> {
    // Multiplication by a unit modulo a prime visits every residue once.
    (0..count).map(|i| i.wrapping_mul(7919) % 10_007).collect()
}

#[test]
fn results_come_back_in_the_order_of_the_closures() {
    patiently("a join in the global pool", || {
        assert_eq!(join(|| "left", || 2), ("left", 2));
    });
}

#[test]
fn a_pool_joins_on_its_own_workers() {
    patiently("a join in a pool", || {
        let pool = pool(2);
        let indices = pool.join(
            || pool.current_thread_index(),
            || pool.current_thread_index(),
        );
        assert!(indices.0.is_some() && indices.1.is_some(), "{indices:?}");
    });
}

#[test]
fn recursive_joins_sort_in_the_global_pool() {
    patiently("a sort in the global pool", || {
        let mut numbers = shuffled(2000);
        let mut expected = numbers.clone();
        expected.sort_unstable();
        sort(&mut numbers);
        assert_eq!(numbers, expected);
    });
}

#[test]
fn recursive_joins_sort_in_pools_of_every_small_size() {
    patiently("a sort in a pool", || {
        for workers in 1..=4 {
            let mut numbers = shuffled(500);
            let mut expected = numbers.clone();
            expected.sort_unstable();
            pool(workers).install(|| sort(&mut numbers));
            assert_eq!(numbers, expected, "{workers} workers");
        }
    });
}

#[test]
fn a_panic_in_the_first_half_comes_out() {
    patiently("a join whose first half panics", || {
        assert_eq!(panic_text(|| join(|| panic!("first"), || ())), "first");
    });
}

#[test]
fn a_panic_in_the_second_half_comes_out() {
    patiently("a join whose second half panics", || {
        assert_eq!(panic_text(|| join(|| (), || panic!("second"))), "second");
    });
}

#[test]
fn of_two_panics_that_of_the_first_half_comes_out() {
    patiently("joins whose halves both panic", || {
        for workers in 1..=2 {
            let pool = pool(workers);
            for _ in 0..rounds(50, 2) {
                let text = panic_text(|| pool.join(|| panic!("first"), || panic!("second")));
                assert_eq!(text, "first", "{workers} workers");
            }
        }
    });
}

#[test]
fn the_payload_that_does_not_come_out_is_dropped_once() {
    static DROPPED: Count = Count::new();
    patiently("a join whose second payload is lost", || {
        let text = panic_text(|| {
            pool(1).join(
                || panic!("first"),
                || std::panic::panic_any(AddsWhenDropped(&DROPPED)),
            )
        });
        assert_eq!(text, "first");
        assert_eq!(DROPPED.take(), 1);
    });
}

#[test]
fn the_result_of_the_first_half_is_dropped_once_if_the_second_panics() {
    patiently("a join whose first result is lost", || {
        let dropped = Count::new();
        panic_text(|| pool(1).join(|| AddsWhenDropped(&dropped), || panic!("second")));
        assert_eq!(dropped.get(), 1);
    });
}

#[test]
fn the_second_half_runs_also_if_the_first_panics() {
    patiently("a join whose first half panics", || {
        for workers in 1..=3 {
            let has_run = AtomicBool::new(false);
            let pool = pool(workers);
            panic_text(|| {
                pool.join(
                    || panic!("first"),
                    || has_run.store(true, Ordering::Relaxed),
                )
            });
            assert!(has_run.into_inner(), "{workers} workers");
        }
    });
}

#[test]
fn a_panic_of_the_first_half_waits_for_a_stolen_second_half() {
    patiently(
        "a join whose first half panics while the second runs elsewhere",
        || {
            let started = Tally::new();
            let has_ended = AtomicBool::new(false);
            let text = panic_text(|| {
                pool(2).join(
                    || {
                        started.wait_for(1);
                        panic!("first");
                    },
                    || {
                        started.add_one();
                        thread::sleep(Duration::from_millis(20));
                        has_ended.store(true, Ordering::Relaxed);
                    },
                )
            });
            assert_eq!(text, "first");
            assert!(
                has_ended.into_inner(),
                "the second half borrows from a frame that is gone"
            );
        },
    );
}

#[test]
fn the_two_halves_run_at_the_same_time_if_a_worker_is_free() {
    patiently("a join whose halves meet at a barrier", || {
        let meeting = Barrier::new(2);
        pool(2).join(|| meeting.wait(), || meeting.wait());
    });
}

#[test]
fn jobs_that_the_first_half_left_run_before_the_second_half() {
    patiently("a join over jobs of an outer scope", || {
        let log = Log::new();
        pool(1).scope(|outer| {
            join(
                || {
                    log.add("first");
                    outer.spawn(|_| log.add("spawned"));
                },
                || log.add("second"),
            );
            log.add("after");
        });
        assert_eq!(log.take(), ["first", "spawned", "second", "after"]);
    });
}

#[test]
fn a_pool_of_one_runs_both_halves_on_its_worker() {
    patiently("a join in a pool of one", || {
        let (a, b) = pool(1).join(current_thread_index, current_thread_index);
        assert_eq!((a, b), (Some(0), Some(0)));
    });
}

#[test]
fn a_join_that_scope_and_spawn_emulate_sorts() {
    fn sort(numbers: &mut [u32]) {
        if numbers.len() <= 1 {
            return;
        }
        let middle = numbers.len() / 2;
        numbers.select_nth_unstable(middle);
        let (left, right) = numbers.split_at_mut(middle);
        scope(|scope| {
            scope.spawn(|_| sort(right));
            sort(left);
        });
    }
    patiently("a sort over scopes", || {
        let mut numbers = shuffled(256);
        let mut expected = numbers.clone();
        expected.sort_unstable();
        sort(&mut numbers);
        assert_eq!(numbers, expected);
    });
}

#[test]
fn very_many_joins_from_outside_all_come_back() {
    patiently("joins from outside", || {
        let pool = pool(2);
        for i in 0..rounds(20_000, 20) {
            assert_eq!(pool.join(|| i, || i + 1), (i, i + 1));
        }
    });
}

#[test]
fn a_join_whose_second_half_was_stolen_runs_other_jobs_meanwhile() {
    patiently("a join that waits for a thief", || {
        let pool = pool(2);
        let started = Tally::new();
        let (first, second) = pool.join(
            || {
                started.wait_for(1);
                thread::current().id()
            },
            || {
                started.add_one();
                // This worker blocks here, so only the one that waits for it can run the closure.
                thread::scope(|threads| {
                    let install = || pool.install(|| thread::current().id());
                    threads.spawn(install).join().unwrap()
                })
            },
        );
        assert_eq!(first, second);
    });
}
