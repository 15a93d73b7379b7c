//! `use_current_thread`: the caller becomes worker 0 for good, so a test that builds such a pool
//! starts its own thread.

use std::thread;

use rayon_core::{
    ThreadPool, ThreadPoolBuilder, Yield, current_thread_index, join, spawn, yield_now,
};

use crate::common::{Log, Tally, in_time};

fn on_new_thread(body: impl FnOnce() + Send) {
    in_time(|| {
        thread::scope(|threads| {
            if let Err(payload) = threads.spawn(body).join() {
                std::panic::resume_unwind(payload);
            }
        });
    });
}

fn pool_of_this_thread(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .use_current_thread()
        .build()
        .unwrap()
}

#[test]
fn a_build_on_a_worker_of_any_pool_fails() {
    in_time(|| {
        let pool = crate::common::pool(1);
        let text = pool.install(|| {
            let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            builder.build().unwrap_err().to_string()
        });
        assert_eq!(
            text,
            "The current thread is already part of another thread pool."
        );
        assert_eq!(pool.install(current_thread_index), Some(0));
    });
}

#[test]
fn a_thread_whose_pool_could_not_be_built_is_no_worker_and_may_build_another() {
    on_new_thread(|| {
        let failed = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .spawn_handler(|_| Err(std::io::Error::other("no threads today")))
            .build();
        assert!(failed.is_err() && current_thread_index().is_none());
        let pool = pool_of_this_thread(2);
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1]);
    });
}

#[test]
fn alone_it_runs_jobs_only_when_it_waits_or_yields() {
    on_new_thread(|| {
        let pool = pool_of_this_thread(1);
        let ran = Tally::new();
        let put = || {
            let count = ran.clone();
            spawn(move || count.add_one());
        };
        put();
        thread::sleep(std::time::Duration::from_millis(5));
        assert_eq!(ran.get(), 0, "nothing runs in the background");
        assert_eq!((yield_now(), ran.get()), (Some(Yield::Executed), 1));
        put();
        join(put, || ());
        assert_eq!(
            ran.get(),
            2,
            "the job above the second half has run, and the job below has not"
        );
        pool.broadcast(|_| ());
        assert_eq!(
            ran.get(),
            3,
            "a worker runs its broadcast share after the jobs of its own deque"
        );
    });
}

#[test]
fn other_threads_install_while_it_waits() {
    on_new_thread(|| {
        let pool = pool_of_this_thread(1);
        let here = thread::current().id();
        thread::scope(|threads| {
            let done = Tally::new();
            let (pool, has_done) = (&pool, done.clone());
            let other = threads.spawn(move || {
                let ran_on = pool.install(|| thread::current().id());
                has_done.add_one();
                ran_on
            });
            while done.get() == 0 {
                yield_now();
            }
            assert_eq!(other.join().unwrap(), here);
        });
    });
}

#[test]
fn handlers_run_for_the_other_workers_only() {
    on_new_thread(|| {
        let (starts, exits, log) = (Tally::new(), Tally::new(), Log::new());
        let (on_start, on_exit) = (starts.clone(), exits.clone());
        let (start_log, exit_log) = (log.clone(), log.clone());
        let pool = ThreadPoolBuilder::new()
            .num_threads(3)
            .use_current_thread()
            .start_handler(move |index| {
                start_log.add(("start", index));
                on_start.add_one();
            })
            .exit_handler(move |index| {
                exit_log.add(("exit", index));
                on_exit.add_one();
            })
            .build()
            .unwrap();
        starts.wait_for(2);
        drop(pool);
        exits.wait_for(2);
        let mut calls = log.take();
        calls.sort_unstable();
        assert_eq!(
            calls,
            [("exit", 1), ("exit", 2), ("start", 1), ("start", 2)]
        );
    });
}

#[test]
fn the_index_stays_after_the_pool_has_ended() {
    on_new_thread(|| {
        let exits = Tally::new();
        let on_exit = exits.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .use_current_thread()
            .exit_handler(move |_| on_exit.add_one())
            .build()
            .unwrap();
        drop(pool);
        exits.wait_for(1);
        assert_eq!(current_thread_index(), Some(0));
        assert_eq!(join(|| 1, || 2), (1, 2));
    });
}
