use std::error::Error;
use std::io;
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPoolBuilder, broadcast, current_num_threads};

use crate::child::alone;
use crate::common::{Tally, panic_text, pool};

const TEXT: &str = "The global thread pool has already been initialized.";

#[test]
fn of_many_builds_at_once_one_succeeds() {
    alone(&[], || {
        let build = |workers| ThreadPoolBuilder::new().num_threads(workers).build_global();
        let successes: usize = thread::scope(|threads| {
            let builds: Vec<_> = (1..=6).map(|n| threads.spawn(move || build(n))).collect();
            builds
                .into_iter()
                .filter_map(|build| build.join().unwrap().ok())
                .count()
        });
        assert_eq!(successes, 1);
    });
}

#[test]
fn the_build_waits_until_every_worker_runs() {
    alone(&[], || {
        let running = Tally::new();
        ThreadPoolBuilder::new()
            .num_threads(4)
            .spawn_handler(|builder| {
                let running = running.clone();
                thread::spawn(move || {
                    thread::sleep(
                        Duration::from_millis(20) * u32::try_from(builder.index()).unwrap(),
                    );
                    running.add_one();
                    builder.run();
                });
                Ok(())
            })
            .build_global()
            .unwrap();
        assert_eq!(running.get(), 4);
    });
}

#[test]
fn the_build_does_not_wait_for_start_handlers() {
    alone(&[], || {
        let release = Tally::new();
        let is_released = release.clone();
        ThreadPoolBuilder::new()
            .num_threads(2)
            .start_handler(move |_| is_released.wait_for(1))
            .build_global()
            .unwrap();
        release.add_one();
        assert_eq!(broadcast(|context| context.index()), [0, 1]);
    });
}

#[test]
fn after_a_failed_build_implicit_uses_panic_and_further_builds_fail() {
    alone(&[], || {
        let error = ThreadPoolBuilder::new()
            .num_threads(2)
            .spawn_handler(|_| Err(io::Error::other("no thread")))
            .build_global()
            .unwrap_err();
        assert_eq!(error.to_string(), "no thread");
        assert!(error.source().is_some_and(<dyn Error>::is::<io::Error>));
        let again = ThreadPoolBuilder::new()
            .num_threads(1)
            .build_global()
            .unwrap_err();
        assert_eq!(again.to_string(), TEXT);
        let uses: [fn(); 3] = [
            || drop(broadcast(|_| ())),
            || rayon_core::spawn(|| ()),
            || rayon_core::in_place_scope(|_| ()),
        ];
        for implicit_use in uses {
            let text = panic_text(implicit_use);
            assert!(text.to_lowercase().contains("global thread pool"), "{text}");
        }
        // Pools that the program builds itself still work.
        assert_eq!(pool(2).install(|| rayon_core::join(|| 1, || 2)), (1, 2));
    });
}

#[expect(deprecated, reason = "the deprecated function is what is tested")]
#[test]
fn initialize_is_the_one_build() {
    alone(&[], || {
        rayon_core::initialize(rayon_core::Configuration::new().num_threads(3)).unwrap();
        assert_eq!(current_num_threads(), 3);
        let again = rayon_core::initialize(rayon_core::Configuration::new()).unwrap_err();
        assert_eq!(again.to_string(), TEXT);
        assert!(ThreadPoolBuilder::new().build_global().is_err());
    });
}

#[test]
fn this_thread_may_become_worker_zero_of_the_global_pool() {
    alone(&[], || {
        let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
        builder.build_global().unwrap();
        assert_eq!(rayon_core::current_thread_index(), Some(0));
        assert_eq!(broadcast(|context| context.index()), [0, 1]);
        thread::scope(|threads| {
            threads.spawn(|| assert_eq!(current_num_threads(), 2));
        });
    });
}

#[test]
fn after_a_failed_implicit_start_every_further_use_panics_and_builds_fail() {
    // With this value of the standard library's `RUST_MIN_STACK`, no thread can be started unless
    // the program requests a smaller stack.
    let absurd = (usize::MAX / 2).to_string();
    alone(&[("RUST_MIN_STACK", &absurd)], || {
        for _ in 0..2 {
            let text = panic_text(current_num_threads);
            assert!(text.to_lowercase().contains("global thread pool"), "{text}");
        }
        let builder = ThreadPoolBuilder::new().num_threads(1).stack_size(1 << 20);
        assert_eq!(builder.build_global().unwrap_err().to_string(), TEXT);
        // Pools that the program builds itself still work.
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .stack_size(1 << 20)
            .build()
            .unwrap();
        assert_eq!(pool.install(|| 22), 22);
    });
}

/// `tests/threadless` tests the calls that do start the global pool.
#[test]
fn calls_that_need_no_global_pool_do_not_start_it() {
    alone(&[], || {
        rayon_core::max_num_threads();
        rayon_core::current_thread_index();
        rayon_core::current_thread_has_pending_tasks();
        rayon_core::yield_now();
        rayon_core::yield_local();
        let pool = pool(2);
        pool.install(|| rayon_core::join(|| (), || ()));
        pool.install(|| {
            rayon_core::spawn(|| ());
            rayon_core::spawn_fifo(|| ());
            rayon_core::spawn_broadcast(|_| ());
            rayon_core::in_place_scope(|_| ());
            current_num_threads()
        });
        pool.join(|| (), || ());
        pool.scope(|_| ());
        pool.scope_fifo(|_| ());
        pool.in_place_scope(|_| ());
        pool.in_place_scope_fifo(|_| ());
        pool.spawn(|| ());
        pool.spawn_fifo(|| ());
        pool.spawn_broadcast(|_| ());
        pool.broadcast(|_| ());
        pool.yield_now();
        pool.yield_local();
        pool.current_num_threads();
        pool.current_thread_index();
        pool.current_thread_has_pending_tasks();
        // No call above has tried to build the global pool, so this is the first attempt.
        ThreadPoolBuilder::new()
            .num_threads(7)
            .build_global()
            .unwrap();
        assert_eq!(current_num_threads(), 7);
    });
}
