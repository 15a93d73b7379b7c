//! Loom models of shared rounds. In each mutant, a heavy side that relies on another thread's fence
//! and the light side miss what the other side did.

use std::sync::Arc;

use super::{Rounds, after};
use crate::sleep::models::{Bounds, holds, is_caught};
use crate::sync::modelled::{self, Ordering, light_fence, try_heavy_fence};
use crate::sync::registration::models::{SEEN, of_each_pair_one_sees};

const TRIO: Bounds = Bounds {
    fast: Some(2),
    deep: Some(5),
};
const LONG_TRIO: Bounds = Bounds {
    fast: Some(3),
    deep: Some(5),
};

trait Steps: 'static {
    fn join(rounds: &Rounds) {
        rounds.join(try_heavy_fence);
    }
}

enum Right {}

impl Steps for Right {}

enum IsRefused {}

impl Steps for IsRefused {
    fn join(rounds: &Rounds) {
        if !rounds.join(|| false) {
            try_heavy_fence();
        }
    }
}

/// Planted mistake: a heavy side relies on a round that runs already.
enum TakesTheRoundThatRuns {}

impl Steps for TakesTheRoundThatRuns {
    fn join(rounds: &Rounds) {
        let number = rounds.number.fetch_add(0, Ordering::AcqRel);
        rounds.wait_for((number + 2) & !1, try_heavy_fence);
    }
}

/// Planted mistake: a thread that joins only loads the number, so the thread that begins the round
/// does not see what the joining thread did before.
enum OnlyLooks {}

impl Steps for OnlyLooks {
    fn join(rounds: &Rounds) {
        let number = rounds.number.load(Ordering::Acquire);
        rounds.wait_for(after(number), try_heavy_fence);
    }
}

/// Planted mistake: a refused fence counts as a round.
enum CountsARefusedRound {}

impl Steps for CountsARefusedRound {
    fn join(rounds: &Rounds) {
        rounds.join(|| true);
    }
}

/// Planted mistake: a heavy side ends an abandoned round before its own fence.
enum EndsFirst {}

impl Steps for EndsFirst {
    fn join(rounds: &Rounds) {
        // The call to `end` has no effect unless the first round runs. With a load and a test
        // instead, loom would not find the failing schedule.
        rounds.end(1);
        rounds.join(try_heavy_fence);
    }
}

/// Runs two heavy sides. One of them waits for a round whose thread is missing after a `fork`, or
/// has no CPU.
fn pairs_beside_an_abandoned_round<S: Steps>() {
    modelled::prepare_heavy_fences().expect("a model has fences");
    let rounds = Arc::new(Rounds::new());
    let of_first = Arc::clone(&rounds);
    let first = move |demand: &dyn Fn()| {
        demand();
        S::join(&of_first);
    };
    of_each_pair_one_sees(light_fence, first, |demand| {
        demand();
        if rounds.try_begin(0) {
            rounds.wait_for(after(0), try_heavy_fence);
        } else {
            Right::join(&rounds);
        }
    });
}

fn pairs<S: Steps>() {
    modelled::prepare_heavy_fences().expect("a model has fences");
    let rounds = Arc::new(Rounds::new());
    let of_first = Arc::clone(&rounds);
    let first = move |demand: &dyn Fn()| {
        // A thread that comes in the middle of the first round may rely on the second round.
        Right::join(&of_first);
        demand();
        Right::join(&of_first);
    };
    of_each_pair_one_sees(light_fence, first, |demand| {
        demand();
        S::join(&rounds);
    });
}

holds! {
    models_of_two_that_share_a_heavy_fence: LONG_TRIO, pairs::<Right>;
    models_of_a_shared_fence_that_the_kernel_refuses: TRIO, pairs::<IsRefused>;
    models_of_an_abandoned_round: TRIO, pairs_beside_an_abandoned_round::<Right>;
}

is_caught! {
    models_catch_who_ends_an_abandoned_round_before_it_fences: TRIO, SEEN, pairs_beside_an_abandoned_round::<EndsFirst>;
    models_catch_who_relies_on_a_fence_that_may_be_over: LONG_TRIO, SEEN, pairs::<TakesTheRoundThatRuns>;
    models_catch_who_joins_a_round_unseen: TRIO, SEEN, pairs::<OnlyLooks>;
    models_catch_a_refused_round_that_counts: TRIO, SEEN, pairs::<CountsARefusedRound>;
}
