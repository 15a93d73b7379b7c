//! Measures the cost of accesses, fences, sleeps and wake-ups on the machine that runs it. The
//! names of these cost parameters are the keys in the file of a simulated machine of `manycore`.
//!
//! It is a separate crate so that it is optimized even if the calling program is not.

pub mod affinity;
pub mod core_to_core;
mod lines;
mod memory;
mod own;
mod price;
pub mod stats;
mod system;

use price::on;
pub use price::{Cpu, Price};

/// Number of rounds in which everything is measured; the median counts, because disturbances of a
/// host last longer than a window.
const ROUNDS: usize = 5;

/// Every cost parameter that can be measured with `cpus`, in some seconds; others are left out. Run
/// it while nothing else runs.
#[must_use]
pub fn all(cpus: &[Cpu]) -> Vec<Price> {
    medians(cpus, ROUNDS)
}

fn medians(cpus: &[Cpu], rounds: usize) -> Vec<Price> {
    let rounds: Vec<Vec<Price>> = (0..rounds).map(|_| round(cpus)).collect();
    let median_of = |price: &Price| {
        let values = rounds
            .iter()
            .flatten()
            .filter(|it| it.key == price.key)
            .map(|it| it.value);
        let value = stats::median(&mut values.collect::<Vec<f64>>())?;
        Some(Price {
            value,
            ..price.clone()
        })
    };
    rounds
        .iter()
        .max_by_key(|round| round.len())
        .into_iter()
        .flatten()
        .filter_map(median_of)
        .collect()
}

fn round(cpus: &[Cpu]) -> Vec<Price> {
    let Some(first) = cpus.first() else {
        return Vec::new();
    };
    let own = on(first.number, own::prices).unwrap_or_default();
    let value = |key: &str| {
        own.iter()
            .find(|price| price.key == key)
            .map(|price| price.value)
    };
    let lines = value("hit-ns").zip(value("read-modify-write-ns"));
    let lines = lines
        .map(|(hit, rmw)| lines::prices(cpus, hit, rmw))
        .unwrap_or_default();
    let mut prices = [own, lines, system::prices(cpus), memory::prices(cpus)].concat();
    prices.retain(|price| price.value.is_finite());
    prices
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::allowed_cpus;

    #[test]
    fn every_probe_gives_a_finite_price_that_is_not_negative_and_has_a_source() {
        let numbers = allowed_cpus().into_iter();
        let cpus: Vec<Cpu> = numbers
            .map(|number| Cpu {
                number,
                cluster: 0,
                socket: 0,
            })
            .take(2)
            .collect();
        let prices = medians(&cpus, 2);
        assert!(prices.len() >= 7, "{prices:?}");
        for (place, price) in prices.iter().enumerate() {
            assert!(price.value.is_finite() && price.value >= 0.0, "{price:?}");
            assert!(!price.how.is_empty(), "{price:?}");
            assert!(
                prices[..place].iter().all(|other| other.key != price.key),
                "{price:?} twice"
            );
        }
        let always = [
            "hit-ns",
            "read-modify-write-ns",
            "fence-ns",
            "pause-ns",
            "yield-ns",
        ];
        for key in always {
            let price = prices.iter().find(|price| price.key == key).expect(key);
            assert!(price.value > 0.0, "{price:?}");
        }
    }

    #[test]
    fn a_cpu_that_may_not_be_used_gives_no_price_and_no_hang() {
        assert_eq!(all(&[]), []);
        let absent = Cpu {
            number: usize::MAX,
            cluster: 0,
            socket: 0,
        };
        let measured = medians(&[absent, absent], 1);
        assert!(
            measured.iter().all(|price| price.value.is_finite()),
            "{measured:?}"
        );
        assert!(
            measured.iter().all(|price| price.key != "hit-ns"),
            "{measured:?}"
        );
    }
}
