//! Loom models of the array lock. Loom runs every schedule, with every stale value that the memory
//! model allows, within loom's bounds.
//!
//! `cargo xtask models` runs these models.

use std::panic::{AssertUnwindSafe, catch_unwind};

use loom::sync::{Arc, Mutex};
use loom::thread;

use super::*;

/// With two preemptions, loom finds the mistakes that are planted below.
const PREEMPTIONS: usize = 2;

fn explore(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(PREEMPTIONS);
    builder.check(model);
}

fn rejection(model: impl Fn() + Sync + Send + 'static) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| explore(model)))
        .expect_err("the model checker lets a broken lock pass");
    match panic.downcast::<String>() {
        Ok(text) => *text,
        Err(panic) => (*panic.downcast::<&str>().expect("a panic has a message")).to_owned(),
    }
}

/// `threads` threads count under a lock that has places for `room` threads. Loom reports if two
/// threads hold the lock at once, or if one thread does not see another's write.
fn counting(room: usize, threads: usize, rounds: usize) {
    let count = Arc::new(Anderson::new(0, room));
    let work = move |count: &Anderson<usize>| {
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

#[test]
fn two_threads_are_never_inside_at_once_and_see_what_the_other_wrote() {
    explore(|| counting(2, 2, 2));
}

#[test]
fn three_threads_are_never_inside_at_once() {
    explore(|| counting(3, 3, 1));
}

#[test]
fn a_lock_with_fewer_places_than_threads_is_rejected() {
    let text = rejection(|| counting(1, 3, 1));
    assert!(text.contains("Concurrent"), "{text}");
}

#[test]
fn a_thread_that_only_tries_gets_in_alone_or_not_at_all() {
    explore(|| {
        let count = Arc::new(Anderson::new(0, 2));
        let other = Arc::clone(&count);
        let trier = thread::spawn(move || {
            let tries = [(); 2].map(|()| other.try_with(|count| *count += 1));
            tries.iter().flatten().count()
        });
        for _ in 0..2 {
            count.with(|count| *count += 1);
        }
        let succeeded = trier.join().unwrap();
        assert_eq!(count.with(|count| *count), 2 + succeeded);
    });
}

trait Entries: Send + Sync + 'static {
    fn new() -> Self;
    fn with<R>(&self, work: impl FnOnce(&mut Vec<&'static str>) -> R) -> R;
    fn comers(&self) -> usize;
}

impl Entries for Anderson<Vec<&'static str>> {
    fn new() -> Self {
        Self::new(Vec::new(), 3)
    }

    fn with<R>(&self, work: impl FnOnce(&mut Vec<&'static str>) -> R) -> R {
        self.with(work)
    }

    fn comers(&self) -> usize {
        self.comers()
    }
}

/// Planted mistake: a lock without order.
struct Unordered(Mutex<Vec<&'static str>>, AtomicUsize);

impl Entries for Unordered {
    fn new() -> Self {
        Self(Mutex::new(Vec::new()), AtomicUsize::new(0))
    }

    fn with<R>(&self, work: impl FnOnce(&mut Vec<&'static str>) -> R) -> R {
        self.1.fetch_add(1, AcqRel);
        work(&mut self.0.lock().unwrap())
    }

    fn comers(&self) -> usize {
        self.1.load(Acquire)
    }
}

/// While the lock is held, a second thread comes. If a third thread sees that the second has come,
/// and then comes itself, the third enters after the second.
fn ordered<L: Entries>() {
    let entered = Arc::new(L::new());
    let comers = entered.with(|_| {
        let holder = entered.comers();
        let comer = Arc::clone(&entered);
        let second = thread::spawn(move || comer.with(|order| order.push("second")));
        let comer = Arc::clone(&entered);
        let third = thread::spawn(move || {
            let is_second_there = comer.comers() != holder;
            comer.with(|order| order.push("third"));
            is_second_there
        });
        (second, third)
    });
    comers.0.join().unwrap();
    if comers.1.join().unwrap() {
        assert_eq!(entered.with(std::mem::take), ["second", "third"]);
    }
}

#[test]
fn threads_are_served_in_the_order_in_which_they_came() {
    explore(ordered::<Anderson<Vec<&'static str>>>);
}

#[test]
fn a_lock_without_an_order_is_rejected_by_the_model_of_order() {
    let text = rejection(ordered::<Unordered>);
    assert!(text.contains(r#"left: ["third", "second"]"#), "{text}");
}
