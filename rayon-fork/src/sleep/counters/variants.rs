//! All variants, and the one that the features choose. Every build compiles all variants. This is
//! the only file that names a counter feature.

use super::dimensions::{
    CachePadded, IdleFirst, Inline, Jec, NoFence, NoJec, PushFence, ReadsBoth, ScanFence,
    SleepersOnly, WakeTwo, WakeWhereWorkIs,
};
use super::{Packed, SleepCounters, Split};

#[cfg(not(feature = "split"))]
use self::Packed as Layout;
#[cfg(feature = "split")]
use self::Split as Layout;

#[cfg(not(feature = "no-jec"))]
use self::Jec as SelectedEvents;
#[cfg(feature = "no-jec")]
use self::NoJec as SelectedEvents;

#[cfg(not(any(feature = "no-jec", feature = "push-fence")))]
use self::NoFence as SelectedFence;
#[cfg(feature = "push-fence")]
use self::PushFence as SelectedFence;
#[cfg(all(feature = "no-jec", not(feature = "push-fence")))]
use self::ScanFence as SelectedFence;

#[cfg(not(feature = "sleepers-only"))]
type SelectedWakeRule = IdleFirst<{ cfg!(feature = "reads-both") }>;
#[cfg(feature = "sleepers-only")]
use self::SleepersOnly as SelectedWakeRule;

#[cfg(feature = "cache-padded")]
use self::CachePadded as SelectedPadding;
#[cfg(not(feature = "cache-padded"))]
use self::Inline as SelectedPadding;

#[cfg(not(feature = "wake-where-work-is"))]
use self::WakeTwo as SelectedPropagation;
#[cfg(feature = "wake-where-work-is")]
use self::WakeWhereWorkIs as SelectedPropagation;

pub(crate) type Selected = Layout<(
    SelectedEvents,
    SelectedFence,
    SelectedWakeRule,
    SelectedPadding,
    SelectedPropagation,
)>;

/// Calls `$test! { $layout $events $fence $wake_rule $padding }` for every variant. With `here`,
/// the calls are in the place of this call, for both paddings. With `in_modules`, each call is in
/// its own module, without padding.
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
            packed_reads_both: Packed Jec NoFence ReadsBoth,
            packed_push_fence_reads_both: Packed Jec PushFence ReadsBoth,
            packed_no_jec_reads_both: Packed NoJec ScanFence ReadsBoth,
            split_reads_both: Split Jec NoFence ReadsBoth,
            split_push_fence_reads_both: Split Jec PushFence ReadsBoth,
            split_no_jec_reads_both: Split NoJec ScanFence ReadsBoth,
        }
    };
    (@here $test:ident $($name:ident: $($dimension:ident)*,)*) => {
        $($test! { $($dimension)* Inline } $test! { $($dimension)* CachePadded })*
    };
    (@in_modules $test:ident $($name:ident: $($dimension:ident)*,)*) => {
        $(mod $name {
            use super::*;
            $test! { $($dimension)* Inline }
        })*
    };
}
#[cfg(all(test, not(fork_loom)))]
pub(crate) use for_every_variant;

/// Names each variant once, so that every build compiles it.
macro_rules! mention {
    ($layout:ident $($dimension:ident)*) => {
        const _: &str = <$layout<($($dimension),*, WakeTwo)> as SleepCounters>::NAME;
        const _: &str = <$layout<($($dimension),*, WakeWhereWorkIs)> as SleepCounters>::NAME;
    };
}
for_every_variant!(here mention);
