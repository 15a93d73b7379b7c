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
            packed_no_jec: Packed<Inline, NoJec, IdleFirst> = "packed+no-jec";
            packed_no_jec_padded: Packed<Padded, NoJec, IdleFirst> = "packed+no-jec+cache-padded";
            packed_no_jec_sleepers_only: Packed<Inline, NoJec, SleepersOnly> = "packed+no-jec+sleepers-only";
            packed_no_jec_sleepers_only_padded: Packed<Padded, NoJec, SleepersOnly> = "packed+no-jec+sleepers-only+cache-padded";
            split: Split<Inline, Jec, IdleFirst> = "split";
            split_padded: Split<Padded, Jec, IdleFirst> = "split+cache-padded";
            split_sleepers_only: Split<Inline, Jec, SleepersOnly> = "split+sleepers-only";
            split_sleepers_only_padded: Split<Padded, Jec, SleepersOnly> = "split+sleepers-only+cache-padded";
            split_no_jec: Split<Inline, NoJec, IdleFirst> = "split+no-jec";
            split_no_jec_padded: Split<Padded, NoJec, IdleFirst> = "split+no-jec+cache-padded";
            split_no_jec_sleepers_only: Split<Inline, NoJec, SleepersOnly> = "split+no-jec+sleepers-only";
            split_no_jec_sleepers_only_padded: Split<Padded, NoJec, SleepersOnly> = "split+no-jec+sleepers-only+cache-padded";
        }
    };
}
#[cfg(all(test, not(fork_loom)))]
pub(crate) use for_every_variant;

/// Nothing but the mention of all variants: what a build mentions it compiles.
macro_rules! mention {
    ($($module:ident: $counters:ty = $name:literal;)*) => {
        const _: [&str; 16] = {
            use super::axes::{IdleFirst, Inline, Jec, NoJec, Padded, SleepersOnly};
            use super::{Packed, SleepCounters, Split};
            [$(<$counters>::NAME),*]
        };
    };
}
for_every_variant!(mention);

/// Calls `$callback!` with `name: type;` for every variant that differs in more than padding.
#[cfg(all(test, fork_loom))]
macro_rules! for_every_protocol {
    ($callback:ident) => {
        $callback! {
            packed: Packed<Inline, Jec, IdleFirst>;
            packed_sleepers_only: Packed<Inline, Jec, SleepersOnly>;
            packed_no_jec: Packed<Inline, NoJec, IdleFirst>;
            packed_no_jec_sleepers_only: Packed<Inline, NoJec, SleepersOnly>;
            split: Split<Inline, Jec, IdleFirst>;
            split_sleepers_only: Split<Inline, Jec, SleepersOnly>;
            split_no_jec: Split<Inline, NoJec, IdleFirst>;
            split_no_jec_sleepers_only: Split<Inline, NoJec, SleepersOnly>;
        }
    };
}
#[cfg(all(test, fork_loom))]
pub(crate) use for_every_protocol;
