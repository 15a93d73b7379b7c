//! Latencies of one kind. `note` records latencies in the timed region, and `end_run` adds them to
//! a histogram after the region.

use std::time::Duration;

use hdrhistogram::Histogram;
use protocol::Metric;

use crate::usage::nanoseconds;

const PERCENTILES: [(&str, f64); 4] =
    [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p99.9", 99.9)];

/// The longest latency that the histogram distinguishes from longer ones: an hour.
const LONGEST_NS: u64 = 3_600_000_000_000;

/// The metrics count longer latencies separately: a lost wake-up or a busy host may have caused
/// them.
const SLOW: Duration = Duration::from_millis(10);

/// The latencies of one kind of event.
pub struct Latencies {
    name: &'static str,
    noted: Vec<u64>,
    /// The latencies of all runs since the last [`Latencies::forget`], in ns.
    histogram: Histogram<u64>,
    slow: u64,
}

impl Latencies {
    /// Creates an empty record.
    ///
    /// # Panics
    /// Never: the bounds are in order.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        let histogram =
            Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds are in order");
        Self {
            name,
            noted: Vec::new(),
            histogram,
            slow: 0,
        }
    }

    /// Discards the latencies of a run that did not end, and makes room for `expected` latencies,
    /// so that recording that many does not allocate.
    pub fn begin_run(&mut self, expected: usize) {
        self.noted.clear();
        self.noted.reserve(expected);
    }

    /// Records one latency.
    pub fn note(&mut self, latency: Duration) {
        self.noted.push(nanoseconds(latency));
    }

    /// Adds one latency to the histogram at once, for callers that record an unlimited number of
    /// latencies.
    pub fn count(&mut self, latency: Duration) {
        self.histogram.saturating_record(nanoseconds(latency));
        self.slow += u64::from(latency > SLOW);
    }

    /// Adds the run that has ended to the histogram.
    pub fn end_run(&mut self) {
        for latency in self.noted.drain(..) {
            self.histogram.saturating_record(latency);
            self.slow += u64::from(u128::from(latency) > SLOW.as_nanos());
        }
    }

    /// Discards all runs, because they were warm-ups.
    pub fn forget(&mut self) {
        self.histogram.reset();
        self.slow = 0;
    }

    /// Adds the runs of `other`.
    ///
    /// # Panics
    /// Never: all histograms have the same bounds.
    pub fn absorb(&mut self, other: &Self) {
        self.histogram
            .add(&other.histogram)
            .expect("all histograms have the same bounds");
        self.slow += other.slow;
    }

    /// Returns [`Latencies::metrics`] and, as studies of servers do, mean and minimum in ns.
    #[must_use]
    pub fn summary(&self) -> Vec<(String, Metric)> {
        let mut metrics = self.metrics();
        if !metrics.is_empty() {
            for (suffix, value) in [
                ("mean", self.histogram.mean()),
                ("min", self.histogram.min() as f64),
            ] {
                let metric = Metric {
                    value,
                    unit: "ns".to_owned(),
                };
                metrics.push((format!("{}_{suffix}", self.name), metric));
            }
        }
        metrics
    }

    /// Returns percentiles and maximum of all runs in ns, and how many latencies exceeded 10 ms.
    /// The result is empty if there are no latencies.
    #[must_use]
    pub fn metrics(&self) -> Vec<(String, Metric)> {
        if self.histogram.is_empty() {
            return Vec::new();
        }
        let metric = |suffix: &str, value: u64, unit: &str| {
            (
                format!("{}_{suffix}", self.name),
                Metric {
                    value: value as f64,
                    unit: unit.to_owned(),
                },
            )
        };
        PERCENTILES
            .iter()
            .map(|(name, percentile)| {
                metric(name, self.histogram.value_at_percentile(*percentile), "ns")
            })
            .chain([
                metric("max", self.histogram.max(), "ns"),
                metric("over_10ms", self.slow, "times"),
            ])
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn run(latencies: &mut Latencies, microseconds: impl Iterator<Item = u64>) {
        latencies.begin_run(0);
        microseconds.for_each(|latency| latencies.note(Duration::from_micros(latency)));
        latencies.end_run();
    }

    fn values(latencies: &Latencies) -> BTreeMap<String, f64> {
        latencies
            .metrics()
            .into_iter()
            .map(|(name, metric)| (name, metric.value))
            .collect()
    }

    #[test]
    fn percentiles_of_a_thousand_known_latencies_are_right_within_two_per_mille() {
        let mut latencies = Latencies::new("latency");
        run(&mut latencies, 1_u64..501);
        run(&mut latencies, 501_u64..1_001);
        let values = values(&latencies);
        for (name, expected) in [
            ("p50", 5e5),
            ("p90", 9e5),
            ("p99", 9.9e5),
            ("p99.9", 9.99e5),
            ("max", 1e6),
        ] {
            let value = values[&format!("latency_{name}")];
            assert!(
                (value / expected - 1.0).abs() < 0.002,
                "{name}: {value}, not {expected}"
            );
        }
    }

    #[test]
    fn only_what_took_longer_than_ten_milliseconds_is_slow() {
        let mut latencies = Latencies::new("wait");
        run(
            &mut latencies,
            [9_999_u64, 10_000, 10_001, 5_000_000].into_iter(),
        );
        assert!((values(&latencies)["wait_over_10ms"] - 2.0).abs() < f64::EPSILON);
    }

    #[test]
    fn absorbed_runs_count_like_ones_own() {
        let (mut one, mut other) = (Latencies::new("latency"), Latencies::new("latency"));
        run(&mut one, [1_u64, 2].into_iter());
        run(&mut other, [30_000_u64].into_iter());
        one.absorb(&other);
        let values = values(&one);
        assert!((values["latency_over_10ms"] - 1.0).abs() < f64::EPSILON);
        assert!(
            (values["latency_p50"] / 2e3 - 1.0).abs() < 0.001,
            "{values:?}"
        );
        assert!(
            (values["latency_max"] / 3e7 - 1.0).abs() < 0.001,
            "{values:?}"
        );
    }

    #[test]
    fn forgotten_runs_and_unfinished_ones_are_not_counted() {
        let mut latencies = Latencies::new("latency");
        run(&mut latencies, [20_000_u64].into_iter());
        latencies.forget();
        assert!(latencies.metrics().is_empty());
        latencies.begin_run(1);
        latencies.note(Duration::from_secs(1));
        latencies.begin_run(1);
        run(&mut latencies, [7_u64].into_iter());
        assert!((values(&latencies)["latency_max"] / 7e3 - 1.0).abs() < 0.001);
    }
}
