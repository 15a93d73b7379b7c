//! The longest service time in each part of a run. These times show how long a server takes to
//! reach a steady state.

use std::time::{Duration, Instant};

use protocol::Metric;

use crate::metrics::metric;
use workloads::usage::nanoseconds;

/// The arrival time and the service time of a request.
pub(super) type Noted = (Instant, Duration);

/// Each run is split into parts with equally many requests, in order of arrival.
pub(super) struct Parts {
    /// For each part, the sum over runs of the longest time in ns.
    longest: Vec<f64>,
    runs: u32,
}

impl Parts {
    pub(super) fn new(count: usize) -> Self {
        Self {
            longest: vec![0.0; count],
            runs: 0,
        }
    }

    /// Adds a run. If there are fewer requests than parts, some parts have no request and count as
    /// 0 ns.
    pub(super) fn add(&mut self, mut noted: Vec<Noted>) {
        noted.sort_unstable();
        self.runs += 1;
        let count = self.longest.len();
        for (number, sum) in self.longest.iter_mut().enumerate() {
            let place = |number: usize| number * noted.len() / count;
            let own = &noted[place(number)..place(number + 1)];
            *sum += own
                .iter()
                .map(|(_, took)| nanoseconds(*took) as f64)
                .fold(0.0, f64::max);
        }
    }

    /// Returns the mean over runs of each part's longest time: `service_part_01_max`, …
    pub(super) fn metrics(&self) -> impl Iterator<Item = (String, Metric)> {
        let parts = self.longest.iter().enumerate().filter(|_| self.runs > 0);
        parts.map(|(number, sum)| {
            let name = format!("service_part_{:02}_max", number + 1);
            metric(&name, sum / f64::from(self.runs), "ns")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_cut_into_parts_by_order_of_arrival_whoever_noted_first() {
        let begun = Instant::now();
        let after = |ms, us| {
            let arrived = begun + Duration::from_millis(ms);
            (arrived, Duration::from_micros(us))
        };
        let mut parts = Parts::new(2);
        assert_eq!(parts.metrics().count(), 0);
        parts.add(vec![after(3, 1), after(4, 3), after(1, 250), after(2, 50)]);
        parts.add(vec![after(1, 350), after(2, 50), after(3, 1), after(4, 3)]);
        let found: Vec<_> = parts.metrics().map(|(name, it)| (name, it.value)).collect();
        let expected = [
            ("service_part_01_max".to_owned(), 300e3),
            ("service_part_02_max".to_owned(), 3e3),
        ];
        assert_eq!(found, expected);
    }
}
