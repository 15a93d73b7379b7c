//! `scope` and `scope_fifo`: on which threads closures and jobs run, and from where jobs come.

use std::thread;
use std::time::Duration;

use rayon_core::{current_thread_index, scope, scope_fifo};

use crate::common::{Count, in_time, pool};

#[test]
fn the_closure_runs_on_a_worker_also_if_the_caller_is_none() {
    in_time("scopes from an external thread", || {
        assert_eq!(current_thread_index(), None);
        assert!(scope(|_| current_thread_index()).is_some());
        assert!(scope_fifo(|_| current_thread_index()).is_some());
    });
}

#[test]
fn the_scopes_of_a_pool_run_their_closures_and_jobs_on_its_workers() {
    in_time("the scopes of a pool", || {
        let pool = pool(2);
        let is_inside = || assert!(pool.current_thread_index().is_some());
        pool.scope(|scope| {
            is_inside();
            scope.spawn(|_| is_inside());
        });
        pool.scope_fifo(|scope| {
            is_inside();
            scope.spawn_fifo(|_| is_inside());
        });
    });
}

#[test]
fn idle_workers_run_the_jobs_behind_a_long_one() {
    in_time("jobs behind a long one", || {
        let pool = pool(2);
        // The other worker is asleep, or runs another job while the jobs are spawned.
        for is_busy in [false, true] {
            let (started, count) = (&Count::new(), &Count::new());
            pool.scope(|scope| {
                let place = current_thread_index();
                scope.spawn_broadcast(move |_, context| {
                    if is_busy && Some(context.index()) != place {
                        started.add(1);
                        thread::sleep(Duration::from_millis(100));
                    }
                });
                while is_busy && started.get() == 0 {
                    thread::yield_now();
                }
                (0..100).for_each(|_| scope.spawn(|_| count.add(1)));
                // A long job that neither pushes nor pops, and ends when the others have.
                while count.get() < 100 {
                    thread::yield_now();
                }
            });
        }
    });
}

#[test]
fn a_scope_takes_jobs_from_threads_that_are_no_workers() {
    in_time("a scope that a foreign thread spawns into", || {
        let pool = pool(1);
        let count = Count::new();
        let job = || {
            assert_eq!(pool.current_thread_index(), Some(0));
            count.add(1);
        };
        pool.scope(|scope| {
            thread::scope(|threads| {
                threads.spawn(|| scope.spawn(|_| job()));
            });
        });
        pool.scope_fifo(|scope| {
            thread::scope(|threads| {
                threads.spawn(|| scope.spawn_fifo(|_| job()));
            });
        });
        assert_eq!(count.get(), 2);
    });
}
