//! `packets`: a firewall that checksums packets from several sources, after a 2021 study of queues
//! and locks.
//!
//! A dispatcher takes packets from the sources in turn and hands them on through one bounded queue
//! per source. The threads of a trial are the dispatcher and its workers together, as in the study.
//! Files: `traffic.rs` makes packets and says what one costs, `dispatcher.rs` stops in time,
//! `strategies/` hands packets on, `locks/` guards queues.

mod dispatcher;
mod locks;
mod strategies;
mod traffic;

use std::time::Duration;

use crate::machine::IS_SIMULATED;
use crate::workload::{Instance, Mismatch, Setup};
use dispatcher::{Report, Stop};
use protocol::{Refusal, Values};
use strategies::{Equipment, LockKind, Strategy};
use traffic::{Generator, Tally, Traffic};

/// Prepares the workload `packets`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let firewall = Firewall::new(setup.seed, setup.values, setup.threads);
    if IS_SIMULATED && !firewall.strategy.is_simulated() {
        return Err(Refusal::new(format!(
            "strategy = {}: its locks and queues are not simulated; ask for `pool` or `pool-batch`",
            setup.values.word("strategy")
        )));
    }
    Ok(Box::new(firewall))
}

struct Firewall {
    traffic: Traffic,
    strategy: Strategy,
    stop: Stop,
    depth: usize,
    threads: usize,
    /// The answer if it does not depend on the run.
    known: Option<Tally>,
    equipment: Equipment,
    report: Option<Report>,
}

impl Firewall {
    fn new(seed: u64, values: &Values, threads: usize) -> Self {
        let generator = match values.word("generator") {
            "exponential" => Generator::Exponential,
            _ => Generator::Uniform,
        };
        let lock = match values.word("lock") {
            "tas" => LockKind::Tas,
            "mcs" => LockKind::Mcs,
            "anderson" => LockKind::Anderson,
            _ => LockKind::Mutex,
        };
        let strategy = match values.word("strategy") {
            "serial" => Strategy::Serial,
            "lock-free" => Strategy::LockFree,
            "home-queue" => Strategy::HomeQueue(lock),
            "awesome" => Strategy::Awesome(lock),
            "pool-batch" => Strategy::PoolBatch,
            _ => Strategy::Pool,
        };
        let stop = match values.word("stop") {
            "timed" => Stop::AfterTime(Duration::from_millis(values.whole("duration-ms"))),
            _ => Stop::AfterPackets(values.whole("packets-per-source")),
        };
        let sources = match values.count("sources") {
            // One of the threads is the dispatcher. Alone it still has a source.
            0 => (threads - 1).max(1),
            sources => sources,
        };
        let traffic = Traffic::new(seed, sources, generator, values.whole("words"));
        let known = match stop {
            Stop::AfterPackets(per_source) => Some(first_packets(
                &traffic,
                per_source * traffic.sources() as u64,
            )),
            Stop::AfterTime(_) => None,
        };
        let depth = values.count("depth");
        Self {
            traffic,
            strategy,
            stop,
            depth,
            threads,
            known,
            equipment: Equipment::None,
            report: None,
        }
    }
}

/// The known answer: the first packets in the dispatcher's order, one after the other, without
/// queues.
fn first_packets(traffic: &Traffic, count: u64) -> Tally {
    let mut tally = Tally::default();
    for number in 0..count {
        tally.process(traffic.in_turn(number).1);
    }
    tally
}

impl Instance for Firewall {
    fn reset(&mut self) {
        self.report = None;
        self.equipment = self
            .strategy
            .equipment(self.traffic.sources(), self.depth, self.threads);
    }

    fn run_sequential(&mut self) -> u64 {
        let report = strategies::serial(&self.traffic, self.stop);
        self.report.insert(report).done.packets
    }

    fn run_parallel(&mut self) -> u64 {
        let equipment = std::mem::replace(&mut self.equipment, Equipment::None);
        let report = self
            .strategy
            .run(&self.traffic, self.stop, self.depth, equipment);
        self.report.insert(report).done.packets
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe = |tally: Tally| {
            format!(
                "{} packets, sum of checksums {}",
                tally.packets, tally.checksums
            )
        };
        let Some(report) = self.report else {
            return Err(Mismatch {
                expected: "a report".to_owned(),
                actual: "none".to_owned(),
            });
        };
        let expected = self
            .known
            .unwrap_or_else(|| first_packets(&self.traffic, report.dispatched));
        let answer = Mismatch::unless_equal(&describe(expected), &describe(report.done))?;
        Ok(match self.stop {
            Stop::AfterPackets(_) => answer,
            // How many there were is a quantity of its own, and differs from run to run.
            Stop::AfterTime(_) => "every packet dispatched was checksummed as by serial".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use protocol::{Accepts, Size};

    use super::*;

    fn firewall(explicit: &[(&str, &str)]) -> Firewall {
        let explicit: BTreeMap<String, String> = explicit
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let values = protocol::workload("packets")
            .resolve(Size::Tiny, &explicit, false)
            .unwrap();
        Firewall::new(1, &values, 1)
    }

    #[test]
    fn a_lost_or_a_wrong_checksum_is_rejected_in_both_ways_to_stop() {
        for stop in ["correctness", "timed"] {
            let mut firewall = firewall(&[("stop", stop)]);
            assert!(firewall.check().is_err(), "nothing ran");
            firewall.reset();
            firewall.run_sequential();
            assert!(firewall.check().is_ok());
            let good = firewall.report.unwrap();
            firewall.report = Some(Report {
                done: Tally {
                    checksums: good.done.checksums + 1,
                    ..good.done
                },
                ..good
            });
            assert!(firewall.check().is_err(), "wrong sum");
            firewall.report = Some(Report {
                done: Tally {
                    packets: good.done.packets - 1,
                    ..good.done
                },
                ..good
            });
            assert!(firewall.check().is_err(), "lost packet");
        }
    }

    #[test]
    fn every_word_of_every_choice_means_something_of_its_own() {
        let meaning = |name: &str| -> Vec<String> {
            let Accepts::OneOf(words) = &protocol::workload("packets")
                .parameter(name)
                .unwrap()
                .accepts
            else {
                panic!("{name} is no choice")
            };
            words
                .iter()
                .map(|word| {
                    let firewall = firewall(&[("strategy", "awesome"), (name, word)]);
                    format!(
                        "{:?} {:?} {:?}",
                        firewall.strategy, firewall.stop, firewall.traffic
                    )
                })
                .collect()
        };
        for (name, words) in [("strategy", 6), ("lock", 4), ("generator", 2), ("stop", 2)] {
            let mut meanings = meaning(name);
            meanings.sort();
            meanings.dedup();
            assert_eq!(meanings.len(), words, "{name}: {meanings:?}");
        }
    }

    #[test]
    fn with_sources_0_every_worker_has_one() {
        let sources = |threads| {
            let explicit = [("sources".to_owned(), "0".to_owned())].into();
            let values = protocol::workload("packets")
                .resolve(Size::Tiny, &explicit, false)
                .unwrap();
            Firewall::new(1, &values, threads).traffic.sources()
        };
        assert_eq!([1, 2, 3, 14].map(sources), [1, 1, 2, 13]);
    }
}
