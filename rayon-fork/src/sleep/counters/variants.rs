//! All variants, as the product of the axes, and the one that features choose. Every build compiles
//! all of them; tests and models run through them.
//!
//! This is the only file that names a counter feature. Which features exclude each other is in
//! `Cargo.toml`, and refused by `build.rs`.

use super::axes::{
    CachePadded, IdleFirst, Inline, Jec, NoJec, SleepersOnly, WakeTwo, WakeWhereWorkIs,
};
use super::fences::{AsymmetricFence, NoFence, PushFence, ScanFence};
use super::{Packed, SleepCounters, Split, SplitIdle};

/// Names the type that the first feature which is on chooses, or else the last one.
macro_rules! choose {
    ($name:ident: $($feature:literal => $chosen:ident,)* $default:ident) => {
        choose! { @after [] $name: $($feature => $chosen,)* $default }
    };
    (@after [$($before:literal)*] $name:ident: $feature:literal => $chosen:ident, $($others:tt)*) => {
        #[cfg(all(feature = $feature, not(any($(feature = $before),*))))]
        use self::$chosen as $name;
        choose! { @after [$($before)* $feature] $name: $($others)* }
    };
    (@after [$($before:literal)*] $name:ident: $default:ident) => {
        #[cfg(not(any($(feature = $before),*)))]
        use self::$default as $name;
    };
}

choose! { Packing: "split" => Split, "split-idle" => SplitIdle, Packed }
choose! { SelectedEvents: "no-jec" => NoJec, Jec }
choose! { SelectedFence:
    "asymmetric-fence" => AsymmetricFence, "push-fence" => PushFence, "no-jec" => ScanFence, NoFence
}
choose! { SelectedWakeRule: "sleepers-only" => SleepersOnly, IdleFirst }
choose! { SelectedPadding: "cache-padded" => CachePadded, Inline }
choose! { SelectedLeaveRule: "wake-where-work-is" => WakeWhereWorkIs, WakeTwo }

/// What the pool counts with.
pub(crate) type Selected = Packing<(
    SelectedEvents,
    SelectedFence,
    SelectedWakeRule,
    SelectedPadding,
    SelectedLeaveRule,
)>;

/// Calls `$test! { $packing $events $fence $wake_rule $padding }` for every variant, in a module of
/// its own, such as `packed::jec::no_fence::idle_first::inline`. With `here` in front, in no
/// module; with paddings behind, for these alone: models have no use for more than one.
macro_rules! for_every_variant {
    ($test:ident) => {
        for_every_variant! { in_modules $test [inline: Inline, cache_padded: CachePadded] }
    };
    (here $test:ident) => {
        for_every_variant! { here $test [inline: Inline, cache_padded: CachePadded] }
    };
    ($place:ident $test:ident $paddings:tt) => {
        for_every_variant! { @product $place $test []
            [packed: Packed, split: Split, split_idle: SplitIdle]
            [jec: Jec, no_jec: NoJec]
            [no_fence: NoFence, push_fence: PushFence, scan_fence: ScanFence,
             asymmetric_fence: AsymmetricFence]
            [idle_first: IdleFirst, sleepers_only: SleepersOnly]
            $paddings
        }
    };

    // What no features choose. Sleepers and events in one word, but no events:
    (@product $place:ident $test:ident [SplitIdle NoJec $($others:ident)*]) => {};
    // neither events nor a scan:
    (@product $place:ident $test:ident [$packing:ident NoJec NoFence $($others:ident)*]) => {};
    (@product $place:ident $test:ident [$packing:ident NoJec PushFence $($others:ident)*]) => {};
    // events, and a fence that does without:
    (@product $place:ident $test:ident [$packing:ident Jec ScanFence $($others:ident)*]) => {};

    // One of each list is chosen; or else each of the next list is, in turn.
    (@product $place:ident $test:ident [$($chosen:ident)*]) => { $test! { $($chosen)* } };
    (@product $place:ident $test:ident $chosen:tt $list:tt $($lists:tt)*) => {
        for_every_variant! { @$place $test $chosen $list [$($lists)*] }
    };
    (@in_modules $test:ident $chosen:tt [$($module:ident: $value:ident),*] $lists:tt) => {
        $(mod $module {
            // It may be that nothing is called.
            #[allow(unused_imports)]
            use super::*;

            for_every_variant! { @choose in_modules $test $value $chosen $lists }
        })*
    };
    (@here $test:ident $chosen:tt [$($module:ident: $value:ident),*] $lists:tt) => {
        $(for_every_variant! { @choose here $test $value $chosen $lists })*
    };
    (@choose $place:ident $test:ident $value:ident [$($chosen:ident)*] [$($lists:tt)*]) => {
        for_every_variant! { @product $place $test [$($chosen)* $value] $($lists)* }
    };
}
#[cfg(test)]
pub(crate) use for_every_variant;

/// Nothing but the mention of a variant: what a build mentions it compiles.
macro_rules! mention {
    ($packing:ident $($axis:ident)*) => {
        const _: &str = <$packing<($($axis),*, WakeTwo)> as SleepCounters>::NAME;
        const _: &str = <$packing<($($axis),*, WakeWhereWorkIs)> as SleepCounters>::NAME;
    };
}
for_every_variant!(here mention);
