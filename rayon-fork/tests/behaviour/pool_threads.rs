//! Threads that the program makes itself for a pool: spawn handlers and scoped pools.

use std::sync::mpsc;
use std::thread;

use rayon_core::{ThreadPoolBuilder, current_thread_index};

use crate::common::{Log, Tally, in_time};

#[test]
fn a_thread_is_no_worker_before_and_after_run_and_may_serve_another_pool() {
    in_time(|| {
        thread::scope(|threads| {
            let (hand_over, to_run) = mpsc::channel::<rayon_core::ThreadBuilder>();
            let served = threads.spawn(move || {
                let mut indices = Vec::new();
                for thread in to_run {
                    indices.push(current_thread_index());
                    thread.run();
                    indices.push(current_thread_index());
                }
                (indices, thread::current().id())
            });
            let mut ran_on = Vec::new();
            for _ in 0..2 {
                let hand_over = hand_over.clone();
                let builder = ThreadPoolBuilder::new().num_threads(1);
                let give = move |thread| {
                    hand_over
                        .send(thread)
                        .map_err(|_| std::io::ErrorKind::Other.into())
                };
                let pool = builder.spawn_handler(give).build().unwrap();
                ran_on.push(pool.install(|| thread::current().id()));
            }
            drop(hand_over);
            let (indices, id) = served.join().unwrap();
            assert_eq!(indices, [None; 4]);
            assert_eq!(ran_on, [id, id]);
        });
    });
}

#[test]
fn a_scoped_pool_runs_with_pool_on_the_caller_and_honours_names() {
    in_time(|| {
        let here = thread::current().id();
        let builder = ThreadPoolBuilder::new()
            .num_threads(1)
            .thread_name(|_| "scoped".to_owned());
        let outcome = builder.build_scoped(rayon_core::ThreadBuilder::run, |pool| {
            (
                thread::current().id(),
                pool.install(|| thread::current().name().map(str::to_owned)),
            )
        });
        assert_eq!(outcome.unwrap(), (here, Some("scoped".to_owned())));
    });
}

#[test]
fn each_worker_is_named_and_started_before_the_next_is_named() {
    in_time(|| {
        let log = Log::new();
        let names = log.clone();
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .thread_name(move |index| {
                names.add(("named", index));
                String::new()
            })
            .spawn_handler(|thread| {
                log.add(("started", thread.index()));
                thread::spawn(|| thread.run());
                Ok(())
            })
            .build()
            .unwrap();
        drop(pool);
        assert_eq!(
            log.take(),
            [("named", 0), ("started", 0), ("named", 1), ("started", 1)]
        );
    });
}

#[test]
fn a_worker_that_is_never_run_leaves_the_others_to_work() {
    in_time(|| {
        let ended = Tally::new();
        let pool = ThreadPoolBuilder::new()
            .num_threads(2)
            .spawn_handler(|worker| {
                let ended = ended.clone();
                if worker.index() == 1 {
                    thread::spawn(move || {
                        worker.run();
                        ended.add_one();
                    });
                }
                Ok(())
            })
            .build()
            .unwrap();
        assert_eq!(pool.current_num_threads(), 2);
        assert_eq!(
            pool.install(|| rayon_core::join(current_thread_index, || 22)),
            (Some(1), 22)
        );
        drop(pool);
        ended.wait_for(1);
    });
}

#[test]
fn a_scoped_pool_whose_threads_cannot_start_is_an_error() {
    // Under Miri stacks cannot overflow.
    if cfg!(miri) {
        return;
    }
    in_time(|| {
        let builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .stack_size(usize::MAX / 2);
        let outcome = builder.build_scoped(rayon_core::ThreadBuilder::run, |_| "built");
        let error = outcome.unwrap_err();
        assert!(std::error::Error::source(&error).is_some(), "{error:?}");
    });
}
