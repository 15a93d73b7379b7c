//! The way to wait beside a queue, in every schedule of two and three threads, and broken twins that
//! must be rejected: `RUSTFLAGS="--cfg locks_loom" cargo test --release -p workloads --lib models`

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::Relaxed};
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
        self.0.fetch_update(Relaxed, Relaxed, |tasks| tasks.checked_sub(1)).ok().map(drop)
    }
}

/// A task is brought while its taker lies down. If they miss each other, nobody moves any more, which
/// the checker reports as a deadlock.
fn a_task_meets_its_taker(wake: fn(&Parking)) {
    loom::model(move || {
        let shared = Arc::new((Tasks::default(), Parking::new()));
        let taker = thread::spawn({
            let shared = Arc::clone(&shared);
            move || shared.1.wait_for(|| shared.0.take())
        });
        shared.0.put();
        wake(&shared.1);
        assert_eq!(taker.join().unwrap(), Some(()));
    });
}

#[test]
fn a_task_is_never_left_while_its_taker_sleeps() {
    a_task_meets_its_taker(Parking::wake_one);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_waker_that_does_not_wake_is_rejected() {
    a_task_meets_its_taker(|_| ());
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_waker_without_its_fence_is_rejected() {
    a_task_meets_its_taker(Parking::wake_if_one_waits);
}

#[test]
fn two_tasks_and_two_takers_meet() {
    loom::model(|| {
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
