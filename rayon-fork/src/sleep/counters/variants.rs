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
            packed_no_jec: Packed<Inline, NoJec, IdleFirst> = "packed+no-jec";
            packed_no_jec_padded: Packed<Padded, NoJec, IdleFirst> = "packed+no-jec+cache-padded";
            packed_no_jec_sleepers_only: Packed<Inline, NoJec, SleepersOnly> = "packed+no-jec+sleepers-only";
            packed_no_jec_sleepers_only_padded: Packed<Padded, NoJec, SleepersOnly> = "packed+no-jec+sleepers-only+cache-padded";
            split: Split<Inline, Jec, IdleFirst> = "split";
            split_padded: Split<Padded, Jec, IdleFirst> = "split+cache-padded";
            split_sleepers_only: Split<Inline, Jec, SleepersOnly> = "split+sleepers-only";
            split_sleepers_only_padded: Split<Padded, Jec, SleepersOnly> = "split+sleepers-only+cache-padded";
            split_push_fence: Split<Inline, FencedJec, IdleFirst> = "split+push-fence";
            split_push_fence_padded: Split<Padded, FencedJec, IdleFirst> = "split+push-fence+cache-padded";
            split_push_fence_sleepers_only: Split<Inline, FencedJec, SleepersOnly> = "split+push-fence+sleepers-only";
            split_push_fence_sleepers_only_padded: Split<Padded, FencedJec, SleepersOnly> = "split+push-fence+sleepers-only+cache-padded";
            split_no_jec: Split<Inline, NoJec, IdleFirst> = "split+no-jec";
            split_no_jec_padded: Split<Padded, NoJec, IdleFirst> = "split+no-jec+cache-padded";
            split_no_jec_sleepers_only: Split<Inline, NoJec, SleepersOnly> = "split+no-jec+sleepers-only";
            split_no_jec_sleepers_only_padded: Split<Padded, NoJec, SleepersOnly> = "split+no-jec+sleepers-only+cache-padded";
            split_idle: SplitIdle<Inline, Jec, IdleFirst> = "split-idle";
            split_idle_padded: SplitIdle<Padded, Jec, IdleFirst> = "split-idle+cache-padded";
            split_idle_sleepers_only: SplitIdle<Inline, Jec, SleepersOnly> = "split-idle+sleepers-only";
            split_idle_sleepers_only_padded: SplitIdle<Padded, Jec, SleepersOnly> = "split-idle+sleepers-only+cache-padded";
            split_idle_push_fence: SplitIdle<Inline, FencedJec, IdleFirst> = "split-idle+push-fence";
            split_idle_push_fence_padded: SplitIdle<Padded, FencedJec, IdleFirst> = "split-idle+push-fence+cache-padded";
            split_idle_push_fence_sleepers_only: SplitIdle<Inline, FencedJec, SleepersOnly> = "split-idle+push-fence+sleepers-only";
            split_idle_push_fence_sleepers_only_padded: SplitIdle<Padded, FencedJec, SleepersOnly> = "split-idle+push-fence+sleepers-only+cache-padded";
        }
    };
}
#[cfg(all(test, not(fork_loom)))]
pub(crate) use for_every_variant;

/// How many there are: two layouts with or without events and their fence, one with events alone,
/// each with both wake rules and both placements.
pub(crate) const COUNT: usize = (2 * 3 + 2) * 2 * 2;

/// Nothing but the mention of all variants: what a build mentions it compiles.
macro_rules! mention {
    ($($module:ident: $counters:ty = $name:literal;)*) => {
        const _: [&str; COUNT] = {
            use super::axes::{FencedJec, IdleFirst, Inline, Jec, NoJec, Padded, SleepersOnly};
            use super::{Packed, SleepCounters, Split, SplitIdle};
            [$(<$counters>::NAME),*]
        };
    };
}
for_every_variant!(mention);

/// Calls `$callback!` with `name: type;` for every variant that differs in more than padding. The
/// first group holds those that fence every push, and so lose no internal job either.
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
