//! Service times in the order of requests. They show how long a server takes to reach a steady
//! state.

use std::time::{Duration, Instant};

use protocol::Metric;

use workloads::usage::nanoseconds;

/// The arrival time and the service time of a request.
pub(super) type Noted = (Instant, Duration);

/// Runs, each split into parts with equally many requests, in order of arrival.
pub(super) struct Parts {
    parts: Vec<Part>,
    runs: u32,
}

#[derive(Clone, Default)]
struct Part {
    /// Sum over runs of the mean, in ns.
    means: f64,
    /// Sum over runs of the longest, in ns.
    longest: f64,
}

impl Parts {
    pub(super) fn new(count: usize) -> Self {
        Self {
            parts: vec![Part::default(); count],
            runs: 0,
        }
    }

    /// Adds a run. If there are fewer requests than parts, some parts have no request and count as
    /// no time.
    pub(super) fn add(&mut self, mut noted: Vec<Noted>) {
        noted.sort_unstable();
        self.runs += 1;
        let count = self.parts.len();
        for (number, part) in self.parts.iter_mut().enumerate() {
            let place = |number: usize| number * noted.len() / count;
            let own = &noted[place(number)..place(number + 1)];
            let times = || own.iter().map(|(_, took)| nanoseconds(*took) as f64);
            part.means += times().sum::<f64>() / own.len().max(1) as f64;
            part.longest += times().fold(0.0, f64::max);
        }
    }

    /// Returns the mean over runs of each part's mean and longest time: `service_part_01_mean`,
    /// `service_part_01_max`, …
    pub(super) fn metrics(&self) -> Vec<(String, Metric)> {
        if self.runs == 0 {
            return Vec::new();
        }
        let parts = self.parts.iter().enumerate();
        parts
            .flat_map(|(number, part)| {
                [("mean", part.means), ("max", part.longest)].map(|(ending, sum)| {
                    let value = sum / f64::from(self.runs);
                    let name = format!("service_part_{:02}_{ending}", number + 1);
                    (
                        name,
                        Metric {
                            value,
                            unit: "ns".to_owned(),
                        },
                    )
                })
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_run_is_cut_into_parts_by_order_of_arrival_whoever_noted_first() {
        let begun = Instant::now();
        let after = |ms, took_us| {
            (
                begun + Duration::from_millis(ms),
                Duration::from_micros(took_us),
            )
        };
        let mut parts = Parts::new(2);
        parts.add(vec![after(3, 1), after(4, 3), after(1, 250), after(2, 50)]);
        parts.add(vec![after(1, 350), after(2, 50), after(3, 1), after(4, 3)]);
        let found: BTreeMap<String, f64> = parts
            .metrics()
            .into_iter()
            .map(|(name, metric)| (name, metric.value))
            .collect();
        let expected = [
            ("service_part_01_max", 300e3),
            ("service_part_01_mean", 175e3),
            ("service_part_02_max", 3e3),
            ("service_part_02_mean", 2e3),
        ];
        assert_eq!(
            found,
            expected
                .map(|(name, value)| (name.to_owned(), value))
                .into()
        );
    }

    #[test]
    fn without_a_run_or_without_parts_nothing_is_told() {
        assert!(Parts::new(3).metrics().is_empty());
        let mut none = Parts::new(0);
        none.add(vec![(Instant::now(), Duration::ZERO)]);
        assert!(none.metrics().is_empty());
    }
}
