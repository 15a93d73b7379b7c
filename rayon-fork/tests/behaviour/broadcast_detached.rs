//! `spawn_broadcast`: once on every worker, nobody waits.

use std::sync::mpsc;
use std::thread;

use rayon_core::{ThreadPoolBuilder, spawn_broadcast};

use crate::common::{Log, Tally, UNTIL_ASLEEP, patiently, pool};

#[test]
fn every_worker_of_the_global_pool_is_reached() {
    patiently("a detached broadcast in the global pool", || {
        let (sender, indices) = mpsc::channel();
        spawn_broadcast(move |context| sender.send(context.index()).unwrap());
        let mut indices: Vec<usize> = indices.into_iter().collect();
        indices.sort_unstable();
        assert!(indices.into_iter().eq(0..rayon_core::current_num_threads()));
    });
}

#[test]
fn every_worker_of_a_pool_is_reached_once_from_outside_and_from_inside() {
    patiently("detached broadcasts", || {
        let pool = pool(7);
        let reached = |submit: &(dyn Fn(mpsc::Sender<usize>) + Sync)| {
            let (sender, indices) = mpsc::channel();
            submit(sender);
            // Ends when the broadcast's closure, which owns the sender, is dropped after its last
            // share.
            let mut indices: Vec<usize> = indices.into_iter().collect();
            indices.sort_unstable();
            indices
        };
        let submit = |sender: mpsc::Sender<usize>| {
            pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
        };
        assert!(reached(&submit).into_iter().eq(0..7));
        assert!(
            reached(&|sender| pool.install(|| submit(sender)))
                .into_iter()
                .eq(0..7)
        );
        let free = |sender: mpsc::Sender<usize>| {
            spawn_broadcast(move |context| sender.send(context.index()).unwrap());
        };
        assert!(
            reached(&|sender| pool.install(|| free(sender)))
                .into_iter()
                .eq(0..7)
        );
    });
}

#[test]
fn every_worker_of_one_pool_reaches_every_worker_of_another_also_asleep() {
    patiently("detached broadcasts between pools", || {
        let small = pool(3);
        let large = std::sync::Arc::new(pool(7));
        for gap in [std::time::Duration::ZERO, UNTIL_ASLEEP] {
            let reached = Tally::new();
            let (count, target) = (reached.clone(), std::sync::Arc::clone(&large));
            thread::sleep(gap);
            small.spawn_broadcast(move |_| {
                thread::sleep(gap);
                let count = count.clone();
                target.spawn_broadcast(move |_| count.add_one());
            });
            reached.wait_for(21);
            // One more barrier on every worker, after which a surplus share would have shown.
            small.broadcast(|_| ());
            large.broadcast(|_| ());
            assert_eq!(reached.get(), 21);
        }
    });
}

#[test]
fn each_panicking_share_goes_to_the_panic_handler() {
    patiently("panics of detached broadcasts", || {
        let handled = Tally::new();
        let count = handled.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(7)
            .panic_handler(move |_| count.add_one())
            .build()
            .unwrap();
        pool.spawn_broadcast(|context| assert!(context.index() != 5, "one share"));
        handled.wait_for(1);
        pool.broadcast(|_| ());
        assert_eq!(handled.get(), 1);
        pool.spawn_broadcast(|context| assert!(context.index() % 2 == 1, "four shares"));
        handled.wait_for(5);
        pool.broadcast(|_| ());
        assert_eq!(handled.get(), 5);
    });
}

#[test]
fn a_job_on_a_workers_deque_runs_before_a_later_broadcast() {
    patiently("a detached broadcast after a spawn", || {
        let pool = pool(1);
        let log = Log::new();
        pool.install(|| {
            let (job, share) = (log.clone(), log.clone());
            rayon_core::spawn(move || job.add("job"));
            spawn_broadcast(move |_| share.add("share"));
        });
        pool.broadcast(|_| ());
        assert_eq!(log.take(), ["job", "share"]);
    });
}

#[test]
fn a_pool_dropped_meanwhile_still_runs_every_share() {
    patiently("a detached broadcast in a dropped pool", || {
        let (exited, ran) = (Tally::new(), Tally::new());
        let (count_exit, count_run) = (exited.clone(), ran.clone());
        let pool = ThreadPoolBuilder::new()
            .num_threads(4)
            .exit_handler(move |_| count_exit.add_one())
            .build()
            .unwrap();
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
