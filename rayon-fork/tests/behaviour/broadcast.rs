//! `broadcast`: once on every worker, results by index, the caller waits.

use std::sync::Barrier;

use rayon_core::broadcast;

use crate::common::{Count, Log, Occupation, in_time, panic_text, pool};

#[test]
fn of_many_panics_that_of_the_lowest_index_comes_out_after_all_shares_have_run() {
    in_time("a broadcast of panics", || {
        let count = Count::new();
        let text = panic_text(|| {
            pool(7).broadcast(|context| {
                count.add(1);
                assert!(context.index() % 2 == 0, "share {}", context.index());
            })
        });
        assert_eq!((text.as_str(), count.get()), ("share 1", 7));
    });
}

#[test]
fn a_broadcast_from_a_worker_waits_for_the_job_on_its_own_deque() {
    in_time("a broadcast after a spawn", || {
        let pool = pool(1);
        let log = Log::new();
        pool.scope(|scope| {
            scope.spawn(|_| log.add("job"));
            broadcast(|_| log.add("share"));
        });
        assert_eq!(log.take(), ["job", "share"]);
    });
}

#[test]
fn broadcasts_to_one_worker_run_in_their_order() {
    in_time("broadcasts to a busy worker", || {
        let pool = pool(1);
        let log = Log::new();
        let busy = Occupation::of(&pool);
        for i in 0..10 {
            let log = log.clone();
            pool.spawn_broadcast(move |_| log.add(i));
        }
        drop(busy);
        pool.broadcast(|_| ());
        assert!(log.take().into_iter().eq(0..10));
    });
}

#[test]
fn a_share_comes_before_an_injected_job() {
    in_time("a broadcast behind an injected job", || {
        let pool = pool(1);
        let log = Log::new();
        let busy = Occupation::of(&pool);
        let (job, share) = (log.clone(), log.clone());
        pool.spawn(move || job.add("injected"));
        pool.spawn_broadcast(move |_| share.add("share"));
        drop(busy);
        pool.install(|| ());
        assert_eq!(log.take(), ["share", "injected"]);
    });
}

#[test]
fn a_share_comes_before_a_theft() {
    in_time("a broadcast beside a job that can be stolen", || {
        let pool = pool(2);
        let log = Log::new();
        let (first, second) = (Barrier::new(2), Barrier::new(2));
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|scope, context| {
                if context.index() == 0 {
                    scope.spawn(|_| log.add("theft"));
                    first.wait();
                    second.wait();
                } else {
                    first.wait();
                    // On this worker now: a job to steal, and a share of its own.
                    scope.spawn_broadcast(|_, context| {
                        if context.index() == 1 {
                            log.add("share");
                        }
                    });
                    rayon_core::yield_now();
                    rayon_core::yield_now();
                    second.wait();
                }
            });
        });
        assert_eq!(log.take(), ["share", "theft"]);
    });
}
