//! Both queues keep order, lose nothing, and release waiting threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use super::parking::Parking;
use super::{LockFree, Regular, TaskQueue};

/// Longer than any test takes: a thread that sleeps so long was forgotten.
const NAP: Duration = Duration::from_hours(1);

fn queues<T: Send + 'static>() -> Vec<(&'static str, Arc<dyn TaskQueue<T> + Send>)> {
    vec![
        ("regular", Arc::new(Regular::new())),
        ("lock-free", Arc::new(LockFree::new(None))),
        (
            "lock-free with naps",
            Arc::new(LockFree::new(Some(Duration::from_micros(50)))),
        ),
    ]
}

#[test]
fn tasks_come_out_in_the_order_in_which_they_went_in() {
    for (name, queue) in queues() {
        (0..100).for_each(|task| queue.push(task));
        queue.close();
        let tasks: Vec<i32> = std::iter::from_fn(|| queue.pop()).collect();
        assert_eq!(tasks, (0..100).collect::<Vec<_>>(), "{name}");
    }
}

#[test]
fn many_on_both_sides_take_every_task_exactly_once() {
    const EACH: usize = 2_000;
    for (name, queue) in queues() {
        let taken: Arc<Vec<AtomicUsize>> = Arc::new((0..4 * EACH).map(|_| 0.into()).collect());
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let (queue, taken) = (Arc::clone(&queue), Arc::clone(&taken));
                thread::spawn(move || {
                    while let Some(task) = queue.pop() {
                        let task: usize = task;
                        taken[task].fetch_add(1, Relaxed);
                    }
                })
            })
            .collect();
        thread::scope(|scope| {
            for first in (0..4).map(|number| number * EACH) {
                let queue = &queue;
                scope.spawn(move || (first..first + EACH).for_each(|task| queue.push(task)));
            }
        });
        queue.close();
        for taker in takers {
            taker.join().unwrap();
        }
        assert!(taken.iter().all(|count| count.load(Relaxed) == 1), "{name}");
    }
}

/// One task to and fro, so that the taker sleeps before nearly each: a lost wake-up is a hang,
/// which the harness of the tests reports.
#[test]
fn whoever_waits_is_woken_for_each_single_task() {
    for ((name, there), (_, back)) in queues().into_iter().zip(queues()) {
        let echo = {
            let (there, back) = (Arc::clone(&there), Arc::clone(&back));
            thread::spawn(move || {
                while let Some(task) = there.pop() {
                    back.push(task);
                }
            })
        };
        for task in 0..500 {
            there.push(task);
            assert_eq!(back.pop(), Some(task), "{name}");
        }
        there.close();
        echo.join().unwrap();
    }
}

#[test]
fn closing_lets_go_of_all_who_wait_and_of_those_who_nap() {
    let naps: (&str, Arc<dyn TaskQueue<u8> + Send>) =
        ("long naps", Arc::new(LockFree::new(Some(NAP))));
    for (name, queue) in queues::<u8>().into_iter().chain([naps]) {
        let takers: Vec<_> = (0..3)
            .map(|_| {
                let queue = Arc::clone(&queue);
                thread::spawn(move || queue.pop())
            })
            .collect();
        queue.close();
        for taker in takers {
            assert_eq!(taker.join().unwrap(), None, "{name}");
        }
    }
}

#[test]
fn what_is_left_when_a_queue_is_closed_is_still_given_out() {
    for (name, queue) in queues() {
        queue.push(1);
        queue.close();
        queue.push(2);
        assert_eq!(
            [queue.pop(), queue.pop(), queue.pop()],
            [Some(1), Some(2), None],
            "{name}"
        );
    }
}

#[test]
fn tasks_that_nobody_takes_are_dropped_with_the_queue_however_many() {
    let task = Arc::new(());
    let queue = Regular::new();
    (0..200_000).for_each(|_| queue.push(Arc::clone(&task)));
    drop(queue);
    assert_eq!(Arc::strong_count(&task), 1);
}

/// The clock bounds from below only.
#[test]
fn a_nap_is_slept_through_whatever_comes() {
    const SHORT: Duration = Duration::from_millis(20);
    let parking = Parking::new();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            let begun = Instant::now();
            parking.nap(SHORT);
            begun.elapsed()
        });
        while !sleeper.is_finished() {
            parking.wake_one();
        }
        assert!(sleeper.join().unwrap() >= SHORT);
    });
}
