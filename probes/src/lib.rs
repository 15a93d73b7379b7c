//! Measures the cost of accesses, fences, sleeps and wake-ups on the machine that runs the probes.
//! Each cost has the name of its key in a file of `machines/`. The probes are a separate crate so
//! that they are optimized even if the calling program is not.

pub mod affinity;
pub mod core_to_core;
mod cost;
mod lines;
mod memory;
mod own;
pub mod stats;
mod system;

use cost::on;
pub use cost::{Cost, Cpu};

/// Number of rounds. Each round measures every cost. The result is the middle value of the rounds,
/// because disturbances of a host last longer than a window of a measurement.
const ROUNDS: usize = 5;

/// Measures every cost parameter that can be measured with `cpus`, and leaves out the other
/// parameters. The measurements take some seconds. Call this while no other program runs.
#[must_use]
pub fn all(cpus: &[Cpu]) -> Vec<Cost> {
    let rounds: Vec<Vec<Cost>> = (0..ROUNDS).map(|_| round(cpus)).collect();
    middles(&rounds)
}

/// Returns the middle value of each cost that a round measured. Of two middle values, takes the
/// lower one, because their mean is not a whole number for a count. A disturbed round may lack a
/// cost.
fn middles(rounds: &[Vec<Cost>]) -> Vec<Cost> {
    let middle = |cost: &Cost| {
        let same = rounds.iter().flatten().filter(|it| it.key == cost.key);
        let mut same: Vec<&Cost> = same.collect();
        same.sort_by(|one, other| one.value.total_cmp(&other.value));
        same[(same.len() - 1) / 2].clone()
    };
    let most = rounds.iter().max_by_key(|round| round.len());
    most.into_iter().flatten().map(middle).collect()
}

fn round(cpus: &[Cpu]) -> Vec<Cost> {
    let Some(first) = cpus.first() else {
        return Vec::new();
    };
    let own = on(first.number, own::costs).unwrap_or_default();
    let value = |key: &str| Some(own.iter().find(|cost| cost.key == key)?.value);
    let lines = value("hit-ns").zip(value("read-modify-write-ns"));
    let lines = lines.map(|(hit, rmw)| lines::costs(cpus, hit, rmw));
    let lines = lines.unwrap_or_default();
    let mut costs = [own, lines, system::costs(cpus), memory::costs(cpus)].concat();
    costs.retain(|cost| cost.value.is_finite());
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity::allowed_cpus;

    fn cpu(number: usize) -> Cpu {
        Cpu {
            number,
            cluster: 0,
            socket: 0,
        }
    }

    #[test]
    fn every_probe_gives_a_finite_cost_that_is_not_negative_and_has_a_source() {
        let cpus: Vec<Cpu> = allowed_cpus().into_iter().take(2).map(cpu).collect();
        let costs = middles(&[round(&cpus), round(&cpus)]);
        assert!(costs.len() >= 7, "{costs:?}");
        for (place, cost) in costs.iter().enumerate() {
            assert!(cost.value.is_finite() && cost.value >= 0.0, "{cost:?}");
            assert!(!cost.how.is_empty(), "{cost:?}");
            assert!(
                costs[..place].iter().all(|other| other.key != cost.key),
                "{cost:?} twice"
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
            let cost = costs.iter().find(|cost| cost.key == key).expect(key);
            assert!(cost.value > 0.0, "{cost:?}");
        }
    }

    #[test]
    fn a_count_stays_whole_if_a_disturbed_round_lacks_it() {
        let run = |value| vec![Cost::new("run", value, "so")];
        assert_eq!(middles(&[run(16.0), vec![], run(15.0)]), run(15.0));
        assert_eq!(middles(&[run(1.0), run(9.0), run(2.0)]), run(2.0));
    }

    #[test]
    fn a_cpu_that_may_not_be_used_gives_no_cost_and_no_hang() {
        assert_eq!(all(&[]), []);
        let measured = round(&[cpu(usize::MAX); 2]);
        let is_possible = |cost: &Cost| cost.value.is_finite() && cost.key != "hit-ns";
        assert!(measured.iter().all(is_possible), "{measured:?}");
    }
}
