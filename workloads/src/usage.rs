//! What the process has used so far, as the kernel counts it.

use std::time::Duration;

#[cfg(not(manycore))]
use nix::sys::resource::{Usage, UsageWho, getrusage};
#[cfg(not(manycore))]
use nix::sys::time::TimeVal;
use nix::time::{ClockId, clock_gettime};

/// Use of the whole process, all threads, since it started, and of those that it started and that
/// have ended.
///
/// The kernel adds up a running thread's CPU time at clock ticks (1 to 10 ms apart), except for the
/// thread that asks; over a region of a few milliseconds the value is coarse, over a trial it is
/// not.
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
    /// Asks the kernel.
    ///
    /// # Panics
    /// If the kernel refuses, which it documents only for invalid arguments.
    #[cfg(not(manycore))]
    #[must_use]
    pub fn now() -> Self {
        let usage = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
            .map(|who| getrusage(who).expect("the process may ask for its own usage"));
        let sum = |of: fn(&Usage) -> i64| usage.iter().map(|it| count(of(it))).sum();
        Self {
            user: usage.iter().map(|it| duration(it.user_time())).sum(),
            system: usage.iter().map(|it| duration(it.system_time())).sum(),
            counts: protocol::Usage {
                // Linux counts in KiB.
                max_rss_bytes: usage
                    .iter()
                    .map(|it| count(it.max_rss()))
                    .max()
                    .unwrap_or(0)
                    * 1024,
                voluntary_switches: sum(Usage::voluntary_context_switches),
                involuntary_switches: sum(Usage::involuntary_context_switches),
                minor_faults: sum(Usage::minor_page_faults),
                major_faults: sum(Usage::major_page_faults),
            },
        }
    }

    /// Asks the simulated machine, for its cores together; it has no other counts.
    #[cfg(manycore)]
    #[must_use]
    pub fn now() -> Self {
        let spent = manycore::spent();
        let system = |spent: &manycore::Spent| spent.on(manycore::Spending::System);
        let time = |part: &dyn Fn(&manycore::Spent) -> u64| {
            Duration::from_nanos(spent.iter().map(part).sum::<u64>() / 1_000)
        };
        Self {
            user: time(&|core| core.cpu() - system(core)),
            system: time(&system),
            counts: protocol::Usage::default(),
        }
    }
}

/// CPU time of the whole process, to the nanosecond.
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
        .expect("every Linux has the clocks of CPU time")
        .into()
}

#[cfg(not(manycore))]
fn duration(time: TimeVal) -> Duration {
    Duration::from_secs(count(time.tv_sec())) + Duration::from_micros(count(time.tv_usec()))
}

/// Counts are signed in the C interface and never negative.
#[cfg(not(manycore))]
fn count(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

/// Whole nanoseconds, saturating after some 500 years.
#[must_use]
pub fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::thread;
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

    #[test]
    fn sleeping_shows_as_a_voluntary_switch() {
        let before = UsageSample::now().counts;
        thread::sleep(Duration::from_millis(5));
        let after = UsageSample::now().counts;
        assert!(after.voluntary_switches > before.voluntary_switches);
        assert!(after.max_rss_bytes > 100 * 1024, "{after:?}");
    }
}
