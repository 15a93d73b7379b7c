//! The locks on real threads.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use super::{Anderson, FirstComeFirstServed, Lock, Locked, Mcs, Mutex, Tas};

/// Enough for thousands of collisions, and still a blink under Miri.
const ROUNDS: usize = if cfg!(miri) { 20 } else { 5_000 };

/// Threads that wait and threads that only try count in two words, which no thread may see apart.
fn collide<L: Lock>() {
    let threads = 6;
    let pair = Locked::<(usize, usize), L>::new((0, 0), threads);
    let tried = AtomicUsize::new(0);
    let start = Barrier::new(threads);
    thread::scope(|scope| {
        for number in 0..threads {
            let (pair, tried, start) = (&pair, &tried, &start);
            scope.spawn(move || {
                start.wait();
                let count = |pair: &mut (usize, usize)| {
                    assert_eq!(pair.0, pair.1, "somebody else is inside");
                    pair.0 += 1;
                    std::hint::black_box(&mut *pair);
                    pair.1 += 1;
                };
                for _ in 0..ROUNDS {
                    if number % 2 == 0 {
                        pair.with(count);
                    } else if pair.try_with(count).is_some() {
                        tried.fetch_add(1, Relaxed);
                    }
                }
            });
        }
    });
    let counted = threads / 2 * ROUNDS + tried.load(Relaxed);
    assert_eq!(pair.with(|pair| *pair), (counted, counted));
}

#[test]
fn tas_excludes_under_load() {
    collide::<Tas>();
}

#[test]
fn mutex_excludes_under_load() {
    collide::<Mutex>();
}

#[test]
fn mcs_excludes_under_load() {
    collide::<Mcs>();
}

#[test]
fn anderson_excludes_under_load() {
    collide::<Anderson>();
}

/// Threads come one after the other while the lock is held; the order in which they enter.
fn order_of_entry<L: FirstComeFirstServed>(comers: usize) -> Vec<usize> {
    let entered = Locked::<Vec<usize>, L>::new(Vec::new(), comers + 1);
    thread::scope(|scope| {
        entered.with(|_| {
            for number in 0..comers {
                let before = entered.lock.last_comer();
                let entered = &entered;
                scope.spawn(move || entered.with(|order| order.push(number)));
                while entered.lock.last_comer() == before {
                    thread::yield_now();
                }
            }
        });
    });
    entered.with(std::mem::take)
}

#[test]
fn mcs_serves_in_the_order_of_coming() {
    assert_eq!(order_of_entry::<Mcs>(7), [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn anderson_serves_in_the_order_of_coming() {
    assert_eq!(order_of_entry::<Anderson>(7), [0, 1, 2, 3, 4, 5, 6]);
}

fn tries<L: Lock>() {
    let lock = L::new(2);
    lock.hold(|| {
        thread::scope(|scope| {
            let tried = scope.spawn(|| lock.try_hold(|| ()));
            assert_eq!(tried.join().unwrap(), None, "somebody is inside");
        });
    });
    assert_eq!(lock.try_hold(|| 5), Some(5));
    assert_eq!(lock.try_hold(|| 6), Some(6));
}

#[test]
fn a_try_fails_while_another_thread_is_inside_and_succeeds_afterwards() {
    tries::<Tas>();
    tries::<Mutex>();
    tries::<Mcs>();
    tries::<Anderson>();
}

fn is_free_after_panics<L: Lock>() {
    let lock = Locked::<u32, L>::new(0, 1);
    let panics = |work: &dyn Fn()| {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(work)).expect_err("it panics");
    };
    panics(&|| lock.with(|_| panic!("inside")));
    panics(&|| {
        lock.try_with(|_| -> () { panic!("inside") });
    });
    assert_eq!(lock.try_with(|value| *value), Some(0));
}

#[test]
fn a_panic_inside_lets_go_of_the_lock() {
    is_free_after_panics::<Tas>();
    is_free_after_panics::<Mutex>();
    is_free_after_panics::<Mcs>();
    is_free_after_panics::<Anderson>();
}

#[test]
fn the_places_of_anderson_go_round_at_every_number_of_threads() {
    for threads in 1..=5 {
        let lock = Anderson::new(threads);
        assert_eq!((0..20).map(|_| lock.hold(|| 1)).sum::<u32>(), 20);
        assert_eq!((0..20).filter_map(|_| lock.try_hold(|| 1)).sum::<u32>(), 20);
    }
}
