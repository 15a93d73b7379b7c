//! `FnContext::migrated`, by which parallel iterators decide how finely to split. Calls from
//! external threads go to the global pool, so `tests/process/migrated_from_external_threads.rs`
//! tests those.

use std::sync::Barrier;
use std::thread;

use rayon_core::{ThreadPool, Yield, join_context, scope, yield_local, yield_now};

use crate::common::{Log, in_time, panic_text, pool};

/// Returns the value of `migrated` in both halves of a join whose first half calls `during` before
/// it returns.
fn migrations(
    pool: &ThreadPool,
    during: impl Fn() + Sync,
    second: impl Fn() + Sync,
) -> (bool, bool) {
    pool.install(|| {
        join_context(
            |context| {
                during();
                context.migrated()
            },
            |context| {
                second();
                context.migrated()
            },
        )
    })
}

#[test]
fn a_second_half_that_a_yield_ran_on_the_same_thread_migrated() {
    in_time(|| {
        for yields in [yield_local, yield_now] {
            let yields = || assert_eq!(yields(), Some(Yield::Executed));
            assert_eq!(migrations(&pool(1), yields, || ()), (false, true));
        }
    });
}

#[test]
fn a_second_half_that_ran_on_the_same_thread_while_it_waited_for_a_scope_migrated() {
    in_time(|| {
        let pool = pool(1);
        // An external thread injects the job, so the waiting worker finds the second half of its
        // own join first.
        let waits = || {
            scope(|scope| {
                thread::scope(|threads| {
                    threads.spawn(|| scope.spawn(|_| ()));
                });
            });
        };
        assert_eq!(migrations(&pool, waits, || ()), (false, true));
    });
}

#[test]
fn a_second_half_that_ran_on_the_same_thread_after_a_panic_of_the_first_migrated() {
    in_time(|| {
        let log = Log::new();
        panic_text(|| {
            pool(1).install(|| {
                join_context(
                    |context| {
                        log.add(("first", context.migrated()));
                        panic!("first");
                    },
                    |context| log.add(("second", context.migrated())),
                )
            })
        });
        assert_eq!(log.take(), [("first", false), ("second", true)]);
    });
}

#[test]
fn a_nested_join_in_a_migrated_half_counts_from_there() {
    in_time(|| {
        let meeting = Barrier::new(2);
        let pool = pool(2);
        let ((), inner) = pool.install(|| {
            join_context(
                |_| {
                    meeting.wait();
                    // No thread steals while this half keeps its thread busy.
                    meeting.wait();
                },
                |_| {
                    meeting.wait();
                    let inner = join_context(|a| a.migrated(), |b| b.migrated());
                    meeting.wait();
                    inner
                },
            )
        });
        assert_eq!(inner, (false, false));
    });
}

#[test]
fn an_install_from_another_pool_is_no_migration() {
    in_time(|| {
        let (pool, other) = (pool(1), pool(1));
        let halves = other.install(|| migrations(&pool, || (), || ()));
        assert_eq!(halves, (false, false));
    });
}
