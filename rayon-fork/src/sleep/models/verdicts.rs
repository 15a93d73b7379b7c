//! Which scenario each variant must pass, and in which each twin must be caught.

use super::scenarios as play;
use super::twins::*;
use super::{PAIR, TRIO, must_fail, must_hold};
use crate::sleep::counters::axes::{IdleFirst, Inline, Jec, NoJec, SleepersOnly};
use crate::sleep::counters::variants::for_every_protocol;
use crate::sleep::counters::{Packed, SleepCounters, Split};
use crate::sleep::parking::Slot;

/// All threads are blocked, so a wake-up was lost.
const LOST: &str = "deadlock; threads";

/// One test for each row: a scenario that must hold for the counters.
macro_rules! holds {
    ($($name:ident: $bounds:ident, $($scenario:ident)::+, $counters:ty;)*) => {
        $(#[test]
        fn $name() {
            must_hold(<$counters>::NAME, $bounds, $($scenario)::+::<$counters, Slot>);
        })*
    };
}

/// One test for each row: a scenario in which the twin must be caught, and by which message.
macro_rules! is_caught {
    ($($name:ident: $bounds:ident, $symptom:expr, $($scenario:ident)::+, $counters:ty, $slot:ty;)*) => {
        $(#[test]
        fn $name() {
            must_fail(<$counters>::NAME, $symptom, $bounds, $($scenario)::+::<$counters, $slot>);
        })*
    };
}

/// What must hold for every variant. Where an internal job must not be lost, variants that count
/// events get a push fence: without it they have a hole, which the tests below put on record.
macro_rules! every_scenario {
    ($($module:ident: $counters:ty;)*) => {
        $(mod $module {
            use super::*;

            holds! {
                an_injected_job_is_never_stranded: PAIR, play::inject, $counters;
                an_injected_job_is_never_stranded_after_news: PAIR, play::inject_after_news, $counters;
                a_pushed_job_finds_a_sleeper_if_pushes_fence: PAIR, play::push, With<PushFence, $counters>;
                a_pushed_job_finds_a_sleeper_after_news_if_pushes_fence: PAIR, play::push_after_news, With<PushFence, $counters>;
                a_pushed_job_finds_a_sleeper_who_is_told_of_it: PAIR, play::push, $counters;
                a_job_is_not_left_to_a_searcher_that_stops: TRIO, play::inject_what_a_job_awaits, $counters;
                a_pushed_job_is_not_left_to_a_searcher_that_stops: TRIO, play::push_what_a_job_awaits, With<PushFence, $counters>;
                a_set_latch_never_leaves_its_owner_asleep: PAIR, play::set_latch, $counters;
                a_broadcast_reaches_a_worker_that_falls_asleep: PAIR, play::broadcast, $counters;
                two_publishers_lose_neither_job: TRIO, play::two_publishers, With<PushFence, $counters>;
                one_job_and_two_workers_end_with_nobody_counted: TRIO, play::one_job_for_two, $counters;
                a_job_that_waits_for_the_next_one_gets_it: TRIO, play::push_two_dependent_jobs, With<PushFence, $counters>;
                a_pool_ends_though_its_workers_fall_asleep: TRIO, play::terminate, $counters;
            }
        })*
    };
}
for_every_protocol!(every_scenario);

type PackedJec<W> = Packed<Inline, Jec, W>;
type PackedNoJec<W> = Packed<Inline, NoJec, W>;
type SplitJec<W> = Split<Inline, Jec, W>;
type SplitNoJec<W> = Split<Inline, NoJec, W>;

/// The hole that variants with an events counter share with rayon-core (README, section 9).
mod the_accepted_hole {
    use super::*;
    is_caught! {
        packed: PAIR, LOST, play::push_after_news, PackedJec<IdleFirst>, Slot;
        packed_sleepers_only: PAIR, LOST, play::push_after_news, PackedJec<SleepersOnly>, Slot;
        split: PAIR, LOST, play::push_after_news, SplitJec<IdleFirst>, Slot;
        split_sleepers_only: PAIR, LOST, play::push_after_news, SplitJec<SleepersOnly>, Slot;
    }
}

/// Injected jobs do not rest on the counter of events.
mod events_that_wrap_at_two_strand_no_injected_job {
    use super::*;
    holds! {
        inject: PAIR, play::inject, With<OneBitOfEvents, PackedJec<IdleFirst>>;
        inject_after_news: PAIR, play::inject_after_news, With<OneBitOfEvents, PackedJec<IdleFirst>>;
        inject_what_a_job_awaits: TRIO, play::inject_what_a_job_awaits, With<OneBitOfEvents, PackedJec<IdleFirst>>;
    }
}

mod looking_for_news_before_registering_is_caught {
    use super::*;
    is_caught! {
        split: PAIR, LOST, play::push, With<LooksBeforeRegistering, SplitJec<IdleFirst>>, Slot;
        split_sleepers_only: PAIR, LOST, play::push, With<LooksBeforeRegistering, SplitJec<SleepersOnly>>, Slot;
    }
}

mod looking_for_sleepers_before_leaving_is_caught {
    use super::*;
    is_caught! {
        split: TRIO, LOST, play::inject_what_a_job_awaits, With<LooksBeforeLeaving, SplitJec<IdleFirst>>, Slot;
        split_no_jec: TRIO, LOST, play::inject_what_a_job_awaits, With<LooksBeforeLeaving, SplitNoJec<IdleFirst>>, Slot;
    }
}

mod leaving_without_a_wake_is_caught_where_jobs_are_left_to_searchers {
    use super::*;
    is_caught! {
        packed: TRIO, LOST, play::inject_what_a_job_awaits, With<NoChain, PackedJec<IdleFirst>>, Slot;
        packed_no_jec: TRIO, LOST, play::inject_what_a_job_awaits, With<NoChain, PackedNoJec<IdleFirst>>, Slot;
        split: TRIO, LOST, play::inject_what_a_job_awaits, With<NoChain, SplitJec<IdleFirst>>, Slot;
        split_no_jec: TRIO, LOST, play::inject_what_a_job_awaits, With<NoChain, SplitNoJec<IdleFirst>>, Slot;
    }
}

mod leaving_without_a_wake_does_no_harm_where_sleepers_are_woken_at_once {
    use super::*;
    holds! {
        packed: TRIO, play::inject_what_a_job_awaits, With<NoChain, PackedJec<SleepersOnly>>;
        packed_no_jec: TRIO, play::inject_what_a_job_awaits, With<NoChain, PackedNoJec<SleepersOnly>>;
        split: TRIO, play::inject_what_a_job_awaits, With<NoChain, SplitJec<SleepersOnly>>;
        split_no_jec: TRIO, play::inject_what_a_job_awaits, With<NoChain, SplitNoJec<SleepersOnly>>;
    }
}

mod scanning_without_the_deques_is_caught {
    use super::*;
    is_caught! {
        packed_no_jec: PAIR, LOST, play::push_unseen, PackedNoJec<IdleFirst>, Slot;
        packed_no_jec_sleepers_only: PAIR, LOST, play::push_unseen, PackedNoJec<SleepersOnly>, Slot;
        split_no_jec: PAIR, LOST, play::push_unseen, SplitNoJec<IdleFirst>, Slot;
        split_no_jec_sleepers_only: PAIR, LOST, play::push_unseen, SplitNoJec<SleepersOnly>, Slot;
    }
}

/// Only where no events are counted: for a job that is announced, they send the sleeper back as
/// well.
mod sleeping_without_a_look_at_the_injector_is_caught {
    use super::*;
    is_caught! {
        packed_no_jec: PAIR, LOST, play::inject_unseen, PackedNoJec<IdleFirst>, Slot;
        split_no_jec: PAIR, LOST, play::inject_unseen, SplitNoJec<IdleFirst>, Slot;
    }
}

mod pushing_without_a_fence_is_caught {
    use super::*;
    is_caught! {
        packed_no_jec: PAIR, LOST, play::push, With<NoPushFence, PackedNoJec<IdleFirst>>, Slot;
        packed_no_jec_sleepers_only: PAIR, LOST, play::push, With<NoPushFence, PackedNoJec<SleepersOnly>>, Slot;
        split_no_jec: PAIR, LOST, play::push, With<NoPushFence, SplitNoJec<IdleFirst>>, Slot;
        split_no_jec_sleepers_only: PAIR, LOST, play::push, With<NoPushFence, SplitNoJec<SleepersOnly>>, Slot;
    }
}

mod fencing_only_pushes_on_an_empty_deque_is_caught {
    use super::*;
    is_caught! {
        packed_no_jec: TRIO, LOST, play::push_two_dependent_jobs, With<FenceWhenEmpty, PackedNoJec<IdleFirst>>, Slot;
        split_no_jec: TRIO, LOST, play::push_two_dependent_jobs, With<FenceWhenEmpty, SplitNoJec<IdleFirst>>, Slot;
    }
}

mod blocking_though_claimed_is_caught {
    use super::*;
    is_caught! {
        packed_no_jec: TRIO, LOST, play::two_publishers, PackedNoJec<IdleFirst>, BlocksThoughClaimed;
        split_no_jec: TRIO, LOST, play::two_publishers, SplitNoJec<IdleFirst>, BlocksThoughClaimed;
    }
}

mod arming_too_late_is_caught {
    use super::*;
    is_caught! {
        packed_no_jec: PAIR, LOST, play::set_latch, PackedNoJec<IdleFirst>, ArmsTooLate;
        split_no_jec: PAIR, LOST, play::set_latch, SplitNoJec<IdleFirst>, ArmsTooLate;
    }
}

mod unregistering_after_the_lock_is_caught_where_it_can_be_seen {
    use super::*;
    const SEEN: &str = "stops searching while it is counted as asleep";
    is_caught! {
        packed: TRIO, SEEN, play::one_job_for_two, PackedJec<IdleFirst>, UnregistersTooLate;
        packed_no_jec: TRIO, SEEN, play::one_job_for_two, PackedNoJec<IdleFirst>, UnregistersTooLate;
    }
}
