//! `broadcast`: once on every worker, results by index, the caller waits.

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPool, broadcast, current_num_threads, current_thread_index};

use crate::common::{
    Count, Log, Occupation, Tally, UNTIL_ASLEEP, panic_text, patiently, pool, rounds,
};

#[test]
fn results_come_by_index_from_the_global_pool() {
    patiently("a broadcast in the global pool", || {
        let indices = broadcast(|context| context.index());
        assert!(indices.into_iter().eq(0..current_num_threads()));
    });
}

#[test]
fn results_come_by_index_from_a_pool() {
    patiently("a broadcast from outside", || {
        assert!(
            pool(7)
                .broadcast(|context| context.index())
                .into_iter()
                .eq(0..7)
        );
    });
}

#[test]
fn results_come_by_index_to_a_worker_of_the_pool() {
    patiently("broadcasts from inside", || {
        let pool = pool(7);
        assert!(
            pool.install(|| broadcast(|context| context.index()))
                .into_iter()
                .eq(0..7)
        );
        assert!(
            pool.install(|| pool.broadcast(|context| context.index()))
                .into_iter()
                .eq(0..7)
        );
    });
}

#[test]
fn the_context_names_the_worker_that_runs_the_share() {
    patiently("a broadcast of indices", || {
        pool(4).broadcast(|context| {
            assert_eq!(current_thread_index(), Some(context.index()));
            assert_eq!((context.num_threads(), current_num_threads()), (4, 4));
        });
    });
}

#[test]
fn all_shares_run_at_once() {
    patiently("a barrier of all shares", || {
        let meeting = Barrier::new(5);
        pool(5).broadcast(|_| meeting.wait());
    });
}

fn product_of_two_broadcasts(outer: &ThreadPool, inner: &ThreadPool) -> usize {
    let count = Count::new();
    outer.broadcast(|_| inner.broadcast(|_| count.add(1)));
    count.get()
}

#[test]
fn every_worker_of_one_pool_reaches_every_worker_of_another() {
    patiently("broadcasts from the workers of another pool", || {
        let (small, large) = (pool(3), pool(7));
        for _ in 0..rounds(20, 1) {
            assert_eq!(product_of_two_broadcasts(&small, &large), 21);
            assert_eq!(product_of_two_broadcasts(&large, &small), 21);
        }
    });
}

#[test]
fn pools_broadcast_into_each_other_and_back() {
    patiently("broadcasts there and back", || {
        let (small, large) = (pool(3), pool(7));
        let count = Count::new();
        small.broadcast(|_| {
            large.broadcast(|_| {
                small.broadcast(|_| count.add(1));
            });
        });
        assert_eq!(count.get(), 3 * 7 * 3);
    });
}

#[test]
fn every_worker_is_reached_also_if_both_pools_are_asleep() {
    patiently("broadcasts between pools asleep", || {
        let (small, large) = (pool(3), pool(7));
        for _ in 0..rounds(3, 1) {
            thread::sleep(UNTIL_ASLEEP);
            let count = Count::new();
            small.broadcast(|_| {
                thread::sleep(UNTIL_ASLEEP);
                large.broadcast(|_| {
                    thread::sleep(Duration::from_millis(1));
                    count.add(1);
                });
            });
            assert_eq!(count.get(), 21);
        }
    });
}

#[test]
fn a_panic_of_one_share_comes_out_after_all_have_run() {
    patiently("a broadcast with one panic", || {
        let count = Count::new();
        let text = panic_text(|| {
            pool(7).broadcast(|context| {
                count.add(1);
                assert!(context.index() != 3, "share three");
            })
        });
        assert_eq!((text.as_str(), count.get()), ("share three", 7));
    });
}

#[test]
fn of_many_panics_that_of_the_lowest_index_comes_out_after_all_shares_have_run() {
    patiently("a broadcast of panics", || {
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
    patiently("a broadcast after a spawn", || {
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
fn a_broadcast_returns_after_the_shares_of_an_earlier_detached_one() {
    patiently("a broadcast after a detached one", || {
        let pool = pool(4);
        for _ in 0..rounds(20, 2) {
            let earlier = Tally::new();
            let count = earlier.clone();
            pool.spawn_broadcast(move |_| count.add_one());
            pool.broadcast(|_| ());
            assert_eq!(earlier.get(), 4);
        }
    });
}

#[test]
fn broadcasts_to_one_worker_run_in_their_order() {
    patiently("broadcasts to a busy worker", || {
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
    patiently("a broadcast behind an injected job", || {
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
    patiently("a broadcast beside a job that can be stolen", || {
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
