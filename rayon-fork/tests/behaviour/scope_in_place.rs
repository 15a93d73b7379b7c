//! `in_place_scope` and `in_place_scope_fifo`: the closure runs on the calling thread, the jobs go
//! to the pool.

use rayon_core::{in_place_scope, in_place_scope_fifo};

use crate::common::{Count, Log, in_time, panic_text, pool};

#[test]
fn jobs_of_the_free_functions_run_in_the_pool_of_a_caller_that_is_a_worker() {
    in_time(|| {
        let pool = pool(1);
        let is_inside = || assert_eq!(pool.current_thread_index(), Some(0));
        pool.install(|| {
            in_place_scope(|scope| scope.spawn(|_| is_inside()));
            in_place_scope_fifo(|scope| scope.spawn_fifo(|_| is_inside()));
        });
    });
}

#[test]
fn jobs_of_the_methods_run_in_that_pool_whoever_calls() {
    in_time(|| {
        let (pool, other) = (pool(1), pool(1));
        let is_inside = || assert_eq!(pool.current_thread_index(), Some(0));
        let both = || {
            pool.in_place_scope(|scope| scope.spawn(|_| is_inside()));
            pool.in_place_scope_fifo(|scope| scope.spawn_fifo(|_| is_inside()));
        };
        both();
        pool.install(both);
        other.install(both);
    });
}

#[test]
fn a_worker_of_another_pool_goes_on_with_its_own_work_while_it_waits() {
    in_time(|| {
        let (pool, other) = (pool(1), pool(1));
        let log = Log::new();
        other.install(|| {
            pool.in_place_scope(|scope| {
                scope.spawn(|_| {
                    // Only the worker that waits for this very job can run the closure.
                    other.install(|| log.add("inside"));
                    log.add("job");
                });
            });
            log.add("after");
        });
        assert_eq!(log.take(), ["inside", "job", "after"]);
    });
}

#[test]
fn a_panic_of_the_closure_waits_for_the_jobs() {
    in_time(|| {
        let pool = pool(1);
        let count = Count::new();
        let text = panic_text(|| {
            pool.in_place_scope(|scope| {
                for _ in 0..10 {
                    scope.spawn(|_| count.add(1));
                }
                panic!("closure");
            });
        });
        assert_eq!((text.as_str(), count.get()), ("closure", 10));
    });
}
