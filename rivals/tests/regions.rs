//! Tests the properties that programs expect of rivals with only fork-join regions.

#![cfg(not(feature = "chili"))]

use std::panic::catch_unwind;
use std::sync::Barrier;
use std::thread::{self, ThreadId};

use rayon_core::{ThreadPool, ThreadPoolBuilder, broadcast, current_num_threads};

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .unwrap()
}

/// Returns the indices of a region of `pool` with the thread of each index; all threads run at
/// once.
fn everybody(pool: &ThreadPool, threads: usize) -> Vec<(usize, ThreadId)> {
    let meet = Barrier::new(threads);
    pool.broadcast(|context| {
        assert_eq!(context.num_threads(), threads);
        meet.wait();
        (context.index(), thread::current().id())
    })
}

#[test]
fn a_region_runs_once_on_each_of_as_many_threads_as_were_asked_for() {
    for threads in [1, 2, 5] {
        let pool = pool(threads);
        for _ in 0..3 {
            let found = everybody(&pool, threads);
            assert!(
                found.iter().enumerate().all(|(i, (index, _))| i == *index),
                "{found:?}"
            );
            let mut ids: Vec<ThreadId> = found.into_iter().map(|(_, id)| id).collect();
            ids.sort_by_key(|id| format!("{id:?}"));
            ids.dedup();
            assert_eq!(ids.len(), threads);
        }
    }
}

#[test]
fn a_region_from_a_worker_is_one_of_the_pool_that_was_installed() {
    let (outer, inner) = (pool(2), pool(3));
    let seen = outer.install(|| {
        let inside = inner.install(|| (current_num_threads(), broadcast(|at| at.index())));
        (inside, broadcast(|at| at.num_threads()))
    });
    assert_eq!(seen, ((3, vec![0, 1, 2]), vec![2, 2]));
}

#[test]
fn what_is_missing_panics_and_says_where_to_read_what_is_there() {
    let panic = catch_unwind(|| rayon_core::join(|| (), || ())).unwrap_err();
    let message = panic.downcast::<String>().unwrap();
    assert!(
        message.contains("`join`") && message.contains("rivals/README.md"),
        "{message}"
    );
}
