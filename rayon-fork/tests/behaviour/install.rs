//! `install`, and how threads of different pools wait for each other.

use std::sync::Barrier;
use std::thread;

use rayon_core::spawn;

use crate::common::{Log, Tally, in_time, panic_text, pool, rounds};

#[test]
fn a_worker_of_the_same_pool_runs_the_closure_at_once_on_its_thread() {
    in_time("an install inside an install", || {
        let pool = pool(1);
        let log = Log::new();
        let (outer, inner) = pool.install(|| {
            pool.spawn({
                let log = log.clone();
                move || log.add("queued")
            });
            let inner = pool.install(|| {
                log.add("installed");
                thread::current().id()
            });
            (thread::current().id(), inner)
        });
        pool.install(|| ());
        assert_eq!(outer, inner);
        assert_eq!(log.take(), ["installed", "queued"]);
    });
}

#[test]
fn two_pools_of_one_install_into_each_other_at_the_same_time() {
    in_time("mutual installs that cross", || {
        let (first, second) = (pool(1), pool(1));
        let meeting = Barrier::new(2);
        for _ in 0..rounds(200, 2) {
            thread::scope(|threads| {
                let first_to_second = || {
                    first.install(|| {
                        meeting.wait();
                        second.install(|| 1)
                    })
                };
                let other = threads.spawn(first_to_second);
                let back = second.install(|| {
                    meeting.wait();
                    first.install(|| 2)
                });
                assert_eq!((other.join().unwrap(), back), (1, 2));
            });
        }
    });
}

#[test]
fn jobs_of_the_waiting_workers_pool_run_inside_its_install() {
    in_time("a job interleaved in an install", || {
        let (pool, other) = (pool(1), pool(1));
        let log = Log::new();
        let has_run = Tally::new();
        pool.install(|| {
            let (log_job, ran) = (log.clone(), has_run.clone());
            log.add("before");
            spawn(move || {
                log_job.add("interleaved");
                ran.add_one();
            });
            // Does not return before the spawned job has run, which only this thread can run.
            other.install(|| has_run.wait_for(1));
            log.add("after");
        });
        assert_eq!(log.take(), ["before", "interleaved", "after"]);
    });
}

#[test]
fn injected_jobs_too_run_inside_the_install_of_a_waiting_worker() {
    in_time("an injected job interleaved in an install", || {
        let (pool, other) = (pool(1), pool(1));
        let has_run = Tally::new();
        pool.install(|| {
            other.install(|| {
                let ran = has_run.clone();
                // From here the job goes through the injector of a pool whose only worker waits for
                // this one.
                pool.spawn(move || ran.add_one());
                has_run.wait_for(1);
            });
        });
        assert_eq!(has_run.get(), 1);
    });
}

#[test]
fn a_panic_comes_back_to_a_worker_of_another_pool() {
    in_time("an install from another pool that panics", || {
        let (pool, other) = (pool(1), pool(1));
        let (text, caller) = other.install(|| {
            (
                panic_text(|| pool.install(|| panic!("inside"))),
                other.current_thread_index(),
            )
        });
        assert_eq!((text.as_str(), caller), ("inside", Some(0)));
        assert_eq!((pool.install(|| 22), other.install(|| 23)), (22, 23));
    });
}
