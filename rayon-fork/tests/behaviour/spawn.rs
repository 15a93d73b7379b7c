//! `spawn` and `spawn_fifo`: detached jobs, and where their panics go.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc;
use std::thread;

use rayon_core::{ThreadPoolBuilder, spawn, spawn_fifo};

use crate::common::{Tally, in_time, pool};

#[test]
fn a_job_from_a_worker_runs_in_its_pool() {
    in_time("jobs from a worker", || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .thread_name(|_| "mine".into())
            .build()
            .unwrap();
        let (sender, names) = mpsc::channel();
        pool.install(|| {
            let again = sender.clone();
            let name = || thread::current().name().map(str::to_owned);
            spawn(move || sender.send(name()).unwrap());
            spawn_fifo(move || again.send(name()).unwrap());
        });
        assert!(
            names
                .iter()
                .take(2)
                .all(|name| name.as_deref() == Some("mine"))
        );
    });
}

#[test]
fn a_job_spawned_into_a_pool_runs_there_whoever_spawns() {
    in_time("jobs for a pool", || {
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .thread_name(|_| "mine".into())
            .build()
            .unwrap();
        let (sender, names) = mpsc::channel();
        let spawn_both = || {
            let (first, second) = (sender.clone(), sender.clone());
            let name = || thread::current().name().map(str::to_owned);
            pool.spawn(move || first.send(name()).unwrap());
            pool.spawn_fifo(move || second.send(name()).unwrap());
        };
        spawn_both();
        pool.install(spawn_both);
        crate::common::pool(1).install(spawn_both);
        assert!(
            names
                .iter()
                .take(6)
                .all(|name| name.as_deref() == Some("mine"))
        );
    });
}

#[test]
fn spawn_returns_before_the_job_has_run() {
    in_time("a spawn whose job waits for its return", || {
        let pool = pool(1);
        let (release, is_released) = mpsc::channel();
        let (sender, receiver) = mpsc::channel();
        pool.spawn(move || sender.send(is_released.recv().unwrap()).unwrap());
        release.send("released").unwrap();
        assert_eq!(receiver.recv(), Ok("released"));
    });
}

#[test]
fn a_panic_in_install_does_not_reach_the_panic_handler() {
    in_time("a panic that a thread waits for", || {
        let seen = Tally::new();
        let count = seen.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .panic_handler(move |_| count.add_one())
            .build()
            .unwrap();
        let outcome =
            std::panic::catch_unwind(AssertUnwindSafe(|| pool.install(|| panic!("awaited"))));
        assert!(outcome.is_err());
        pool.install(|| ());
        assert_eq!(seen.get(), 0);
    });
}
