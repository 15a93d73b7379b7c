//! The counterpart of `demand.rs` in a build without private jobs. Every push notifies the
//! counters, and no worker requests jobs.

use std::fmt;

use super::parking::ParkingSlot;
use super::{IdlePeriod, Sleep};
use crate::deque::Response;
use crate::sleep::counters::SleepCounters;
use crate::sync::modelled::Fences;

pub(crate) struct StealRequest;

impl StealRequest {
    pub(crate) fn of_pool(_workers: usize, _is_fifo: bool) -> Self {
        Self
    }

    #[cfg(test)]
    pub(crate) fn of_notified() -> Self {
        Self
    }

    #[allow(clippy::unused_self)]
    pub(super) fn describe(&self, _pool: &mut fmt::DebugStruct<'_, '_>) {}
}

#[allow(clippy::unused_self)]
impl<C: SleepCounters, S: ParkingSlot> Sleep<C, S> {
    #[inline]
    pub(crate) fn are_pushes_silent(&self) -> bool {
        false
    }

    /// In this build no deque uses these fences.
    pub(crate) fn fences(&self) -> Fences {
        Fences::full()
    }

    pub(crate) fn try_begin_registering(&self, _idle: &IdlePeriod<'_>) -> bool {
        false
    }

    pub(crate) fn register(&self) {}

    #[inline]
    pub(crate) fn wants_jobs(&self) -> bool {
        false
    }

    #[inline]
    pub(crate) fn request_jobs(&self) {}

    #[inline]
    pub(super) fn scans_for_pushes(&self) -> bool {
        false
    }

    pub(super) fn before_scan(&self) {}

    #[inline]
    pub(super) fn after_shared_push(&self) {}

    pub(crate) fn respond(&self, _response: Response) {}
}
