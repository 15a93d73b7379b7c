//! The study's FIFO queues, from which handlers take tasks.

use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::{Condvar, Mutex};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A list under a lock, and a condition variable on which threads wait.
    Regular,
    /// A list of segments of atomic slots. A thread that finds all slots empty sleeps until a task
    /// arrives.
    LockFree,
    /// A thread that finds all slots empty sleeps for this duration, and then tries again. This
    /// sleep repeats a mistake of the study.
    LockFreeLookingEvery(Duration),
}

/// A queue without a bound: each client has at most one task in the queue, and the number of
/// clients has a limit.
pub(super) enum Queue<T> {
    Regular(Mutex<VecDeque<T>>, Condvar),
    LockFree(Sender<T>, Receiver<T>, Option<Duration>),
}

impl<T> Queue<T> {
    pub(super) fn new(kind: Kind) -> Self {
        let lock_free = |nap| {
            let (last, first) = unbounded();
            Self::LockFree(last, first, nap)
        };
        match kind {
            Kind::Regular => Self::Regular(Mutex::default(), Condvar::new()),
            Kind::LockFree => lock_free(None),
            Kind::LockFreeLookingEvery(nap) => lock_free(Some(nap)),
        }
    }

    pub(super) fn push(&self, task: T) {
        match self {
            Self::Regular(list, added) => {
                list.lock().push_back(task);
                added.notify_one();
            }
            Self::LockFree(last, ..) => {
                let sent = last.send(task).is_ok();
                debug_assert!(sent, "the queue has the receiver, too");
            }
        }
    }

    pub(super) fn pop(&self) -> T {
        match self {
            Self::Regular(list, added) => {
                let mut list = list.lock();
                added.wait_while(&mut list, |list| list.is_empty());
                list.pop_front().expect("the thread has waited for a task")
            }
            Self::LockFree(_, first, None) => first.recv().expect("the queue has the sender, too"),
            Self::LockFree(_, first, Some(nap)) => loop {
                if let Ok(task) = first.try_recv() {
                    return task;
                }
                thread::park_timeout(*nap);
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;

    const KINDS: [Kind; 3] = [
        Kind::Regular,
        Kind::LockFree,
        Kind::LockFreeLookingEvery(Duration::from_micros(50)),
    ];

    #[test]
    fn many_on_both_sides_take_every_task_exactly_once_and_in_order() {
        const EACH: usize = 2_000;
        for kind in KINDS {
            let queue = &Queue::new(kind);
            let taken: &Vec<AtomicUsize> = &(0..4 * EACH).map(|_| 0.into()).collect();
            thread::scope(|scope| {
                for _ in 0..3 {
                    scope.spawn(move || {
                        let mut before = [None; 4];
                        while let Some(task) = queue.pop() {
                            let task: usize = task;
                            assert!(before[task / EACH].replace(task) < Some(task), "{kind:?}");
                            taken[task].fetch_add(1, Relaxed);
                        }
                    });
                }
                thread::scope(|scope| {
                    for first in (0..4).map(|number| number * EACH) {
                        scope.spawn(move || {
                            for task in first..first + EACH {
                                queue.push(Some(task));
                            }
                        });
                    }
                });
                for _ in 0..3 {
                    queue.push(None);
                }
            });
            assert!(taken.iter().all(|it| it.load(Relaxed) == 1), "{kind:?}");
        }
    }

    /// The threads pass one task at a time, so that each thread sleeps before nearly every task.
    /// After a lost wake-up, the test would hang.
    #[test]
    fn a_thread_that_waits_is_woken_for_each_single_task() {
        for kind in KINDS {
            let (there, back) = &(Queue::new(kind), Queue::new(kind));
            thread::scope(|scope| {
                scope.spawn(|| (0..500).for_each(|_| back.push(there.pop())));
                for task in 0..500 {
                    there.push(task);
                    assert_eq!(back.pop(), task, "{kind:?}");
                }
            });
        }
    }
}
