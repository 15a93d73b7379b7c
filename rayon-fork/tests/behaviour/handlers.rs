use rayon_core::{ThreadPoolBuilder, current_thread_index};

use crate::common::{Log, Tally, in_time};

#[test]
fn the_start_handler_runs_before_any_job() {
    in_time(|| {
        let log = Log::new();
        let (started, start) = (log.clone(), Tally::new());
        let may_start = start.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .start_handler(move |_| {
                may_start.wait_for(1);
                started.add("start");
            })
            .build()
            .unwrap();
        let job = log.clone();
        pool.spawn(move || job.add("job"));
        start.add_one();
        pool.install(|| ());
        assert_eq!(log.take(), ["start", "job"]);
    });
}

#[test]
fn the_exit_handler_runs_once_on_every_worker_which_is_still_one() {
    in_time(|| {
        let log = Log::new();
        let exited = Tally::new();
        let (indices, count) = (log.clone(), exited.clone());
        let pool = ThreadPoolBuilder::new()
            .num_threads(5)
            .exit_handler(move |index| {
                indices.add((index, current_thread_index()));
                count.add_one();
            })
            .build()
            .unwrap();
        pool.broadcast(|_| ());
        assert_eq!(exited.get(), 0, "no worker exits while the pool lives");
        drop(pool);
        exited.wait_for(5);
        let mut indices = log.take();
        indices.sort_unstable();
        assert!(
            indices
                .into_iter()
                .eq((0..5).map(|index| (index, Some(index))))
        );
    });
}

#[test]
fn the_exit_handler_runs_after_the_last_job() {
    in_time(|| {
        let log = Log::new();
        let exited = Tally::new();
        let (at_exit, count) = (log.clone(), exited.clone());
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .exit_handler(move |_| {
                at_exit.add("exit");
                count.add_one();
            })
            .build()
            .unwrap();
        let (first, second) = (log.clone(), log.clone());
        pool.spawn(move || {
            rayon_core::spawn(move || second.add("job of job"));
            first.add("job");
        });
        drop(pool);
        exited.wait_for(1);
        assert_eq!(log.take(), ["job", "job of job", "exit"]);
    });
}

#[test]
fn handlers_may_use_the_pool() {
    in_time(|| {
        let joined = Tally::new();
        let (at_start, at_exit, at_panic) = (joined.clone(), joined.clone(), joined.clone());
        let join = |count: &Tally| {
            rayon_core::join(|| count.add_one(), || count.add_one());
        };
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(move |_| join(&at_start))
            .exit_handler(move |_| join(&at_exit))
            .panic_handler(move |_| join(&at_panic))
            .build()
            .unwrap();
        joined.wait_for(4);
        pool.spawn(|| panic!("job"));
        joined.wait_for(6);
        drop(pool);
        joined.wait_for(10);
    });
}
