//! `spawn_broadcast`: once on every worker, and no thread waits.

use rayon_core::{ThreadPoolBuilder, spawn_broadcast};

use crate::common::{Log, Tally, in_time, pool};

#[test]
fn a_job_on_a_workers_deque_runs_before_a_later_broadcast() {
    in_time("a detached broadcast after a spawn", || {
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
    in_time("a detached broadcast in a dropped pool", || {
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
