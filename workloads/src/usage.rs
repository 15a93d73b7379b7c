//! The resources that the process has used, by the counts of the kernel.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use crate::machine;

/// The use of resources by the whole process, and by its children that have ended.
///
/// The kernel adds up a running thread's CPU time at clock ticks (1 to 10 ms apart), except for the
/// thread that makes the system call. So CPU time is coarse over a region of a few milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageSample {
    /// CPU time in user mode.
    pub user: Duration,
    /// CPU time in the kernel.
    pub system: Duration,
    /// The other counts.
    pub counts: protocol::Usage,
}

impl UsageSample {
    /// Asks the machine for its counts.
    ///
    /// # Panics
    ///
    /// If `getrusage` fails.
    #[must_use]
    pub fn now() -> Self {
        machine::used()
    }
}

/// CPU time of the process, to the nanosecond.
#[must_use]
pub fn process_cpu() -> Duration {
    clock(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread, to the nanosecond.
#[must_use]
pub fn thread_cpu() -> Duration {
    clock(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn clock(clock: ClockId) -> Duration {
    clock_gettime(clock)
        .expect("Linux always has clocks of CPU time")
        .into()
}

/// The duration in whole nanoseconds; a duration of more than some 500 years becomes the largest
/// number.
#[must_use]
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;

    #[test]
    fn burning_a_core_shows_as_cpu_time() {
        let before = UsageSample::now();
        let started = Instant::now();
        while started.elapsed() < Duration::from_millis(50) {
            black_box(());
        }
        let after = UsageSample::now();
        assert!(after.user + after.system > before.user + before.system);
    }
}
