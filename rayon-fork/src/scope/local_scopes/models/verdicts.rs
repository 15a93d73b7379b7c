//! What must hold, and what each twin must be caught at.

use super::play::{self, Twin};
use crate::latch::Count;
use crate::sleep::models::{Bounds, TRIO, must_fail, must_hold};
use crate::sync::modelled::Ordering;

/// Few steps, so that every schedule can be explored.
const SMALL: Bounds = Bounds {
    fast: Some(4),
    deep: None,
};

const SUBJECT: &str = "local-scopes";

/// All threads are blocked, so a scope did not end.
const LATE: &str = "deadlock; threads";
const EARLY: &str = "a scope ended before a job of it";
/// Loom's word for a data race, and for a use after the end.
const UNORDERED: &str = "Causality violation";

/// As it is.
enum Real {}
impl Twin for Real {}

macro_rules! holds {
    ($($name:ident: $bounds:ident, $scenario:ident;)*) => {
        $(#[test]
        fn $name() {
            must_hold(SUBJECT, $bounds, play::$scenario::<Real>);
        })*
    };
}

holds! {
    a_scope_ends_once_after_its_job: SMALL, one_job;
    a_scope_ends_once_after_the_jobs_of_its_jobs: TRIO, job_of_a_job;
    a_scope_ends_once_after_jobs_of_jobs_among_three: TRIO, job_of_a_job_among_three;
    a_scope_ends_once_after_jobs_that_three_share: TRIO, two_jobs;
    a_scope_ends_though_a_worker_turns_to_another_job: TRIO, other_job;
    a_scope_ends_though_another_job_spawned_into_it: TRIO, other_job_that_spawns;
    a_scope_ends_though_its_job_ran_within_another: TRIO, other_job_that_waits;
}

macro_rules! is_caught {
    ($($name:ident: $bounds:ident, $symptom:ident, $scenario:ident, $twin:ident { $($change:item)* })*) => {
        $(#[test]
        fn $name() {
            enum $twin {}
            impl Twin for $twin {
                $($change)*
            }
            must_fail(SUBJECT, $symptom, $bounds, play::$scenario::<$twin>);
        })*
    };
}

is_caught! {
    returning_after_the_search_has_begun_is_caught: TRIO, LATE, job_of_a_job, SearchesFirst {
        const TURNS_AWAY_BEFORE_SEARCHING: bool = false;
    }
    running_another_job_with_units_is_caught: TRIO, LATE, other_job, KeepsUnits {
        const TURNS_AWAY_FOR_OTHER_JOBS: bool = false;
    }
    going_on_after_a_wait_with_units_is_caught: TRIO, LATE, other_job_that_waits, GoesOn {
        const TURNS_AWAY_AFTER_WAITING: bool = false;
    }
    fetching_units_in_another_job_is_caught: TRIO, LATE, other_job_that_spawns, Fetches {
        const OTHER_JOBS_COUNT_DIRECTLY: bool = false;
    }
    subtracting_in_two_steps_is_caught: TRIO, LATE, two_jobs, TwoSteps {
        fn take_off(count: &Count, units: usize) -> bool {
            // ORDERING: as in the original; only that others may come in between is wrong.
            let before = count.0.load(Ordering::Acquire);
            count.0.store(before - units, Ordering::Release);
            before == units
        }
    }
    looking_at_the_count_without_order_is_caught: TRIO, UNORDERED, job_of_a_job, LooksRelaxed {
        fn is(count: &Count, units: usize) -> bool {
            count.0.load(Ordering::Relaxed) == units
        }
    }
    taking_off_without_order_is_caught: TRIO, UNORDERED, two_jobs, TakesOffRelaxed {
        fn take_off(count: &Count, units: usize) -> bool {
            count.0.fetch_sub(units, Ordering::Relaxed) == units
        }
    }
    taking_no_account_of_own_units_is_caught: TRIO, EARLY, job_of_a_job, CountsLess {
        fn is(count: &Count, units: usize) -> bool {
            count.is(units + 1)
        }
    }
}
