use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rayon_core::join;

use crate::common::{AddsWhenDropped, Count, Log, Tally, in_time, meet, panic_text, pool};

#[test]
fn the_payload_that_does_not_come_out_is_dropped_once() {
    static DROPPED: Count = Count::new();
    in_time(|| {
        let text = panic_text(|| {
            pool(1).join(
                || panic!("first"),
                || std::panic::panic_any(AddsWhenDropped(&DROPPED)),
            )
        });
        assert_eq!(text, "first");
        assert_eq!(DROPPED.take(), 1);
    });
}

#[test]
fn the_result_of_the_first_half_is_dropped_once_if_the_second_panics() {
    in_time(|| {
        let dropped = Count::new();
        panic_text(|| pool(1).join(|| AddsWhenDropped(&dropped), || panic!("second")));
        assert_eq!(dropped.take(), 1);
        let meeting = Barrier::new(2);
        let first = || {
            meet(&meeting);
            AddsWhenDropped(&dropped)
        };
        let stolen = || {
            meet(&meeting);
            panic!("second")
        };
        panic_text(|| pool(2).join(first, stolen));
        assert_eq!(dropped.get(), 1);
    });
}

#[test]
fn a_panic_of_the_first_half_waits_for_a_stolen_second_half() {
    in_time(|| {
        let started = Tally::new();
        let has_ended = AtomicBool::new(false);
        let text = panic_text(|| {
            pool(2).join(
                || {
                    started.wait_for(1);
                    panic!("first");
                },
                || {
                    started.add_one();
                    thread::sleep(Duration::from_millis(20));
                    has_ended.store(true, Ordering::Relaxed);
                },
            )
        });
        assert_eq!(text, "first");
        assert!(
            has_ended.into_inner(),
            "the second half borrows from a frame that is gone"
        );
    });
}

#[test]
fn jobs_that_the_first_half_left_run_before_the_second_half() {
    in_time(|| {
        let log = Log::new();
        pool(1).scope(|outer| {
            join(
                || {
                    log.add("first");
                    outer.spawn(|_| log.add("spawned"));
                },
                || log.add("second"),
            );
            log.add("after");
        });
        assert_eq!(log.take(), ["first", "spawned", "second", "after"]);
    });
}

#[test]
fn a_join_whose_second_half_was_stolen_runs_other_jobs_meanwhile() {
    in_time(|| {
        let pool = pool(2);
        let started = Tally::new();
        let (first, second) = pool.join(
            || {
                started.wait_for(1);
                thread::current().id()
            },
            || {
                started.add_one();
                // This worker blocks here, so only the worker that waits in the join can run the
                // closure.
                thread::scope(|threads| {
                    let install = || pool.install(|| thread::current().id());
                    threads.spawn(install).join().unwrap()
                })
            },
        );
        assert_eq!(first, second);
    });
}
