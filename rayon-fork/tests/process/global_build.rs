//! The one attempt to build the global pool: what it waits for, and what follows a failure.

use std::error::Error;
use std::io;
use std::thread;
use std::time::Duration;

use rayon_core::{ThreadPoolBuilder, broadcast, current_num_threads};

use crate::child::{self, is_child};
use crate::common::{Tally, panic_text, patiently};

const TEXT: &str = "The global thread pool has already been initialized.";

#[test]
fn only_the_first_build_succeeds() {
    child::run_well("global_build::second_build_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn second_build_child() {
    if is_child() {
        patiently("two builds", || {
            ThreadPoolBuilder::new()
                .num_threads(3)
                .build_global()
                .unwrap();
            let error = ThreadPoolBuilder::new()
                .num_threads(4)
                .build_global()
                .unwrap_err();
            assert_eq!(error.to_string(), TEXT);
            assert_eq!(
                format!("{error:?}"),
                "ThreadPoolBuildError { kind: GlobalPoolAlreadyInitialized }"
            );
            assert!(error.source().is_none());
            assert_eq!(current_num_threads(), 3);
        });
    }
}

#[test]
fn of_many_builds_at_once_one_succeeds() {
    child::run_well("global_build::racing_builds_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn racing_builds_child() {
    if is_child() {
        patiently("builds at once", || {
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
}

#[test]
fn zero_threads_mean_the_default_number() {
    child::run_well(
        "global_build::zero_threads_child",
        &[("RAYON_NUM_THREADS", "5")],
    );
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn zero_threads_child() {
    if is_child() {
        patiently("a build of zero threads", || {
            ThreadPoolBuilder::new()
                .num_threads(0)
                .build_global()
                .unwrap();
            assert_eq!(current_num_threads(), 5);
        });
    }
}

#[test]
fn the_build_waits_until_every_worker_runs() {
    child::run_well("global_build::waiting_build_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn waiting_build_child() {
    if is_child() {
        patiently("a build whose threads start late", || {
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
}

#[test]
fn the_build_does_not_wait_for_start_handlers() {
    child::run_well("global_build::blocked_start_handler_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn blocked_start_handler_child() {
    if is_child() {
        patiently("a build whose start handlers block", || {
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
}

#[test]
fn after_a_failed_build_implicit_uses_panic_and_further_builds_fail() {
    child::run_well("global_build::failed_build_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn failed_build_child() {
    if is_child() {
        patiently("uses after a failed build", || {
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
            // Pools of one's own still work.
            assert_eq!(
                crate::common::pool(2).install(|| rayon_core::join(|| 1, || 2)),
                (1, 2)
            );
        });
    }
}

#[test]
fn initialize_is_the_one_build() {
    child::run_well("global_build::initialize_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
#[expect(deprecated, reason = "the deprecated function is what is tested")]
fn initialize_child() {
    if is_child() {
        patiently("initialize", || {
            rayon_core::initialize(rayon_core::Configuration::new().num_threads(3)).unwrap();
            assert_eq!(current_num_threads(), 3);
            let again = rayon_core::initialize(rayon_core::Configuration::new()).unwrap_err();
            assert_eq!(again.to_string(), TEXT);
            assert!(ThreadPoolBuilder::new().build_global().is_err());
        });
    }
}

#[test]
fn this_thread_may_become_worker_zero_of_the_global_pool() {
    child::run_well("global_build::current_thread_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn current_thread_child() {
    if is_child() {
        patiently("a global pool on this thread", || {
            let builder = ThreadPoolBuilder::new().num_threads(2).use_current_thread();
            builder.build_global().unwrap();
            assert_eq!(rayon_core::current_thread_index(), Some(0));
            assert_eq!(broadcast(|context| context.index()), [0, 1]);
            thread::scope(|threads| {
                threads.spawn(|| assert_eq!(current_num_threads(), 2));
            });
        });
    }
}

#[test]
fn in_a_pool_of_this_thread_alone_a_spawned_job_runs_when_it_waits() {
    child::run_well("global_build::current_thread_alone_child", &[]);
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn current_thread_alone_child() {
    if is_child() {
        patiently("a global pool of this thread alone", || {
            let builder = ThreadPoolBuilder::new().num_threads(1).use_current_thread();
            builder.build_global().unwrap();
            let ran = Tally::new();
            let count = ran.clone();
            rayon_core::spawn(move || count.add_one());
            assert_eq!(ran.get(), 0);
            broadcast(|_| ());
            assert_eq!(ran.get(), 1);
        });
    }
}

#[test]
fn after_a_failed_implicit_start_every_further_use_panics_and_builds_fail() {
    // The standard library's own variable. With it, no thread can be started unless the program
    // requests a smaller stack.
    let absurd = (usize::MAX / 2).to_string();
    child::run_well(
        "global_build::failed_start_child",
        &[("RUST_MIN_STACK", &absurd)],
    );
}

#[test]
#[ignore = "run in a process of its own by the test above"]
fn failed_start_child() {
    if is_child() {
        for _ in 0..2 {
            let text = panic_text(current_num_threads);
            assert!(text.to_lowercase().contains("global thread pool"), "{text}");
        }
        let builder = ThreadPoolBuilder::new().num_threads(1).stack_size(1 << 20);
        assert_eq!(builder.build_global().unwrap_err().to_string(), TEXT);
        // Pools of one's own still work.
        let pool = ThreadPoolBuilder::new()
            .num_threads(1)
            .stack_size(1 << 20)
            .build()
            .unwrap();
        assert_eq!(pool.install(|| 22), 22);
    }
}
