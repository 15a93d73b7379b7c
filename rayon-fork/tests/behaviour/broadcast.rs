use std::sync::Barrier;

use crate::common::{Count, Log, Occupation, Tally, in_time, panic_text, pool, pool_and_exits};

#[test]
fn of_many_panics_that_of_the_lowest_index_comes_out_after_all_shares_have_run() {
    in_time(|| {
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
fn broadcasts_to_one_worker_run_in_their_order() {
    in_time(|| {
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
    in_time(|| {
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
    in_time(|| {
        let pool = pool(2);
        let log = Log::new();
        let (both_run, first, second) = (Barrier::new(2), Barrier::new(2), Barrier::new(2));
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|scope, context| {
                // Before its share arrives, a worker may steal.
                both_run.wait();
                if context.index() == 0 {
                    scope.spawn(|_| log.add("theft"));
                    first.wait();
                    second.wait();
                } else {
                    first.wait();
                    // From here on, this worker can steal a job, or run its own share.
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

#[test]
fn a_pool_dropped_meanwhile_still_runs_every_share() {
    in_time(|| {
        let (pool, exited) = pool_and_exits(4);
        let ran = Tally::new();
        let count_run = ran.clone();
        let start = Tally::new();
        let may_start = start.clone();
        pool.spawn_broadcast(move |_| {
            may_start.wait_for(1);
            count_run.add_one();
        });
        drop(pool);
        assert_eq!((ran.get(), exited.get()), (0, 0));
        start.add_one();
        exited.wait_for(4);
        assert_eq!(ran.get(), 4);
    });
}
