use std::sync::Barrier;
use std::thread;

use rayon_core::{Yield, spawn, spawn_broadcast, yield_local, yield_now};

use crate::common::{Log, Tally, in_time, pool};

#[test]
fn a_thread_that_is_no_worker_has_nothing_to_yield() {
    in_time(|| {
        assert_eq!(yield_now(), None);
        assert_eq!(yield_local(), None);
        let pool = pool(1);
        assert_eq!(pool.yield_now(), None);
        assert_eq!(pool.yield_local(), None);
    });
}

#[test]
fn only_yield_now_runs_an_injected_job() {
    in_time(|| {
        let pool = pool(1);
        pool.install(|| {
            let ran = Tally::new();
            let count = ran.clone();
            thread::scope(|threads| {
                threads.spawn(|| pool.spawn(move || count.add_one()));
            });
            assert_eq!((yield_local(), ran.get()), (Some(Yield::Idle), 0));
            assert_eq!((yield_now(), ran.get()), (Some(Yield::Executed), 1));
        });
    });
}

#[test]
fn only_yield_now_runs_a_job_of_another_worker() {
    in_time(|| {
        let pool = pool(2);
        let ran = Tally::new();
        let (both_run, pushed, stolen) = (Barrier::new(2), Barrier::new(2), Barrier::new(2));
        pool.broadcast(|context| {
            // Before its share arrives, a worker may steal.
            both_run.wait();
            if context.index() == 0 {
                let count = ran.clone();
                spawn(move || count.add_one());
                pushed.wait();
            } else {
                pushed.wait();
                assert_eq!((yield_local(), ran.get()), (Some(Yield::Idle), 0));
                assert_eq!((yield_now(), ran.get()), (Some(Yield::Executed), 1));
            }
            stolen.wait();
        });
    });
}

#[test]
fn a_yield_prefers_own_jobs_then_shares_then_injected_jobs() {
    in_time(|| {
        let pool = pool(1);
        let log = Log::new();
        pool.install(|| {
            let add = |text| {
                let log = log.clone();
                move || log.add(text)
            };
            let (injected, share) = (add("injected"), add("share"));
            thread::scope(|threads| {
                threads.spawn(|| pool.spawn(injected));
            });
            spawn_broadcast(move |_| share());
            spawn(add("own"));
            while yield_now() == Some(Yield::Executed) {}
        });
        assert_eq!(log.take(), ["own", "share", "injected"]);
    });
}

#[test]
fn the_job_of_a_yield_may_yield_itself() {
    in_time(|| {
        let log = Log::new();
        pool(1).install(|| {
            let (first, second) = (log.clone(), log.clone());
            spawn(move || first.add("inner"));
            spawn(move || {
                second.add("outer begins");
                assert_eq!(yield_local(), Some(Yield::Executed));
                second.add("outer ends");
            });
            assert_eq!(yield_now(), Some(Yield::Executed));
            assert_eq!(yield_now(), Some(Yield::Idle));
        });
        assert_eq!(log.take(), ["outer begins", "inner", "outer ends"]);
    });
}
