//! The way to wait beside a queue, in every schedule of two and three threads, and broken twins
//! that must be rejected: `cargo xtask models`

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence};
use loom::thread;

use super::parking::Parking;

/// A queue of indistinguishable tasks, as weak as one can be: it orders nothing by itself.
#[derive(Default)]
struct Tasks(AtomicUsize);

impl Tasks {
    fn put(&self) {
        self.0.fetch_add(1, Relaxed);
    }

    fn take(&self) -> Option<()> {
        self.0
            .fetch_update(Relaxed, Relaxed, |tasks| tasks.checked_sub(1))
            .ok()
            .map(drop)
    }
}

/// A task is brought while its taker lies down: one of the two must notice the other. The steps of
/// `wait_for` and `wake_one`, without the sleep, which in a broken twin would never end.
fn one_notices_the_other(begin_wait: fn(&Parking), sees_one_waiting: fn(&Parking) -> bool) {
    loom::model(move || {
        let shared = Arc::new((Tasks::default(), Parking::new()));
        let taker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                begin_wait(&shared.1);
                shared.0.take().is_some()
            }
        });
        shared.0.put();
        let is_seen = sees_one_waiting(&shared.1);
        let has_found = taker.join().unwrap();
        assert!(
            has_found || is_seen,
            "the taker sleeps, the task waits, nobody was told"
        );
    });
}

fn fence_and_look(parking: &Parking) -> bool {
    fence(SeqCst);
    parking.has_waiting()
}

#[test]
fn a_task_and_its_taker_do_not_miss_each_other() {
    one_notices_the_other(Parking::begin_wait, fence_and_look);
}

#[test]
#[should_panic(expected = "nobody was told")]
fn a_waker_without_its_fence_is_rejected() {
    one_notices_the_other(Parking::begin_wait, Parking::has_waiting);
}

#[test]
#[should_panic(expected = "nobody was told")]
fn a_taker_that_does_not_say_that_it_waits_is_rejected() {
    one_notices_the_other(|_| (), fence_and_look);
}

#[test]
fn a_task_is_never_left_while_its_taker_sleeps() {
    loom::model(|| {
        let shared = Arc::new((Tasks::default(), Parking::new()));
        let taker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.1.wait_for(|| shared.0.take())
        });
        shared.0.put();
        shared.1.wake_one();
        assert_eq!(taker.join().unwrap(), Some(()));
    });
}

#[test]
fn two_tasks_and_two_takers_meet() {
    let mut builder = loom::model::Builder::new();
    // Switches away from a thread that could run on, so that three threads end soon.
    builder.preemption_bound = Some(2);
    builder.check(|| {
        let shared = Arc::new((Tasks::default(), Parking::new()));
        let takers = [(), ()].map(|()| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || shared.1.wait_for(|| shared.0.take()))
        });
        for _ in 0..2 {
            shared.0.put();
            shared.1.wake_one();
        }
        for taker in takers {
            assert_eq!(taker.join().unwrap(), Some(()));
        }
    });
}

#[test]
fn closing_wakes_whoever_lies_down_meanwhile() {
    loom::model(|| {
        let shared = Arc::new((Tasks::default(), Parking::new()));
        let taker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.1.wait_for(|| shared.0.take())
        });
        shared.1.close();
        assert_eq!(taker.join().unwrap(), None);
    });
}
