//! The machine's clock, with the interface of `std::time`. Durations are in whole nanoseconds.
#![expect(
    missing_docs,
    clippy::must_use_candidate,
    reason = "the standard library documents this interface"
)]

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

use crate::engine;
use crate::machine::{NANOSECOND, Picoseconds};

/// A moment of the machine's time, by the clock of the thread that calls [`Self::now`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(Picoseconds);

impl Instant {
    pub fn now() -> Self {
        Self(engine::clock())
    }

    pub fn elapsed(self) -> Duration {
        Self::now() - self
    }

    pub fn saturating_duration_since(self, earlier: Self) -> Duration {
        self - earlier
    }

    /// The time since `earlier`; 0 if `earlier` is later.
    pub fn duration_since(self, earlier: Self) -> Duration {
        self - earlier
    }

    /// The moment that is `time` later; never `None`.
    pub fn checked_add(self, time: Duration) -> Option<Self> {
        Some(self + time)
    }

    /// Picoseconds since the simulation began.
    pub fn picoseconds(self) -> Picoseconds {
        self.0
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(engine::picoseconds(time)))
    }
}

impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, time: Duration) {
        *self = *self + time;
    }
}

impl Sub for Instant {
    type Output = Duration;
    fn sub(self, earlier: Self) -> Duration {
        #[expect(
            clippy::suspicious_arithmetic_impl,
            reason = "the clock is finer than a `Duration`"
        )]
        Duration::from_nanos(self.0.saturating_sub(earlier.0) / NANOSECOND)
    }
}
