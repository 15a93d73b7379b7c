//! All variants, and the one that the features choose. Every build compiles all of them; tests and
//! models run through them.
//!
//! This is the only file that names a counter feature. `Cargo.toml` lists the features that exclude
//! each other, and `build.rs` refuses them.

use super::axes::{
    CachePadded, IdleFirst, Inline, Jec, NoFence, NoJec, PushFence, ScanFence, SleepersOnly,
    WakeTwo, WakeWhereWorkIs,
};
use super::{Packed, SleepCounters, Split};

/// Names the type that the first enabled feature chooses, or else the last one.
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

choose! { Packing: "split" => Split, Packed }
choose! { SelectedEvents: "no-jec" => NoJec, Jec }
choose! { SelectedFence: "push-fence" => PushFence, "no-jec" => ScanFence, NoFence }
choose! { SelectedWakeRule: "sleepers-only" => SleepersOnly, IdleFirst }
choose! { SelectedPadding: "cache-padded" => CachePadded, Inline }
choose! { SelectedLeaveRule: "wake-where-work-is" => WakeWhereWorkIs, WakeTwo }

/// The counters of the pool.
pub(crate) type Selected = Packing<(
    SelectedEvents,
    SelectedFence,
    SelectedWakeRule,
    SelectedPadding,
    SelectedLeaveRule,
)>;

/// Calls `$test! { $packing $events $fence $wake_rule $padding }` for every variant. With `here`,
/// both paddings are in one place; with `in_modules`, each is in a module of its own. With
/// `unpadded`, there is no padding, and each variant is in a module: models need only that.
macro_rules! for_every_variant {
    ($place:ident $test:ident) => {
        for_every_variant! { @$place $test
            packed: Packed Jec NoFence IdleFirst,
            packed_sleepers_only: Packed Jec NoFence SleepersOnly,
            packed_push_fence: Packed Jec PushFence IdleFirst,
            packed_push_fence_sleepers_only: Packed Jec PushFence SleepersOnly,
            packed_no_jec: Packed NoJec ScanFence IdleFirst,
            packed_no_jec_sleepers_only: Packed NoJec ScanFence SleepersOnly,
            split: Split Jec NoFence IdleFirst,
            split_sleepers_only: Split Jec NoFence SleepersOnly,
            split_push_fence: Split Jec PushFence IdleFirst,
            split_push_fence_sleepers_only: Split Jec PushFence SleepersOnly,
            split_no_jec: Split NoJec ScanFence IdleFirst,
            split_no_jec_sleepers_only: Split NoJec ScanFence SleepersOnly,
        }
    };
    (@here $test:ident $($name:ident: $($axis:ident)*,)*) => {
        $($test! { $($axis)* Inline } $test! { $($axis)* CachePadded })*
    };
    (@unpadded $test:ident $($name:ident: $($axis:ident)*,)*) => {
        $(mod $name {
            use super::*;
            $test! { $($axis)* Inline }
        })*
    };
    (@in_modules $test:ident $($name:ident: $($axis:ident)*,)*) => {
        $(mod $name {
            use super::*;
            mod inline {
                use super::*;
                $test! { $($axis)* Inline }
            }
            mod cache_padded {
                use super::*;
                $test! { $($axis)* CachePadded }
            }
        })*
    };
}
#[cfg(test)]
pub(crate) use for_every_variant;

/// Only mentions a variant, because a build compiles what it mentions.
macro_rules! mention {
    ($packing:ident $($axis:ident)*) => {
        const _: &str = <$packing<($($axis),*, WakeTwo)> as SleepCounters>::NAME;
        const _: &str = <$packing<($($axis),*, WakeWhereWorkIs)> as SleepCounters>::NAME;
    };
}
for_every_variant!(here mention);
