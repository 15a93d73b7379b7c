//! Functions for timing: work of a known length that has a result, waits until a given time, and
//! seeded random gaps.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::machine::{add_cost, add_time};
use crate::random::{Random, mix};
use crate::usage::nanoseconds;

/// Does work that a compiler cannot shorten: `steps` steps of 3 to 4 ns each, which depend on each
/// other. Returns a word that depends on every step.
#[must_use]
pub fn chain(seed: u64, steps: u64) -> u64 {
    add_cost(steps);
    (0..steps).fold(black_box(seed), |word, _| mix(word))
}

/// Adds up `chain(seed, steps)` for each seed, wrapping.
pub fn chains(seeds: impl Iterator<Item = u64>, steps: u64) -> u64 {
    seeds.fold(0, |sum, seed| sum.wrapping_add(chain(seed, steps)))
}

/// Spins until `due`. The delay after `due` is well under a microsecond.
pub fn spin_until(due: Instant) {
    add_time(due.saturating_duration_since(Instant::now()));
    while Instant::now() < due {
        spin_loop();
    }
}

/// Sleeps until `due`. Linux adds its timer slack, some 50 µs.
pub fn sleep_until(due: Instant) {
    let rest = due.saturating_duration_since(Instant::now());
    if rest > Duration::ZERO {
        thread::sleep(rest);
    }
}

/// Adds 1 to `arrivals`, and waits until `arrivals` is at least `all`.
pub(crate) fn meet(arrivals: &AtomicU64, all: u64) {
    // Relaxed: the count orders no other data, and a thread that sees an old count reads it again.
    arrivals.fetch_add(1, Relaxed);
    // With `std::sync::Barrier`, most of the latency would be the kernel's wake-up.
    let mut looks = 0_u32;
    while arrivals.load(Relaxed) < all {
        looks = looks.saturating_add(1);
        if looks < 100 {
            spin_loop();
        } else {
            // Another thread that has to arrive may need this CPU.
            thread::yield_now();
        }
    }
}

/// The number of CPUs that this process may use.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// A seeded sequence of random gaps, which is the same in each run.
pub struct Gaps {
    /// Whether the first request of a run comes without a gap.
    is_first_now: bool,
    seed: u64,
    shortest_ns: u64,
    longest_ns: u64,
}

impl Gaps {
    /// Creates gaps with uniformly random lengths from `shortest` to `longest`.
    ///
    /// # Panics
    /// If `shortest` is longer than `longest`.
    #[must_use]
    pub fn between(seed: u64, shortest: Duration, longest: Duration) -> Self {
        assert!(shortest <= longest, "gaps from {shortest:?} to {longest:?}");
        Self {
            is_first_now: false,
            seed,
            shortest_ns: nanoseconds(shortest),
            longest_ns: nanoseconds(longest),
        }
    }

    /// Creates gaps with uniformly random lengths from 0 to `longest`.
    #[must_use]
    pub fn up_to(seed: u64, longest: Duration) -> Self {
        Self::between(seed, Duration::ZERO, longest)
    }

    /// Creates gaps of `period`, except before the first request, which comes at once.
    #[must_use]
    pub fn every(period: Duration) -> Self {
        Self {
            is_first_now: true,
            ..Self::between(0, period, period)
        }
    }

    /// Returns the gap before each request of a run. Each run gets the same sequence.
    pub fn iter(&self) -> impl Iterator<Item = Duration> + use<> {
        let mut random = Random::new(self.seed);
        let (shortest, width) = (self.shortest_ns, self.longest_ns - self.shortest_ns + 1);
        let gaps =
            std::iter::repeat_with(move || Duration::from_nanos(shortest + random.below(width)));
        let first = self.is_first_now.then_some(Duration::ZERO);
        first.into_iter().chain(gaps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_depends_on_its_seed_and_on_every_step() {
        let words = [chain(1, 0), chain(1, 1), chain(1, 2), chain(2, 2)];
        assert_eq!(words, [1, mix(1), mix(mix(1)), mix(mix(2))]);
        assert_eq!(
            chains([1, 2].into_iter(), 2),
            words[2].wrapping_add(words[3])
        );
    }

    #[test]
    fn gaps_repeat_and_stay_within_their_bounds() {
        let (shortest, longest) = (Duration::from_nanos(3), Duration::from_nanos(5));
        let gaps = Gaps::between(1, shortest, longest);
        let run: Vec<Duration> = gaps.iter().take(100).collect();
        assert_eq!(run, gaps.iter().take(100).collect::<Vec<_>>());
        for bound in 3..=5 {
            assert!(run.contains(&Duration::from_nanos(bound)), "{bound}");
        }
        assert!(run.iter().all(|gap| (shortest..=longest).contains(gap)));
        let every: Vec<Duration> = Gaps::every(longest).iter().take(3).collect();
        assert_eq!(every, [Duration::ZERO, longest, longest]);
        assert!(
            Gaps::up_to(1, Duration::ZERO)
                .iter()
                .take(9)
                .all(|gap| gap.is_zero())
        );
    }

    #[test]
    fn nobody_leaves_a_meeting_before_all_have_arrived() {
        let arrivals = AtomicU64::new(0);
        thread::scope(|scope| {
            let first = scope.spawn(|| meet(&arrivals, 2));
            while arrivals.load(Relaxed) < 1 {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(5));
            assert!(!first.is_finished());
            meet(&arrivals, 2);
        });
        assert_eq!(arrivals.into_inner(), 2);
    }

    #[test]
    fn a_wait_ends_after_the_moment_and_a_past_moment_is_no_wait() {
        let due = Instant::now() + Duration::from_millis(2);
        spin_until(due);
        assert!(Instant::now() >= due);
        let due = Instant::now() + Duration::from_millis(2);
        sleep_until(due);
        assert!(Instant::now() >= due);
        sleep_until(due);
        spin_until(due);
    }
}
