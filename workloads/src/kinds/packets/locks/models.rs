//! Every schedule, and every stale value that the memory model allows, within loom's bounds.
//!
//! `cargo xtask models`

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicUsize};
use loom::thread;

use super::{Anderson, FirstComeFirstServed, Lock, Locked, Mcs, Mutex, Tas};

/// Switches away from a thread that could run on; two find every known bug of locks like these.
const PREEMPTIONS: usize = 2;

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

/// Returns loom's message about a model that it must reject.
fn rejection(model: impl Fn() + Sync + Send + 'static) -> String {
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| explore(model)))
        .expect_err("the model checker lets a broken lock pass");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a panic has a message")).to_owned(),
    }
}

/// So many threads count in turn; loom itself reports two of them inside at once, or one that does
/// not see what another wrote.
fn counting<L: Lock + 'static>(lock: L, threads: usize, rounds: usize) {
    let count = Arc::new(Locked {
        lock,
        value: super::UnsafeCell::new(0),
    });
    let work = move |count: &Locked<usize, L>| {
        for _ in 0..rounds {
            count.with(|count| *count += 1);
        }
    };
    let others: Vec<_> = (1..threads)
        .map(|_| {
            let count = Arc::clone(&count);
            thread::spawn(move || work(&count))
        })
        .collect();
    work(&count);
    others.into_iter().for_each(|other| other.join().unwrap());
    assert_eq!(count.with(|count| *count), threads * rounds);
}

/// One thread waits for the lock, the other only tries; each that gets in counts.
fn trying<L: Lock + 'static>() {
    let count = Arc::new(Locked::<usize, L>::new(0, 2));
    let other = Arc::clone(&count);
    let trier = thread::spawn(move || {
        let tries = [
            other.try_with(|count| *count += 1),
            other.try_with(|count| *count += 1),
        ];
        tries.iter().flatten().count()
    });
    for _ in 0..2 {
        count.with(|count| *count += 1);
    }
    let succeeded = trier.join().unwrap();
    assert_eq!(count.with(|count| *count), 2 + succeeded);
}

/// While the lock is held, a second thread comes, and a third that looks whether the second is
/// there before it comes itself: if it was, it enters after it.
fn ordered<L: Lock + 'static>(lock: L, last_comer: fn(&L) -> Option<usize>) {
    let entered = Arc::new(Locked {
        lock,
        value: super::UnsafeCell::new(Vec::new()),
    });
    let comers = entered.with(|_| {
        let holder = last_comer(&entered.lock);
        let comer = Arc::clone(&entered);
        let second = thread::spawn(move || comer.with(|order| order.push("second")));
        let comer = Arc::clone(&entered);
        let third = thread::spawn(move || {
            let last = last_comer(&comer.lock);
            let is_second_there = last.is_some() && last != holder;
            comer.with(|order| order.push("third"));
            is_second_there
        });
        (second, third)
    });
    comers.0.join().unwrap();
    if comers.1.join().unwrap() {
        assert_eq!(
            entered.with(|order| std::mem::take(order)),
            ["second", "third"]
        );
    }
}

macro_rules! models {
    ($($module:ident: $lock:ty;)*) => {$(
        mod $module {
            use super::*;

            #[test]
            fn two_threads_are_never_inside_at_once_and_see_what_the_other_wrote() {
                explore(|| counting(<$lock>::new(2), 2, 2));
            }

            #[test]
            fn who_only_tries_gets_in_alone_or_not_at_all() {
                explore(trying::<$lock>);
            }
        }
    )*};
}

models! {
    tas: Tas;
    mutex: Mutex;
    mcs: Mcs;
    anderson: Anderson;
}

// The model of `tas` has only two threads: loom never ends a schedule in which two waiting threads
// swap in turn for ever.

#[test]
fn three_threads_are_never_inside_mutex_at_once() {
    explore(|| counting(Mutex::new(3), 3, 1));
}

#[test]
fn three_threads_are_never_inside_mcs_at_once() {
    explore(|| counting(Mcs::new(3), 3, 1));
}

#[test]
fn three_threads_are_never_inside_anderson_at_once() {
    explore(|| counting(Anderson::new(3), 3, 1));
}

#[test]
fn mcs_serves_threads_in_the_order_in_which_they_came() {
    explore(|| ordered(Mcs::new(3), Mcs::last_comer));
}

#[test]
fn anderson_serves_threads_in_the_order_in_which_they_came() {
    explore(|| ordered(Anderson::new(3), Anderson::last_comer));
}

/// Looks and takes in two steps.
struct LooksThenTakes(AtomicBool);

// SAFETY: none; the models must find out.
unsafe impl Lock for LooksThenTakes {
    fn new(_: usize) -> Self {
        Self(AtomicBool::new(false))
    }

    fn hold<R>(&self, section: impl FnOnce() -> R) -> R {
        while self.0.load(Acquire) {
            thread::yield_now();
        }
        self.0.store(true, Relaxed);
        let result = section();
        self.0.store(false, Release);
        result
    }

    fn try_hold<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        (!self.0.load(Acquire)).then(|| self.hold(section))
    }
}

/// Excludes others, but does not make its writes visible to the next holder.
struct ShowsNothing(AtomicBool);

// SAFETY: none; the models must find out.
unsafe impl Lock for ShowsNothing {
    fn new(_: usize) -> Self {
        Self(AtomicBool::new(false))
    }

    fn hold<R>(&self, section: impl FnOnce() -> R) -> R {
        while self.0.swap(true, Relaxed) {
            thread::yield_now();
        }
        let result = section();
        self.0.store(false, Relaxed);
        result
    }

    fn try_hold<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        (!self.0.swap(true, Relaxed)).then(|| {
            let result = section();
            self.0.store(false, Relaxed);
            result
        })
    }
}

#[test]
fn a_lock_that_looks_and_takes_in_two_steps_is_rejected() {
    let text = rejection(|| counting(LooksThenTakes::new(2), 2, 1));
    assert!(text.contains("Concurrent"), "{text}");
    let text = rejection(trying::<LooksThenTakes>);
    assert!(text.contains("Concurrent"), "{text}");
}

#[test]
fn a_lock_that_shows_the_next_holder_nothing_is_rejected() {
    let text = rejection(|| counting(ShowsNothing::new(2), 2, 1));
    assert!(text.contains("Concurrent"), "{text}");
}

#[test]
fn an_array_lock_with_fewer_places_than_threads_is_rejected() {
    let text = rejection(|| counting(Anderson::new(1), 3, 1));
    assert!(text.contains("Concurrent"), "{text}");
}

/// No order: it counts the threads that come, so that the model can ask.
struct Unordered(Tas, AtomicUsize);

// SAFETY: as the lock inside.
unsafe impl Lock for Unordered {
    fn new(threads: usize) -> Self {
        Self(Tas::new(threads), AtomicUsize::new(0))
    }

    fn hold<R>(&self, section: impl FnOnce() -> R) -> R {
        self.1.fetch_add(1, AcqRel);
        self.0.hold(section)
    }

    fn try_hold<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        self.0.try_hold(section)
    }
}

#[test]
fn a_lock_without_an_order_is_rejected_by_the_model_of_order() {
    let text = rejection(|| ordered(Unordered::new(3), |lock| Some(lock.1.load(Acquire))));
    assert!(text.contains(r#"left: ["third", "second"]"#), "{text}");
}
