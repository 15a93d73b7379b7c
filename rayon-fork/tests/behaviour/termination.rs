//! How a pool ends: after its handle is gone and its jobs have run, and not later.

use std::sync::{Arc, Barrier, mpsc};

use rayon_core::{join, spawn};

use crate::common::{Tally, in_time, pool_and_exits, rounds};

#[test]
fn drop_does_not_wait_for_running_or_queued_jobs() {
    in_time(|| {
        let (pool, exits) = pool_and_exits(1);
        let (release, is_released) = mpsc::channel::<()>();
        let ran = Tally::new();
        let (first, second) = (ran.clone(), ran.clone());
        pool.spawn(move || {
            is_released.recv().unwrap();
            first.add_one();
        });
        pool.spawn(move || second.add_one());
        drop(pool);
        assert_eq!((ran.get(), exits.get()), (0, 0));
        release.send(()).unwrap();
        exits.wait_for(1);
        assert_eq!(ran.get(), 2);
    });
}

#[test]
fn the_pool_lives_as_long_as_jobs_spawn_jobs() {
    fn chain(links: usize, ran: Tally) {
        ran.add_one();
        if links > 1 {
            spawn(move || chain(links - 1, ran));
        }
    }
    in_time(|| {
        let links = rounds(2000, 10);
        for workers in 1..=3 {
            let (pool, exits) = pool_and_exits(workers);
            let ran = Tally::new();
            let count = ran.clone();
            pool.spawn(move || chain(links, count));
            drop(pool);
            exits.wait_for(workers);
            assert_eq!(ran.get(), links, "{workers} workers");
        }
    });
}

#[test]
fn a_worker_may_drop_the_handle_of_its_own_pool() {
    in_time(|| {
        for workers in 1..=3 {
            for _ in 0..rounds(20, 1) {
                let (pool, exits) = pool_and_exits(workers);
                let pool = Arc::new(pool);
                let meeting = Arc::new(Barrier::new(2));
                let (handle, at_meeting) = (Arc::clone(&pool), Arc::clone(&meeting));
                pool.spawn(move || {
                    at_meeting.wait();
                    drop(handle);
                    // This thread is still a worker, of a pool that lives until this job has ended.
                    assert_eq!(join(|| 1, || 2), (1, 2));
                });
                drop(pool);
                // From here on, only the job holds a handle of the pool.
                meeting.wait();
                exits.wait_for(workers);
            }
        }
    });
}

#[test]
fn what_jobs_own_is_dropped_before_the_workers_exit() {
    in_time(|| {
        let (pool, exits) = pool_and_exits(1);
        let (sender, receiver) = mpsc::channel::<()>();
        let again = sender.clone();
        pool.spawn(move || drop(sender));
        pool.spawn_broadcast(move |_| again.send(()).unwrap());
        drop(pool);
        exits.wait_for(1);
        assert_eq!(receiver.try_iter().count(), 1);
        assert_eq!(receiver.recv().ok(), None, "a job kept its sender alive");
    });
}
