//! Every variant, once: the list that makes each build compile all of them, and that tests run
//! through.

/// Calls `$callback!` with `name: type = "name";` for every variant.
macro_rules! for_every_variant {
    ($callback:ident) => {
        $callback! {
            packed: Packed<Inline, Jec, IdleFirst> = "packed";
            packed_padded: Packed<Padded, Jec, IdleFirst> = "packed+cache-padded";
            packed_sleepers_only: Packed<Inline, Jec, SleepersOnly> = "packed+sleepers-only";
            packed_sleepers_only_padded: Packed<Padded, Jec, SleepersOnly> = "packed+sleepers-only+cache-padded";
            packed_push_fence: Packed<Inline, FencedJec, IdleFirst> = "packed+push-fence";
            packed_push_fence_padded: Packed<Padded, FencedJec, IdleFirst> = "packed+push-fence+cache-padded";
            packed_push_fence_sleepers_only: Packed<Inline, FencedJec, SleepersOnly> = "packed+push-fence+sleepers-only";
            packed_push_fence_sleepers_only_padded: Packed<Padded, FencedJec, SleepersOnly> = "packed+push-fence+sleepers-only+cache-padded";
            packed_asymmetric: Packed<Inline, AsymmetricJec, IdleFirst> = "packed+asymmetric-fence";
            packed_asymmetric_padded: Packed<Padded, AsymmetricJec, IdleFirst> = "packed+asymmetric-fence+cache-padded";
            packed_asymmetric_sleepers_only: Packed<Inline, AsymmetricJec, SleepersOnly> = "packed+asymmetric-fence+sleepers-only";
            packed_asymmetric_sleepers_only_padded: Packed<Padded, AsymmetricJec, SleepersOnly> = "packed+asymmetric-fence+sleepers-only+cache-padded";
            packed_no_jec: Packed<Inline, NoJec, IdleFirst> = "packed+no-jec";
            packed_no_jec_padded: Packed<Padded, NoJec, IdleFirst> = "packed+no-jec+cache-padded";
            packed_no_jec_sleepers_only: Packed<Inline, NoJec, SleepersOnly> = "packed+no-jec+sleepers-only";
            packed_no_jec_sleepers_only_padded: Packed<Padded, NoJec, SleepersOnly> = "packed+no-jec+sleepers-only+cache-padded";
            packed_no_jec_asymmetric: Packed<Inline, AsymmetricNoJec, IdleFirst> = "packed+no-jec+asymmetric-fence";
            packed_no_jec_asymmetric_padded: Packed<Padded, AsymmetricNoJec, IdleFirst> = "packed+no-jec+asymmetric-fence+cache-padded";
            packed_no_jec_asymmetric_sleepers_only: Packed<Inline, AsymmetricNoJec, SleepersOnly> = "packed+no-jec+asymmetric-fence+sleepers-only";
            packed_no_jec_asymmetric_sleepers_only_padded: Packed<Padded, AsymmetricNoJec, SleepersOnly> = "packed+no-jec+asymmetric-fence+sleepers-only+cache-padded";
            split: Split<Inline, Jec, IdleFirst> = "split";
            split_padded: Split<Padded, Jec, IdleFirst> = "split+cache-padded";
            split_sleepers_only: Split<Inline, Jec, SleepersOnly> = "split+sleepers-only";
            split_sleepers_only_padded: Split<Padded, Jec, SleepersOnly> = "split+sleepers-only+cache-padded";
            split_push_fence: Split<Inline, FencedJec, IdleFirst> = "split+push-fence";
            split_push_fence_padded: Split<Padded, FencedJec, IdleFirst> = "split+push-fence+cache-padded";
            split_push_fence_sleepers_only: Split<Inline, FencedJec, SleepersOnly> = "split+push-fence+sleepers-only";
            split_push_fence_sleepers_only_padded: Split<Padded, FencedJec, SleepersOnly> = "split+push-fence+sleepers-only+cache-padded";
            split_asymmetric: Split<Inline, AsymmetricJec, IdleFirst> = "split+asymmetric-fence";
            split_asymmetric_padded: Split<Padded, AsymmetricJec, IdleFirst> = "split+asymmetric-fence+cache-padded";
            split_asymmetric_sleepers_only: Split<Inline, AsymmetricJec, SleepersOnly> = "split+asymmetric-fence+sleepers-only";
            split_asymmetric_sleepers_only_padded: Split<Padded, AsymmetricJec, SleepersOnly> = "split+asymmetric-fence+sleepers-only+cache-padded";
            split_no_jec: Split<Inline, NoJec, IdleFirst> = "split+no-jec";
            split_no_jec_padded: Split<Padded, NoJec, IdleFirst> = "split+no-jec+cache-padded";
            split_no_jec_sleepers_only: Split<Inline, NoJec, SleepersOnly> = "split+no-jec+sleepers-only";
            split_no_jec_sleepers_only_padded: Split<Padded, NoJec, SleepersOnly> = "split+no-jec+sleepers-only+cache-padded";
            split_no_jec_asymmetric: Split<Inline, AsymmetricNoJec, IdleFirst> = "split+no-jec+asymmetric-fence";
            split_no_jec_asymmetric_padded: Split<Padded, AsymmetricNoJec, IdleFirst> = "split+no-jec+asymmetric-fence+cache-padded";
            split_no_jec_asymmetric_sleepers_only: Split<Inline, AsymmetricNoJec, SleepersOnly> = "split+no-jec+asymmetric-fence+sleepers-only";
            split_no_jec_asymmetric_sleepers_only_padded: Split<Padded, AsymmetricNoJec, SleepersOnly> = "split+no-jec+asymmetric-fence+sleepers-only+cache-padded";
            split_idle: SplitIdle<Inline, Jec, IdleFirst> = "split-idle";
            split_idle_padded: SplitIdle<Padded, Jec, IdleFirst> = "split-idle+cache-padded";
            split_idle_sleepers_only: SplitIdle<Inline, Jec, SleepersOnly> = "split-idle+sleepers-only";
            split_idle_sleepers_only_padded: SplitIdle<Padded, Jec, SleepersOnly> = "split-idle+sleepers-only+cache-padded";
            split_idle_push_fence: SplitIdle<Inline, FencedJec, IdleFirst> = "split-idle+push-fence";
            split_idle_push_fence_padded: SplitIdle<Padded, FencedJec, IdleFirst> = "split-idle+push-fence+cache-padded";
            split_idle_push_fence_sleepers_only: SplitIdle<Inline, FencedJec, SleepersOnly> = "split-idle+push-fence+sleepers-only";
            split_idle_push_fence_sleepers_only_padded: SplitIdle<Padded, FencedJec, SleepersOnly> = "split-idle+push-fence+sleepers-only+cache-padded";
            split_idle_asymmetric: SplitIdle<Inline, AsymmetricJec, IdleFirst> = "split-idle+asymmetric-fence";
            split_idle_asymmetric_padded: SplitIdle<Padded, AsymmetricJec, IdleFirst> = "split-idle+asymmetric-fence+cache-padded";
            split_idle_asymmetric_sleepers_only: SplitIdle<Inline, AsymmetricJec, SleepersOnly> = "split-idle+asymmetric-fence+sleepers-only";
            split_idle_asymmetric_sleepers_only_padded: SplitIdle<Padded, AsymmetricJec, SleepersOnly> = "split-idle+asymmetric-fence+sleepers-only+cache-padded";
        }
    };
}
#[cfg(all(test, not(fork_loom)))]
pub(crate) use for_every_variant;

/// How many there are: two layouts with events and one of three fences or without events and one of
/// two, one layout with events alone, each with both wake rules and both placements.
// Rust 1.80 does not see that it is used below.
#[allow(dead_code)]
pub(crate) const COUNT: usize = (2 * (3 + 2) + 3) * 2 * 2;

/// Nothing but the mention of all variants: what a build mentions it compiles.
macro_rules! mention {
    ($($module:ident: $counters:ty = $name:literal;)*) => {
        const _: [&str; COUNT] = {
            use super::axes::*;
            use super::{Packed, SleepCounters, Split, SplitIdle};
            [$(<$counters>::NAME),*]
        };
    };
}
for_every_variant!(mention);

/// Calls `$callback!` with `name: type;` for every variant that differs in more than padding. The
/// first two groups hold those that lose no internal job either: every push fences, or every sleeper
/// does for all.
///
/// Of the second group only those with rayon-core's wake rule: light fences are steps of their own
/// under loom, and the rule has nothing to do with fences.
#[cfg(all(test, fork_loom))]
macro_rules! for_every_protocol {
    ($callback:ident) => {
        $callback! {
            fence_every_push {
                packed_push_fence: Packed<Inline, FencedJec, IdleFirst>;
                packed_push_fence_sleepers_only: Packed<Inline, FencedJec, SleepersOnly>;
                packed_no_jec: Packed<Inline, NoJec, IdleFirst>;
                packed_no_jec_sleepers_only: Packed<Inline, NoJec, SleepersOnly>;
                split_push_fence: Split<Inline, FencedJec, IdleFirst>;
                split_push_fence_sleepers_only: Split<Inline, FencedJec, SleepersOnly>;
                split_no_jec: Split<Inline, NoJec, IdleFirst>;
                split_no_jec_sleepers_only: Split<Inline, NoJec, SleepersOnly>;
                split_idle_push_fence: SplitIdle<Inline, FencedJec, IdleFirst>;
                split_idle_push_fence_sleepers_only: SplitIdle<Inline, FencedJec, SleepersOnly>;
            }
            let_sleepers_fence {
                packed_asymmetric: Packed<Inline, AsymmetricJec, IdleFirst>;
                packed_no_jec_asymmetric: Packed<Inline, AsymmetricNoJec, IdleFirst>;
                split_asymmetric: Split<Inline, AsymmetricJec, IdleFirst>;
                split_no_jec_asymmetric: Split<Inline, AsymmetricNoJec, IdleFirst>;
                split_idle_asymmetric: SplitIdle<Inline, AsymmetricJec, IdleFirst>;
            }
            others {
                packed: Packed<Inline, Jec, IdleFirst>;
                packed_sleepers_only: Packed<Inline, Jec, SleepersOnly>;
                split: Split<Inline, Jec, IdleFirst>;
                split_sleepers_only: Split<Inline, Jec, SleepersOnly>;
                split_idle: SplitIdle<Inline, Jec, IdleFirst>;
                split_idle_sleepers_only: SplitIdle<Inline, Jec, SleepersOnly>;
            }
        }
    };
}
#[cfg(all(test, fork_loom))]
pub(crate) use for_every_protocol;
