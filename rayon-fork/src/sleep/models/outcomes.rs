//! The scenarios that each variant must pass, and those in which each mutant must be caught.

use super::mutants::*;
use super::scenarios as play;
use super::{LOST, PAIR, TRIO, TWO_SLEEPERS, holds, is_caught};
use crate::sleep::counters::dimensions::*;
use crate::sleep::counters::{Packed, Split};
use crate::sleep::parking::Slot;

macro_rules! for_each {
    ($scenario:ident: $($name:ident: $($dimension:ident)*,)*) => {
        $(mod $name {
            use super::*;
            $scenario! { $($dimension)* }
        })*
    };
}

/// Variants whose pushes do not fence may lose an internal job. For these variants a row expects
/// the loss.
macro_rules! every_scenario {
    ($layout:ident $events:ident NoFence $wake_rule:ident) => {
        holds_for_all! { $layout<($events, NoFence, $wake_rule, Inline)> }
        is_caught! {
            a_pushed_job_after_notification_falls_into_the_accepted_hole: PAIR, LOST, play::push_after_notification::<$layout<($events, NoFence, $wake_rule, Inline)>, Slot>;
        }
    };
    ($layout:ident $($dimension:ident)*) => {
        holds_for_all! { $layout<($($dimension),*, Inline)> }
        holds_with_fences! { $layout<($($dimension),*, Inline)> }
    };
}

macro_rules! holds_with_fences {
    ($counters:ty) => {
        holds! {
            a_pushed_job_finds_a_sleeper_after_notification: PAIR, play::push_after_notification::<$counters, Slot>;
            a_pushed_job_is_not_left_to_a_searcher_that_stops: TRIO, play::push_what_a_job_awaits::<$counters, Slot>;
            a_job_that_waits_for_the_next_one_gets_it: TRIO, || play::push_two_dependent_jobs::<$counters, Slot>(false);
            two_producers_lose_neither_job: TRIO, play::two_producers::<$counters, Slot>;
        }
    };
}

macro_rules! holds_for_all {
    ($counters:ty) => {
        holds! {
            an_injected_job_is_never_stranded: PAIR, play::inject::<$counters, Slot>;
            an_injected_job_is_never_stranded_after_notification: PAIR, play::inject_after_notification::<$counters, Slot>;
            a_pushed_job_finds_a_sleeper_and_wakes_it: PAIR, play::push::<$counters, Slot>;
            a_job_is_not_left_to_a_searcher_that_stops: TRIO, play::inject_what_a_job_awaits::<$counters, Slot>;
            a_set_latch_never_leaves_its_owner_asleep: PAIR, play::set_latch::<$counters, Slot>;
            a_broadcast_reaches_a_worker_that_falls_asleep: PAIR, play::broadcast::<$counters, Slot>;
            one_job_and_two_workers_end_with_no_worker_counted: TRIO, play::one_job_for_two::<$counters, Slot>;
            a_pool_ends_though_its_workers_fall_asleep: TRIO, play::terminate::<$counters, Slot>;
            a_worker_that_calls_another_pool_learns_of_the_end: TWO_SLEEPERS, play::call_another_pool::<$counters, Slot>;
            a_sleeper_that_backs_out_is_woken_no_more_than_once: TRIO, play::broadcast_and_inject::<$counters, Slot>;
            a_pools_owner_that_waits_for_a_scope_is_a_worker_like_any: TRIO, play::wait_for_a_scope::<$counters, Slot>;
        }
    };
}
// The counters of the rows of `branches.toml`, except `reads-both`, which only adds a load. Each
// other variant combines choices that occur in these rows.
for_each! { every_scenario:
    packed: Packed Jec NoFence IdleFirst,
    packed_push_fence: Packed Jec PushFence IdleFirst,
    split: Split Jec NoFence IdleFirst,
    split_sleepers_only: Split Jec NoFence SleepersOnly,
    split_push_fence: Split Jec PushFence IdleFirst,
    split_no_jec: Split NoJec ScanFence IdleFirst,
    split_no_jec_sleepers_only: Split NoJec ScanFence SleepersOnly,
}

macro_rules! scanning_scenario {
    ($layout:ident $($dimension:ident)*) => {
        scanning_holds! { $layout<($($dimension),*, Inline, WakeWhereWorkIs)> }
    };
}

macro_rules! scanning_holds {
    ($counters:ty) => {
        holds! {
            a_job_is_not_left_to_a_searcher_that_stops: TRIO, play::inject_what_a_job_awaits::<$counters, Slot>;
            one_job_and_two_workers_end_with_no_worker_counted: TRIO, play::one_job_for_two::<$counters, Slot>;
            a_pools_owner_that_waits_for_a_scope_is_a_worker_like_any: TRIO, play::wait_for_a_scope::<$counters, Slot>;
        }
    };
}

holds! {
    in_an_oversubscribed_pool_a_job_that_waits_for_the_next_one_gets_it: TRIO, || play::push_two_dependent_jobs::<Packed<ScanningFenced>, Slot>(true);
    in_an_oversubscribed_split_pool_a_job_that_waits_for_the_next_one_gets_it: TRIO, || play::push_two_dependent_jobs::<Split<ScanningFenced>, Slot>(true);
}

mod workers_that_wake_where_work_is {
    use super::*;
    for_each! { scanning_scenario:
        packed: Packed Jec NoFence IdleFirst,
        split: Split Jec NoFence IdleFirst,
    }
}

type Scanning = (Jec, NoFence, IdleFirst, Inline, WakeWhereWorkIs);
type ScanningFenced = (Jec, PushFence, IdleFirst, Inline, WakeWhereWorkIs);
type PackedJec = Packed<(Jec, NoFence, IdleFirst, Inline)>;
type SplitJec<W> = Split<(Jec, NoFence, W, Inline)>;
type SplitNoJec = Split<(NoJec, ScanFence, IdleFirst, Inline)>;
type SplitUnfenced = Split<(NoJec, NoPushFence<ScanFence>, IdleFirst, Inline)>;
type PackedUnfenced = Packed<(Jec, NoPushFence<PushFence>, IdleFirst, Inline)>;

holds! {
    // Injected jobs do not depend on the events counter.
    injected_jobs_do_not_need_events: PAIR, play::inject::<With<OneBitOfEvents, PackedJec>, Slot>;
    injected_jobs_do_not_need_events_after_notification: PAIR, play::inject_after_notification::<With<OneBitOfEvents, PackedJec>, Slot>;
    injected_jobs_that_others_await_do_not_need_events: TRIO, play::inject_what_a_job_awaits::<With<OneBitOfEvents, PackedJec>, Slot>;
    leaving_without_a_wake_does_no_harm_where_sleepers_are_woken_at_once: TRIO, play::inject_what_a_job_awaits::<With<NoPropagation, SplitJec<SleepersOnly>>, Slot>;
}

// Each mutant is tested in a variant in which its mistake matters.
is_caught! {
    scanning_before_leaving_is_caught: TRIO, LOST, play::inject_what_a_job_awaits_scanning_first::<Packed<Scanning>, Slot>;
    waking_no_sleeper_for_work_in_sight_is_caught: TRIO, LOST, play::inject_what_a_job_awaits::<With<NoPropagation, Split<Scanning>>, Slot>;
    missing_sleepers_in_an_oversubscribed_pool_is_caught: TRIO, LOST, || play::push_two_dependent_jobs::<With<SeesNoSleepers, Packed<ScanningFenced>>, Slot>(true);
    reading_events_before_registering_is_caught: PAIR, LOST, play::push::<With<ReadsBeforeRegistering, SplitJec<IdleFirst>>, Slot>;
    reading_sleepers_before_leaving_is_caught: TRIO, LOST, play::inject_what_a_job_awaits::<With<ReadsBeforeLeaving, SplitJec<IdleFirst>>, Slot>;
    leaving_without_a_wake_is_caught_where_jobs_are_left_to_searchers: TRIO, LOST, play::inject_what_a_job_awaits::<With<NoPropagation, PackedJec>, Slot>;
    scanning_without_the_deques_is_caught: PAIR, LOST, play::push_unseen::<SplitNoJec, Slot>;
    // In variants with an events counter this mistake does no harm, because a notification also
    // keeps the sleeper awake.
    sleeping_without_a_scan_of_the_injector_is_caught: PAIR, LOST, play::inject_unseen::<SplitNoJec, Slot>;
    pushing_without_a_fence_for_a_scan_is_caught: PAIR, LOST, play::push::<SplitUnfenced, Slot>;
    pushing_without_a_fence_for_events_is_caught: PAIR, LOST, play::push_after_notification::<PackedUnfenced, Slot>;
    fencing_only_pushes_on_an_empty_deque_is_caught: TRIO, LOST, || play::push_two_dependent_jobs::<With<FenceWhenEmpty, SplitUnfenced>, Slot>(false);
    blocking_though_claimed_is_caught: TRIO, LOST, play::two_producers::<SplitNoJec, BlocksThoughClaimed>;
    arming_too_late_is_caught: PAIR, LOST, play::set_latch::<SplitNoJec, ArmsTooLate>;
    unregistering_after_the_lock_is_caught: TRIO, "stops searching while it is counted as asleep", play::one_job_for_two::<PackedJec, UnregistersTooLate>;
    backing_out_though_claimed_is_caught: TRIO, "wakes up that was not counted as asleep", play::broadcast_and_inject::<SplitNoJec, UnregistersThoughClaimed>;
    deciding_to_block_without_the_lock_is_caught: TRIO, LOST, play::broadcast_and_inject::<PackedJec, CommitsWithoutTheLock>;
    waking_a_worker_of_the_wrong_pool_is_caught: TWO_SLEEPERS, LOST, play::call_another_pool_that_wakes_its_own::<PackedJec, Slot>;
    an_owner_that_leaves_without_a_wake_is_caught: TRIO, LOST, play::wait_for_a_scope::<With<NoPropagation, PackedJec>, Slot>;
}
