use std::thread;

use rayon_core::{current_thread_has_pending_tasks, spawn_broadcast};

use crate::common::{in_time, pool};

#[test]
fn the_methods_answer_on_workers_of_that_pool_only() {
    in_time(|| {
        let (pool, other) = (pool(1), pool(1));
        let ask = || {
            (
                pool.current_thread_index(),
                pool.current_thread_has_pending_tasks(),
            )
        };
        assert_eq!(pool.install(ask), (Some(0), Some(false)));
        assert_eq!(other.install(ask), (None, None));
        assert_eq!(pool.install(|| other.install(ask)), (None, None));
    });
}

#[test]
fn shares_and_injected_jobs_are_no_pending_tasks() {
    in_time(|| {
        let pool = pool(1);
        pool.install(|| {
            spawn_broadcast(|_| ());
            thread::scope(|threads| {
                threads.spawn(|| pool.spawn(|| ()));
            });
            assert_eq!(current_thread_has_pending_tasks(), Some(false));
        });
    });
}
