//! Tests the properties that programs written for rayon expect of rivals with joins.

#![cfg(feature = "chili")]

use std::panic::catch_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{
    ThreadPool, ThreadPoolBuilder, current_num_threads, join, join_context, max_num_threads, scope,
};

const RIVAL: &str = "chili";

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

/// Runs a tree of joins. Each second closure calls `look` with two values: whether the rival
/// reports that the closure moved to another thread, and whether it did move.
fn tree(depth: u32, look: &(impl Fn(bool, bool) + Sync)) {
    if depth == 0 {
        return;
    }
    let home = thread::current().id();
    join_context(
        |context| {
            assert!(!context.migrated());
            assert_eq!(thread::current().id(), home, "the first closure stays");
            tree(depth - 1, look);
        },
        |context| {
            look(context.migrated(), thread::current().id() != home);
            tree(depth - 1, look);
        },
    );
}

#[test]
fn a_closure_that_moved_to_another_thread_is_informed_and_no_other() {
    let pool = pool(3);
    let has_moved = AtomicBool::new(false);
    let start = Instant::now();
    // Chili sends a heartbeat at least every 100 us, and one tree takes longer.
    while !has_moved.load(Relaxed) {
        assert!(
            start.elapsed() < Duration::from_mins(1),
            "nothing moves: nothing runs in parallel"
        );
        pool.install(|| {
            tree(14, &|is_told, moved| {
                assert_eq!(is_told, moved);
                has_moved.fetch_or(moved, Relaxed);
            });
        });
    }
}

#[test]
fn every_closure_of_a_pool_sees_the_number_of_its_threads() {
    let pool = pool(3);
    let right = AtomicUsize::new(0);
    pool.install(|| {
        tree(10, &|_, _| {
            right.fetch_add(usize::from(current_num_threads() == 3), Relaxed);
        });
    });
    assert_eq!(right.into_inner(), (1 << 10) - 1);
}

#[test]
fn a_pool_in_a_pool_has_its_own_number_of_threads_and_the_outer_one_comes_back() {
    let (outer, inner) = (pool(2), pool(3));
    let seen = outer.install(|| {
        let inside = inner.install(|| (current_num_threads(), join(|| 1, || 2)));
        (inside, current_num_threads(), join(|| 3, || 4))
    });
    assert_eq!(seen, ((3, (1, 2)), 2, (3, 4)));
}

#[test]
fn a_join_outside_of_any_pool_runs_on_the_global_one() {
    assert_eq!(join(current_num_threads, || 2), (current_num_threads(), 2));
}

#[test]
fn a_scope_ends_when_its_jobs_and_their_jobs_are_done() {
    for threads in [1, 2, 4] {
        let mut done = [0; 50];
        let nested = AtomicUsize::new(0);
        pool(threads).install(|| {
            scope(|scope| {
                for (i, done) in done.iter_mut().enumerate() {
                    let nested = &nested;
                    scope.spawn(move |scope| {
                        *done = i;
                        scope.spawn(|_| {
                            nested.fetch_add(1, Relaxed);
                        });
                    });
                }
            });
        });
        assert!(
            done.iter().enumerate().all(|(i, &done)| i == done),
            "{done:?}"
        );
        assert_eq!(nested.into_inner(), 50);
    }
}

#[test]
fn what_is_missing_panics_with_the_name_of_the_rival() {
    let panic = catch_unwind(|| rayon_core::spawn(|| ())).unwrap_err();
    let message = panic.downcast::<String>().unwrap();
    assert!(
        message.contains("`spawn`") && message.contains(RIVAL),
        "{message}"
    );
}

#[test]
fn a_pool_of_too_many_threads_is_refused_with_the_limit() {
    let limit = max_num_threads();
    let error = ThreadPoolBuilder::new()
        .num_threads(limit + 1)
        .build()
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(RIVAL) && error.contains(&limit.to_string()),
        "{error}"
    );
}
