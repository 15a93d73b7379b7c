//! Ticks and nanoseconds: what threads noted of their clocks every some milliseconds, compared.

use crate::Error;
use crate::file::{Recording, event_of};
use crate::layout::Event;

/// Clocks that differ by more than this, and by more than a hundredth of the time between, did not
/// go on evenly. A thread may lose its CPU between two clocks that it reads at once.
const JUMP_NS: f64 = 5e7;

/// The longest time that all threads together can have worked, so that sums of it are 64-bit
/// numbers: a century.
const LONGEST_NS: f64 = (1_u64 << 62) as f64;

/// How long ticks are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    ns_per_tick: f64,
    /// The time that one event costs the thread that writes it.
    pub(crate) event_ticks: u64,
}

impl Clock {
    /// The clock of `recording`, by the first and the last comparison in it.
    ///
    /// # Errors
    /// [`Error::ClockJumped`].
    pub(crate) fn of(recording: &Recording) -> Result<Self, Error> {
        let head = &recording.head;
        let told = 1e9 / head.ticks_per_s.max(1) as f64;
        let (mut first, mut last) = ((0, head.began_ns), (0, head.began_ns));
        for (number, thread) in recording.threads.iter().enumerate() {
            let (mut before, mut latest) = ((0, head.began_ns), 0);
            for &[word, value] in &thread.events {
                let Some((event, ticks)) = event_of(word) else {
                    continue;
                };
                let jumped = |jump_ns: f64| Error::ClockJumped {
                    thread: number,
                    at_ms: ticks as f64 * told / 1e6,
                    jump_ms: jump_ns / 1e6,
                };
                // An event without a time of its own repeats that of an event beside it.
                if ticks < latest {
                    return Err(jumped(-((latest - ticks) as f64) * told));
                }
                latest = ticks;
                if event == Event::Wall {
                    let wall = value.wrapping_sub(before.1).cast_signed() as f64;
                    let jump = (ticks - before.0) as f64 * told - wall;
                    if jump.abs() > JUMP_NS + wall.abs() / 100.0 {
                        return Err(jumped(jump));
                    }
                    before = (ticks, value);
                    first = if first.0 == 0 || ticks < first.0 {
                        before
                    } else {
                        first
                    };
                    last = if ticks > last.0 { before } else { last };
                }
            }
        }
        let (ticks, ns) = (last.0 - first.0, last.1.saturating_sub(first.1));
        // Over a shorter time, the measurement at the beginning is more accurate.
        let ns_per_tick = if ns > 100_000_000 {
            ns as f64 / ticks as f64
        } else {
            told
        };
        let lasts = recording.threads.iter().filter_map(|it| it.events.last());
        let ticks: f64 = lasts
            .filter_map(|[word, _]| event_of(*word))
            .map(|(_, ticks)| ticks as f64)
            .sum();
        if ticks * ns_per_tick > LONGEST_NS {
            return Err(Error::Foreign(format!(
                "with {} ticks in a second its threads ran for {:.0} years; record again",
                head.ticks_per_s,
                ticks * ns_per_tick / 1e9 / 86400.0 / 365.0
            )));
        }
        Ok(Self {
            ns_per_tick,
            event_ticks: head.event_milliticks.div_ceil(1000),
        })
    }

    /// Nanoseconds of so many ticks.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "2^56 ticks at most"
    )]
    pub(crate) fn ns(self, ticks: u64) -> u64 {
        (ticks as f64 * self.ns_per_tick).round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    #[test]
    fn a_clock_that_goes_back_or_away_from_the_other_one_is_told_with_thread_and_moment() {
        let good = synthetic::joins(3);
        assert!(Clock::of(&good).is_ok());
        let mut back = good.clone();
        back.threads[0].events.swap(3, 5);
        assert!(matches!(
            Clock::of(&back).unwrap_err(),
            Error::ClockJumped { thread: 0, .. }
        ));
        let mut away = good;
        let at = away.threads[0].events.last().unwrap()[0] & ((1 << 56) - 1);
        let wall = synthetic::event(Event::Wall, at, away.head.began_ns + at + 3_000_000_000);
        away.threads[0].events.push(wall);
        let error = Clock::of(&away).unwrap_err().to_string();
        assert!(error.contains("jumped by -3000 ms on thread 0"), "{error}");
    }

    #[test]
    fn a_long_recording_tells_how_long_ticks_are() {
        let mut recording = synthetic::joins(1);
        recording.head.event_milliticks = 1_001;
        for seconds in 1..=4 {
            let ticks = seconds * 1_000_000_000;
            let wall = recording.head.began_ns + ticks * 1001 / 1000;
            recording.threads[0]
                .events
                .push(synthetic::event(Event::Wall, ticks, wall));
        }
        let clock = Clock::of(&recording).unwrap();
        assert_eq!((clock.ns(1_000_000), clock.event_ticks), (1_001_000, 2));
    }
}
