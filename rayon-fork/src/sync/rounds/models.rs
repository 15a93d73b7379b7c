//! Loom models of heavy fences that are shared, and the same steps with one mistake planted: a heavy side that relies on
//! another's fence, and the light side, both miss what the other did.

use std::sync::Arc;

use loom::thread;

use super::{Rounds, after};
use crate::sleep::models::{Bounds, must_fail, must_hold};
use crate::sync::modelled::{self, AtomicUsize, Ordering, light_fence, try_heavy_fence};

/// A light side, and two heavy ones.
const TRIO: Bounds = Bounds { fast: Some(3), deep: Some(5) };

/// How a planted mistake shows.
const SEEN: &str = "neither side saw the other";

/// How a heavy side joins a round.
trait Steps: 'static {
    fn join(rounds: &Rounds) {
        rounds.join(try_heavy_fence);
    }
}

/// As it is.
enum Right {}

impl Steps for Right {}

/// The kernel serves one of the two, and refuses the other.
enum IsRefused {}

impl Steps for IsRefused {
    fn join(rounds: &Rounds) {
        if !rounds.join(|| false) {
            try_heavy_fence();
        }
    }
}

/// A round that runs already will do.
enum TakesTheRoundThatRuns {}

impl Steps for TakesTheRoundThatRuns {
    fn join(rounds: &Rounds) {
        let number = rounds.number.fetch_add(0, Ordering::AcqRel);
        rounds.wait_for((number + 2) & !1, try_heavy_fence);
    }
}

/// Who joins only looks, and whoever begins the round does not see what was done before.
enum OnlyLooks {}

impl Steps for OnlyLooks {
    fn join(rounds: &Rounds) {
        let number = rounds.number.load(Ordering::Acquire);
        rounds.wait_for(after(number), try_heavy_fence);
    }
}

/// A refused round counts as one.
enum CountsARefusedRound {}

impl Steps for CountsARefusedRound {
    fn join(rounds: &Rounds) {
        rounds.join(|| true);
    }
}

/// A light side, one heavy side as it is, and one that does the steps `S`: of each pair at least one side sees what the
/// other did before.
fn pairs<S: Steps>() {
    modelled::prepare_heavy_fences().expect("a model has fences");
    let rounds = Arc::new(Rounds::new());
    let [job, first, second] = [(); 3].map(|()| Arc::new(AtomicUsize::new(0)));
    let pusher = thread::spawn({
        let [job, first, second] = [&job, &first, &second].map(Arc::clone);
        move || {
            job.store(1, Ordering::Relaxed);
            light_fence();
            [first, second].map(|demand| demand.load(Ordering::Relaxed) == 1)
        }
    });
    let other = thread::spawn({
        let (rounds, job, first) = (Arc::clone(&rounds), Arc::clone(&job), Arc::clone(&first));
        move || {
            // Two rounds: who comes in the middle of the first may rely on the second.
            Right::join(&rounds);
            first.store(1, Ordering::Relaxed);
            Right::join(&rounds);
            job.load(Ordering::Relaxed) == 1
        }
    });
    second.store(1, Ordering::Relaxed);
    S::join(&rounds);
    let second_saw_job = job.load(Ordering::Relaxed) == 1;
    let first_saw_job = other.join().unwrap();
    let [saw_first, saw_second] = pusher.join().unwrap();
    assert!(first_saw_job || saw_first, "{SEEN}");
    assert!(second_saw_job || saw_second, "{SEEN}");
}

#[test]
fn models_of_two_that_share_a_heavy_fence() {
    must_hold("shared fences", TRIO, pairs::<Right>);
}

#[test]
fn models_of_a_shared_fence_that_the_kernel_refuses() {
    must_hold("shared fences, refused", TRIO, pairs::<IsRefused>);
}

#[test]
fn models_catch_who_relies_on_a_fence_that_may_be_over() {
    must_fail("shared fences, runs already", SEEN, TRIO, pairs::<TakesTheRoundThatRuns>);
}

#[test]
fn models_catch_who_joins_a_round_unseen() {
    must_fail("shared fences, unseen", SEEN, TRIO, pairs::<OnlyLooks>);
}

#[test]
fn models_catch_a_refused_round_that_counts() {
    must_fail("shared fences, refused and counted", SEEN, TRIO, pairs::<CountsARefusedRound>);
}
