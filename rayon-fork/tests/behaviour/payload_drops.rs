//! Payloads and captures of closures that panic when the pool drops them. No thread returns early,
//! and the first panic reaches the caller.

use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rayon_core::{Scope, ThreadBuilder, ThreadPool, ThreadPoolBuilder, join, yield_now};

use crate::common::{Count, Tally, in_time, panic_text, pool, rounds};

/// A payload whose drop panics. The new payload is of the same kind, and its drop panics in turn,
/// `drops_left` times in all.
struct Bomb {
    drops_left: usize,
    is_dropped: Arc<AtomicBool>,
}

impl Bomb {
    fn new() -> Self {
        Self {
            drops_left: 2,
            is_dropped: Arc::default(),
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        self.is_dropped.store(true, Ordering::Release);
        if let Some(drops_left) = self.drops_left.checked_sub(1) {
            panic_any(Self {
                drops_left,
                is_dropped: Arc::clone(&self.is_dropped),
            });
        }
    }
}

fn wait_until(happened: impl Fn() -> bool) {
    while !happened() {
        thread::yield_now();
    }
}

/// Returns a job that ends some time after the bomb was dropped. The job owns all its data, so a
/// scope that does not wait for the job only fails the test.
fn slow_job(bomb: &Bomb) -> (impl FnOnce() + Send, Arc<AtomicBool>) {
    let (is_dropped, has_ended) = (
        Arc::clone(&bomb.is_dropped),
        Arc::new(AtomicBool::new(false)),
    );
    let ended = Arc::clone(&has_ended);
    let job = move || {
        wait_until(|| is_dropped.load(Ordering::Acquire));
        thread::sleep(Duration::from_millis(20));
        ended.store(true, Ordering::Release);
    };
    (job, has_ended)
}

fn has_kept_one(scope: &impl std::fmt::Debug) -> bool {
    format!("{scope:?}").contains("has_panicked: true")
}

fn spawn_slow_and_first<'scope>(scope: &Scope<'scope>, slow: impl FnOnce() + Send + 'scope) {
    scope.spawn(|_| slow());
    scope.spawn(|_| panic!("first"));
    wait_until(|| has_kept_one(scope));
}

fn loses_by_the_closure(scope: &Scope<'_>, slow: Box<dyn FnOnce() + Send>, bomb: Bomb) {
    spawn_slow_and_first(scope, slow);
    panic_any(bomb);
}

fn loses_by_a_job(scope: &Scope<'_>, slow: Box<dyn FnOnce() + Send>, bomb: Bomb) {
    spawn_slow_and_first(scope, slow);
    scope.spawn(move |_| panic_any(bomb));
}

#[test]
fn a_scope_is_not_left_before_its_jobs_end_if_a_losing_payload_panics_in_drop() {
    in_time(|| {
        for loses in [loses_by_the_closure, loses_by_a_job] {
            let pool = pool(3);
            for in_place in [false, true] {
                let bomb = Bomb::new();
                let (slow, has_ended) = slow_job(&bomb);
                let text = panic_text(|| {
                    let body = |scope: &Scope<'_>| loses(scope, Box::new(slow), bomb);
                    if in_place {
                        pool.in_place_scope(body);
                    } else {
                        pool.scope(body);
                    }
                });
                assert!(
                    has_ended.load(Ordering::Acquire),
                    "the scope was left while a job ran"
                );
                assert_eq!(text, "first");
            }
        }
    });
}

#[test]
fn payloads_that_lose_at_the_same_time_and_panic_in_drop_leave_the_scope_whole() {
    in_time(|| {
        let pool = pool(3);
        for _ in 0..rounds(200, 2) {
            let ran = Count::new();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool.scope(|scope| {
                    for _ in 0..8 {
                        scope.spawn(|_| {
                            ran.add(1);
                            panic_any(Bomb::new());
                        });
                    }
                });
            }));
            std::mem::forget(outcome.unwrap_err());
            assert_eq!(ran.get(), 8);
        }
    });
}

/// The only worker runs a job of an outer scope while it waits in a join, whose second job would
/// otherwise be left behind.
#[test]
fn a_join_is_not_left_if_a_job_that_it_runs_meanwhile_loses_a_payload_that_panics_in_drop() {
    in_time(|| {
        let ran = Count::new();
        let text = panic_text(|| {
            pool(1).scope(|scope| {
                scope.spawn(|_| panic!("first"));
                yield_now();
                assert!(has_kept_one(scope));
                let second = || ran.add(1);
                join(|| scope.spawn(|_| panic_any(Bomb::new())), second);
                ran.add(1);
            });
        });
        assert_eq!((text.as_str(), ran.get()), ("first", 2));
    });
}

#[test]
fn a_yield_returns_if_the_job_that_it_runs_loses_a_payload_that_panics_in_drop() {
    in_time(|| {
        let ran = Count::new();
        let text = panic_text(|| {
            pool(1).scope(|scope| {
                scope.spawn(|_| panic!("first"));
                yield_now();
                scope.spawn(|_| panic_any(Bomb::new()));
                yield_now();
                ran.add(1);
            });
        });
        assert_eq!((text.as_str(), ran.get()), ("first", 1));
    });
}

#[test]
fn the_panic_of_the_first_closure_of_a_join_comes_out_if_that_of_the_second_panics_in_drop() {
    in_time(|| {
        for workers in 1..=2 {
            let pool = pool(workers);
            for _ in 0..rounds(100, 2) {
                let text = panic_text(|| {
                    pool.install(|| join(|| panic!("first"), || panic_any(Bomb::new())))
                });
                assert_eq!(text, "first");
            }
        }
    });
}

#[test]
fn one_panic_of_a_broadcast_comes_out_if_the_others_panic_in_drop() {
    in_time(|| {
        let pool = pool(3);
        let text = panic_text(|| {
            pool.broadcast(|context| {
                assert!(context.index() != 0, "first");
                panic_any(Bomb::new());
            })
        });
        assert_eq!(text, "first");
        assert_eq!(pool.broadcast(|context| context.index()), [0, 1, 2]);
    });
}

fn counting_pool(workers: usize) -> (ThreadPool, Tally) {
    let bombs = Tally::new();
    let seen = bombs.clone();
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers)
        .panic_handler(move |payload| {
            assert!(payload.is::<Bomb>());
            std::mem::forget(payload);
            seen.add_one();
        })
        .build()
        .unwrap();
    (pool, bombs)
}

#[test]
fn what_a_detached_closure_captured_goes_to_the_panic_handler_if_it_panics_in_drop() {
    in_time(|| {
        let (pool, bombs) = counting_pool(2);
        for seen in 1..=rounds(50, 2) {
            let [first, second] = [(); 2].map(|()| Bomb::new());
            pool.spawn(move || _ = black_box(&first));
            bombs.wait_for(2 * seen - 1);
            pool.spawn_broadcast(move |_| _ = black_box(&second));
            bombs.wait_for(2 * seen);
        }
        assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
    });
}

#[test]
fn what_the_broadcast_of_a_scope_captured_comes_out_of_the_scope_if_it_panics_in_drop() {
    in_time(|| {
        let pool = pool(2);
        for _ in 0..rounds(50, 2) {
            let ran = Count::new();
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                pool.in_place_scope(|scope| {
                    let bomb = Bomb::new();
                    scope.spawn_broadcast(|_, _| ran.add(1));
                    let counts = &ran;
                    scope.spawn_broadcast(move |_, _| {
                        black_box(&bomb);
                        counts.add(1);
                    });
                });
            }));
            let payload = outcome.unwrap_err();
            assert!(payload.is::<Bomb>());
            std::mem::forget(payload);
            assert_eq!(ran.get(), 4);
        }
    });
}

/// A capture of a builder's closures, whose drop panics.
struct Captured;

impl Drop for Captured {
    fn drop(&mut self) {
        panic_any("captured by a builder");
    }
}

#[test]
fn a_pool_ends_if_what_the_closures_of_its_builder_captured_panics_in_drop() {
    in_time(|| {
        let ended = Tally::new();
        let builder = || {
            let ended = ended.clone();
            ThreadPoolBuilder::new()
                .num_threads(2)
                .exit_handler(move |_| ended.add_one())
        };
        let names = |captured| {
            move |index| {
                let _: &Captured = &captured;
                format!("worker {index}")
            }
        };
        let captured = Captured;
        let spawns = move |thread: ThreadBuilder| {
            let _ = &captured;
            thread::spawn(|| thread.run());
            Ok(())
        };
        let a_pool = builder().thread_name(names(Captured));
        assert_eq!(panic_text(|| a_pool.build()), "captured by a builder");
        ended.wait_for(2);
        let started = builder().spawn_handler(spawns);
        assert_eq!(panic_text(|| started.build()), "captured by a builder");
        ended.wait_for(4);
        // A scoped pool waits for its threads.
        let scoped = builder().thread_name(names(Captured));
        let build = || scoped.build_scoped(ThreadBuilder::run, |_| ());
        assert_eq!(panic_text(build), "captured by a builder");
        assert_eq!(ended.get(), 6);
    });
}
