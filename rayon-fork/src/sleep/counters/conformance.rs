//! The rules that every variant must keep, with one thread, and mistakes that only one layout can
//! make.

use super::dimensions::*;
use super::variants::for_every_variant;
use super::{
    COUNT_BITS, EventsOf, MAX_WORKERS, Packed, Selected, SleepCounters, SleepyTicket, Split,
    WakeRuleOf,
};
use std::collections::{BTreeSet, HashSet};

/// Returns counters of which the first `asleep` workers sleep, and `searching` others search.
fn pool<C: SleepCounters>(asleep: usize, searching: usize) -> C {
    let counters = C::new(asleep + searching);
    for worker in 0..asleep + searching {
        counters.begin_search(worker);
    }
    for worker in 0..asleep {
        let ticket = counters.become_sleepy(worker);
        assert!(counters.try_begin_sleep(worker, ticket));
    }
    counters
}

fn a_long_random_history_agrees_with_plain_book_keeping<C: SleepCounters>() {
    #[derive(Clone, Copy, PartialEq)]
    enum Doing {
        Working,
        Searching,
        Sleepy {
            ticket: SleepyTicket,
            notifications: usize,
        },
        Sleeping,
    }
    const WORKERS: usize = 5;
    const STEPS: usize = if cfg!(miri) { 300 } else { 20_000 };

    let counters = C::new(WORKERS);
    let mut workers = [Doing::Working; WORKERS];
    let mut notifications = 0;
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for step in 0..STEPS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let worker = (random >> 8) as usize % WORKERS;
        let asleep = workers
            .iter()
            .filter(|&&doing| doing == Doing::Sleeping)
            .count();
        let searching = workers
            .iter()
            .filter(|&&doing| doing != Doing::Working)
            .count()
            - asleep;
        let choice = random % 8;
        workers[worker] = match workers[worker] {
            doing if choice < 2 => {
                let queue_was_empty = choice == 0;
                let is_left_to_searcher =
                    WakeRuleOf::<C>::COUNTS_SEARCHERS && queue_was_empty && searching > 0;
                let expected = usize::from(asleep > 0 && !is_left_to_searcher);
                assert_eq!(
                    counters.notify_job(queue_was_empty),
                    expected,
                    "step {step}"
                );
                notifications += 1;
                doing
            }
            Doing::Working => {
                counters.begin_search(worker);
                Doing::Searching
            }
            Doing::Searching | Doing::Sleepy { .. } if choice == 2 => {
                assert_eq!(counters.end_search(worker), asleep.min(2), "step {step}");
                Doing::Working
            }
            Doing::Searching => Doing::Sleepy {
                ticket: counters.become_sleepy(worker),
                notifications,
            },
            Doing::Sleepy {
                ticket,
                notifications: then,
            } => {
                let may_sleep = !EventsOf::<C>::COUNTED || notifications == then;
                assert_eq!(
                    counters.try_begin_sleep(worker, ticket),
                    may_sleep,
                    "step {step}"
                );
                if may_sleep {
                    Doing::Sleeping
                } else {
                    Doing::Searching
                }
            }
            Doing::Sleeping => {
                counters.end_sleep(worker);
                Doing::Searching
            }
        };
    }
    for (worker, doing) in workers.into_iter().enumerate() {
        if doing == Doing::Sleeping {
            counters.end_sleep(worker);
        }
        if doing != Doing::Working {
            counters.end_search(worker);
        }
    }
    assert_eq!(
        (counters.sleeping(), counters.inactive()),
        (0, 0),
        "all workers are active, so S and I must be 0"
    );
}

fn a_pool_of_the_largest_size_is_counted_exactly<C: SleepCounters>() {
    let counters = pool::<C>(MAX_WORKERS, 0);
    let inactive = if C::COUNTS_SEARCHERS { MAX_WORKERS } else { 0 };
    assert_eq!(
        (counters.sleeping(), counters.inactive(), counters.events()),
        (MAX_WORKERS, inactive, 0)
    );
    assert_eq!(counters.notify_job(true), 1);
    for worker in 0..MAX_WORKERS {
        counters.end_sleep(worker);
        assert!(counters.end_search(worker) <= 2);
    }
    assert_eq!((counters.sleeping(), counters.inactive()), (0, 0));
    assert_eq!(
        counters.events(),
        usize::from(EventsOf::<C>::COUNTED),
        "J counts one notification, and S and I do not overflow into J"
    );
}

macro_rules! conformance_tests {
    ($layout:ident $($dimension:ident)*) => {
        conformance_tests! { @tests $layout<($($dimension),*)>:
            a_long_random_history_agrees_with_plain_book_keeping,
            a_pool_of_the_largest_size_is_counted_exactly,
        }
    };
    (@tests $counters:ty: $($test:ident,)*) => {
        $(#[test]
        fn $test() {
            crate::sleep::counters::conformance::$test::<$counters>();
        })*
    };
}
for_every_variant!(in_modules conformance_tests);

#[test]
fn a_name_is_that_of_the_layout_and_of_the_features_in_the_order_of_the_dimensions() {
    assert_eq!(Packed::<(Jec, NoFence, IdleFirst, Inline)>::NAME, "packed");
    assert_eq!(
        Split::<(NoJec, ScanFence, SleepersOnly, CachePadded)>::NAME,
        "split+no-jec+sleepers-only+cache-padded"
    );
    assert_eq!(
        Split::<(Jec, PushFence, SleepersOnly, Inline)>::NAME,
        "split+push-fence+sleepers-only"
    );
    assert_eq!(
        Split::<(Jec, NoFence, ReadsBoth, CachePadded)>::NAME,
        "split+reads-both+cache-padded"
    );
}

#[test]
fn of_those_that_look_first_only_the_last_searcher_may_wake_a_sleeper() {
    fn check<C: SleepCounters>() {
        for (asleep, searching) in [(0, 1), (1, 1), (3, 1), (1, 2), (3, 3)] {
            let counters = pool::<C>(asleep, searching);
            let is_last = searching == 1 || !C::COUNTS_SEARCHERS;
            let expected = if is_last { asleep.min(2) } else { 0 };
            assert_eq!(
                counters.end_search(asleep),
                expected,
                "{}: {asleep} asleep",
                C::NAME
            );
        }
    }
    macro_rules! check {
        ($layout:ident $($dimension:ident)*) => { check::<$layout<($($dimension),*, WakeWhereWorkIs)>>(); };
    }
    for_every_variant!(here check);
}

#[test]
fn no_two_variants_share_a_name_and_one_of_them_was_built() {
    let mut names = Vec::new();
    macro_rules! add_name {
        ($layout:ident $($dimension:ident)*) => {
            names.push(<$layout<($($dimension),*)>>::NAME);
            names.push(<$layout<($($dimension),*, WakeWhereWorkIs)>>::NAME);
        };
    }
    for_every_variant!(here add_name);
    let distinct: HashSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len(), "{names:?}");
    assert!(
        distinct.contains(&Selected::NAME),
        "{} is not among {names:?}",
        Selected::NAME
    );
}

#[test]
fn the_built_variant_is_the_one_that_the_features_say() {
    // `build.rs` sets this variable.
    let asked: BTreeSet<_> = env!("FORK_VARIANT").split_whitespace().collect();
    assert_eq!(
        crate::rayon_fork_variant()
            .split('+')
            .collect::<BTreeSet<_>>(),
        asked
    );
}

#[test]
fn split_takes_a_sleeper_missing_from_the_inactive_for_no_searcher() {
    // S exceeds I if a producer reads S before workers wake and stop searching, and reads I after
    // that.
    for inactive in 0..=3 {
        let torn = Split::<(Jec, NoFence, IdleFirst, Inline)>::from_words(3, inactive, 1);
        assert_eq!(torn.notify_job(true), 1, "with {inactive} inactive");
    }
    let apart = Split::<(Jec, NoFence, IdleFirst, Inline)>::from_words(3, 4, 1);
    assert_eq!(
        apart.notify_job(true),
        0,
        "one of the inactive workers searches"
    );
}

#[test]
fn packed_events_wrap_without_touching_the_counts() {
    let counts = (2 << COUNT_BITS) | 1;
    let last_event = usize::MAX << (2 * COUNT_BITS);
    let counters = Packed::<(Jec, NoFence, IdleFirst, Inline)>::from_word(last_event | counts);
    assert_eq!(
        counters.become_sleepy(0),
        SleepyTicket(0),
        "the odd value before the wrap is followed by 0"
    );
    assert_eq!((counters.sleeping(), counters.inactive()), (1, 2));
    assert!(counters.try_begin_sleep(0, SleepyTicket(0)));
}

#[test]
fn split_events_wrap_to_zero() {
    let counters = Split::<(Jec, NoFence, IdleFirst, Inline)>::from_words(0, 1, usize::MAX);
    assert_eq!(counters.become_sleepy(0), SleepyTicket(0));
    assert!(counters.try_begin_sleep(0, SleepyTicket(0)));
}

#[test]
fn words_that_a_variant_does_not_use_stay_untouched() {
    let without_events = pool::<Split<(NoJec, ScanFence, IdleFirst, Inline)>>(1, 1);
    without_events.notify_job(true);
    assert_eq!((without_events.inactive(), without_events.events()), (2, 0));

    let without_searchers = pool::<Split<(Jec, NoFence, SleepersOnly, CachePadded)>>(1, 1);
    without_searchers.notify_job(true);
    assert_eq!(
        (without_searchers.inactive(), without_searchers.events()),
        (0, 1)
    );
}
