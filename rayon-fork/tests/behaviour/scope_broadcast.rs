//! `spawn_broadcast` of both kinds of scope.

use std::sync::Barrier;
use std::thread;

use rayon_core::{current_thread_index, scope, scope_fifo};

use crate::common::{Count, UNTIL_ASLEEP, meet, panic_text, patiently, pool};

#[test]
fn a_broadcast_runs_once_on_every_worker_before_the_scope_returns() {
    patiently("scope broadcasts", || {
        let pool = pool(5);
        let sum = Count::new();
        pool.scope(|scope| {
            scope.spawn_broadcast(|_, context| {
                assert_eq!(pool.current_thread_index(), Some(context.index()));
                assert_eq!(context.num_threads(), 5);
                sum.add(1 << (4 * context.index()));
            });
        });
        assert_eq!(sum.take(), 0x11111);
        pool.scope_fifo(|scope| {
            scope.spawn_broadcast(|_, context| {
                sum.add(1 << (4 * context.index()));
            });
        });
        assert_eq!(sum.get(), 0x11111);
    });
}

#[test]
fn a_broadcast_of_the_free_scope_reaches_the_global_pool() {
    patiently("scope broadcasts in the global pool", || {
        let count = Count::new();
        let share = || {
            assert!(current_thread_index().is_some());
            count.add(1);
        };
        scope(|scope| scope.spawn_broadcast(|_, _| share()));
        scope_fifo(|scope| scope.spawn_broadcast(|_, _| share()));
        assert_eq!(count.get(), 2 * rayon_core::current_num_threads());
    });
}

#[test]
fn shares_of_a_broadcast_may_broadcast_into_the_same_scope() {
    patiently("broadcasts by the shares of a scope broadcast", || {
        let pool = pool(3);
        let count = Count::new();
        pool.scope(|scope| {
            scope.spawn_broadcast(|scope, _| {
                scope.spawn_broadcast(|_, _| count.add(1));
            });
        });
        assert_eq!(count.take(), 9);
        pool.scope_fifo(|scope| {
            scope.spawn_broadcast(|scope, _| {
                scope.spawn_broadcast(|_, _| count.add(1));
            });
        });
        assert_eq!(count.get(), 9);
    });
}

#[test]
fn all_shares_run_at_once_beside_a_closure_in_place() {
    patiently("a barrier of the shares and the closure", || {
        let pool = pool(3);
        let meeting = Barrier::new(4);
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(|_, _| meet(&meeting));
            meeting.wait();
        });
        pool.in_place_scope_fifo(|scope| {
            scope.spawn_broadcast(|_, _| meet(&meeting));
            meeting.wait();
        });
    });
}

#[test]
fn a_panic_of_one_share_comes_out_after_all_have_run() {
    patiently("a scope broadcast with one panic", || {
        let count = Count::new();
        let text = panic_text(|| {
            pool(4).scope(|scope| {
                scope.spawn_broadcast(|_, context| {
                    count.add(1);
                    assert!(context.index() != 2, "share two");
                });
            });
        });
        assert_eq!((text.as_str(), count.get()), ("share two", 4));
    });
}

#[test]
fn of_the_panics_of_all_shares_one_comes_out_after_all_have_run() {
    patiently("a scope broadcast of panics", || {
        let count = Count::new();
        let text = panic_text(|| {
            pool(4).scope_fifo(|scope| {
                scope.spawn_broadcast(|_, _| {
                    count.add(1);
                    panic!("every share");
                });
            });
        });
        assert_eq!((text.as_str(), count.get()), ("every share", 4));
    });
}

/// Counts its end, which takes a while.
struct SlowEnd<'a>(&'a Count);

impl SlowEnd<'_> {
    fn is_awaited(&self) -> bool {
        self.0.get() == 0
    }
}

impl Drop for SlowEnd<'_> {
    fn drop(&mut self) {
        thread::sleep(UNTIL_ASLEEP);
        self.0.add(1);
    }
}

#[test]
fn what_a_broadcast_captured_has_ended_when_the_scope_returns() {
    patiently("a scope broadcast with a slow destructor", || {
        let pool = pool(2);
        let ends = Count::new();
        let end = SlowEnd(&ends);
        pool.in_place_scope(|scope| {
            scope.spawn_broadcast(move |_, _| assert!(end.is_awaited()));
        });
        assert_eq!(ends.get(), 1);
    });
}
