//! The cost of an action that interrupts another CPU, such as a wake-up.

use std::ops::RangeInclusive;
use std::time::Duration;

use super::machine::{AtomicUsize, Ordering};

/// The cost of an action, from a moving average in which the last time counts for an eighth.
pub(crate) struct Cost {
    /// The average time, in nanoseconds.
    average: AtomicUsize,
    bounds: RangeInclusive<Duration>,
}

impl Cost {
    /// The average begins with `at_first`. A measured time outside the bounds counts as the nearer
    /// bound.
    pub(crate) const fn new(at_first: Duration, bounds: RangeInclusive<Duration>) -> Self {
        Self {
            average: AtomicUsize::new(nanoseconds(at_first)),
            bounds,
        }
    }

    /// Returns twice the average, for which a thread may do something else in place of the action.
    /// The measured thread is one of two that lose about this time: of a wake-up, the waker and the
    /// woken thread; of a heavy fence, the caller and the interrupted thread.
    pub(crate) fn get(&self) -> Duration {
        // Relaxed, here and below: the time only steers a heuristic.
        2 * Duration::from_nanos(self.average.load(Ordering::Relaxed) as u64)
    }

    pub(crate) fn took(&self, time: Duration) {
        let time = nanoseconds(time.clamp(*self.bounds.start(), *self.bounds.end()));
        let average = self.average.load(Ordering::Relaxed);
        self.average
            .store(average - average / 8 + time / 8, Ordering::Relaxed);
    }
}

#[allow(clippy::cast_possible_truncation)]
const fn nanoseconds(time: Duration) -> usize {
    time.as_nanos() as usize
}

#[cfg(all(test, not(fork_loom)))]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_micros(50);

    fn cost() -> Cost {
        Cost::new(
            Duration::from_micros(25),
            Duration::from_micros(3)..=LONGEST,
        )
    }

    #[test]
    fn an_action_costs_twice_what_the_last_ones_took_on_average() {
        let cost = cost();
        let microseconds = |times, took| {
            (0..times).for_each(|_| cost.took(Duration::from_micros(took)));
            cost.get().as_micros()
        };
        assert!((9..=11).contains(&microseconds(100, 5)));
        let after_one = microseconds(1, 45);
        assert!((18..=22).contains(&after_one), "one counts for an eighth");
        assert!((88..=91).contains(&microseconds(100, 45)));
    }

    #[test]
    fn an_action_that_took_milliseconds_or_nothing_counts_as_the_longest_or_shortest() {
        let cost = cost();
        for (took, bound) in [(1_000_000_000, LONGEST), (0, Duration::from_micros(3))] {
            (0..200).for_each(|_| cost.took(Duration::from_nanos(took)));
            let is_near = cost.get().abs_diff(2 * bound) < Duration::from_micros(1);
            assert!(is_near, "{:?} after {took} ns", cost.get());
        }
    }
}
