//! The promises that must hold, and the scenarios in which each mutant must be caught.

use super::play::{self, Steps};
use crate::latch::Count;
use crate::sleep::models::{Bounds, LOST, TRIO, UNORDERED, holds, is_caught};
use crate::sync::modelled::Ordering;

const SMALL: Bounds = Bounds {
    fast: Some(4),
    deep: None,
};

const EARLY: &str = "a scope ended before a job of it";

enum Real {}
impl Steps for Real {}

holds! {
    a_scope_ends_once_after_its_job: SMALL, play::one_job::<Real>;
    a_scope_ends_once_after_the_jobs_of_its_jobs: TRIO, play::job_of_a_job::<Real>;
    a_scope_ends_once_after_jobs_of_jobs_among_three: TRIO, play::job_of_a_job_among_three::<Real>;
    a_scope_ends_once_after_jobs_that_three_share: TRIO, play::two_jobs::<Real>;
    a_scope_ends_though_a_worker_runs_another_job: TRIO, play::other_job::<Real>;
    a_scope_ends_though_another_job_spawned_into_it: TRIO, play::other_job_that_spawns::<Real>;
    a_scope_ends_though_its_job_ran_within_another: TRIO, play::other_job_that_waits::<Real>;
}

/// Planted mistake: a worker that begins to search does not return its units first.
enum SearchesFirst {}
impl Steps for SearchesFirst {
    const RETURNS_UNITS_BEFORE_SEARCHING: bool = false;
}

/// Planted mistake: a worker keeps its units while it runs a job of no scope.
enum KeepsUnits {}
impl Steps for KeepsUnits {
    const RETURNS_UNITS_FOR_OTHER_JOBS: bool = false;
}

/// Planted mistake: a worker in a job of no scope waits, runs a job of the scope meanwhile, and
/// keeps the units of that job afterwards.
enum GoesOn {}
impl Steps for GoesOn {
    const RETURNS_UNITS_AFTER_WAITING: bool = false;
}

/// Planted mistake: a worker in a job of no scope fetches units for the jobs that it spawns.
enum Fetches {}
impl Steps for Fetches {
    const OTHER_JOBS_COUNT_DIRECTLY: bool = false;
}

/// Planted mistake: a worker reads and writes the count in two steps.
enum TwoSteps {}
impl Steps for TwoSteps {
    fn take_off(count: &Count, units: usize) -> bool {
        let before = count.0.load(Ordering::Acquire);
        count.0.store(before - units, Ordering::Release);
        before == units
    }
}

/// Planted mistake: the owner reads the count without acquire.
enum ReadsRelaxed {}
impl Steps for ReadsRelaxed {
    fn is(count: &Count, units: usize) -> bool {
        count.0.load(Ordering::Relaxed) == units
    }
}

/// Planted mistake: a worker takes units off without release and acquire.
enum TakesOffRelaxed {}
impl Steps for TakesOffRelaxed {
    fn take_off(count: &Count, units: usize) -> bool {
        count.0.fetch_sub(units, Ordering::Relaxed) == units
    }
}

/// Planted mistake: the owner compares the count with one unit more than the right number.
enum CountsLess {}
impl Steps for CountsLess {
    fn is(count: &Count, units: usize) -> bool {
        count.is(units + 1)
    }
}

is_caught! {
    returning_after_the_search_has_begun_is_caught: TRIO, LOST, play::job_of_a_job::<SearchesFirst>;
    running_another_job_with_units_is_caught: TRIO, LOST, play::other_job::<KeepsUnits>;
    going_on_after_a_wait_with_units_is_caught: TRIO, LOST, play::other_job_that_waits::<GoesOn>;
    fetching_units_in_another_job_is_caught: TRIO, LOST, play::other_job_that_spawns::<Fetches>;
    subtracting_in_two_steps_is_caught: TRIO, LOST, play::two_jobs::<TwoSteps>;
    reading_the_count_without_order_is_caught: TRIO, UNORDERED, play::job_of_a_job::<ReadsRelaxed>;
    taking_off_without_order_is_caught: TRIO, UNORDERED, play::two_jobs::<TakesOffRelaxed>;
    taking_no_account_of_own_units_is_caught: TRIO, EARLY, play::job_of_a_job::<CountsLess>;
}
