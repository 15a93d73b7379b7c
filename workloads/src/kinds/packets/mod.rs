//! `packets`: a firewall that checksums packets from several sources, after a 2021 study of queues
//! and locks.
//!
//! A dispatcher takes packets from the sources in turn and hands them on through one bounded queue
//! per source. The threads of a trial are the dispatcher and its workers together, as in the study.
//! Files: `traffic.rs` makes packets and says what one costs, `dispatcher.rs` stops in time,
//! `strategies.rs` hands packets on.

mod dispatcher;
mod strategies;
mod traffic;

use std::time::Duration;

use crate::parameters::{Accepts, Parameter, Values};
use crate::workload::{
    Description, Instance, Mismatch, Refusal, Setup, Size, SizeOverrides, Workload,
};
use dispatcher::Stop;
use strategies::{PoolCounters, Queues, Report, Strategy};
use traffic::{Generator, Tally, Traffic};

static DESCRIPTION: Description = Description {
    name: "packets",
    summary: "checksums packets from several sources, one dispatcher, bounded queues",
    stresses: "one producer of many small jobs, back-pressure, skewed streams",
    work_unit: "packets",
    input: None,
    parameters: &[
        Parameter {
            name: "strategy",
            summary: "who computes the checksums; only `pool` uses the scheduler",
            accepts: Accepts::OneOf(&["pool", "lock-free", "awesome", "serial"]),
            default: "pool",
            is_replaced_by_input: false,
        },
        Parameter {
            name: "lock",
            summary: "lock of the queues in `awesome`",
            accepts: Accepts::OneOf(&["mutex"]),
            default: "mutex",
            is_replaced_by_input: false,
        },
        Parameter {
            name: "generator",
            summary: "how work varies: alike in all sources, or skewed",
            accepts: Accepts::OneOf(&["uniform", "exponential"]),
            default: "uniform",
            is_replaced_by_input: false,
        },
        Parameter {
            name: "sources",
            summary: "sources of packets, each with a queue",
            accepts: Accepts::Whole { min: 1, max: 4096 },
            // Shared evenly by 1, 2, 3, 4, 6 and 12 workers.
            default: "12",
            is_replaced_by_input: false,
        },
        Parameter {
            name: "depth",
            summary: "packets that one queue holds",
            accepts: Accepts::Whole { min: 1, max: 1 << 20 },
            // The study's choice; 8 reproduces its bottleneck.
            default: "32",
            is_replaced_by_input: false,
        },
        Parameter {
            name: "words",
            summary: "mean 16-bit words per packet (about a nanosecond each)",
            accepts: Accepts::Whole { min: 1, max: 1 << 32 },
            // The study's smallest, where handing on costs most.
            default: "1000",
            is_replaced_by_input: false,
        },
        Parameter {
            name: "stop",
            summary: "after a number of packets with a known sum, or after a time",
            accepts: Accepts::OneOf(&["correctness", "timed"]),
            default: "correctness",
            is_replaced_by_input: false,
        },
        Parameter {
            name: "packets-per-source",
            summary: "packets from each source with stop = correctness",
            accepts: Accepts::Whole { min: 1, max: 1 << 40 },
            default: "1000",
            is_replaced_by_input: false,
        },
        Parameter {
            name: "duration-ms",
            summary: "milliseconds until the dispatcher stops with stop = timed",
            accepts: Accepts::Whole { min: 1, max: 3_600_000 },
            default: "2000",
            is_replaced_by_input: false,
        },
    ],
    sizes: &[
        SizeOverrides {
            size: Size::Tiny,
            overrides: &[("packets-per-source", "20"), ("words", "100"), ("duration-ms", "3")],
        },
        SizeOverrides {
            size: Size::Small,
            overrides: &[("packets-per-source", "1800"), ("duration-ms", "25")],
        },
        SizeOverrides {
            size: Size::Medium,
            overrides: &[("packets-per-source", "18000"), ("duration-ms", "250")],
        },
        SizeOverrides { size: Size::Large, overrides: &[("packets-per-source", "180000")] },
    ],
};

/// The workload `packets`.
#[derive(Clone, Copy, Debug)]
pub struct Packets;

impl Workload for Packets {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Firewall::new(setup.seed, setup.values, setup.threads)))
    }
}

/// What a run needs, made anew before each.
enum Equipment {
    None,
    Queues(Queues),
    Counters(PoolCounters),
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
        let strategy = match values.word("strategy") {
            "serial" => Strategy::Serial,
            "lock-free" => Strategy::LockFree,
            "awesome" => Strategy::Awesome,
            _ => Strategy::Pool,
        };
        let stop = match values.word("stop") {
            "timed" => Stop::AfterTime(Duration::from_millis(values.whole("duration-ms"))),
            _ => Stop::AfterPackets(values.whole("packets-per-source")),
        };
        let traffic = Traffic::new(seed, values.count("sources"), generator, values.whole("words"));
        let known = match stop {
            Stop::AfterPackets(per_source) => {
                Some(first_packets(&traffic, per_source * traffic.sources() as u64))
            }
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
        self.equipment = match self.strategy {
            Strategy::Serial => Equipment::None,
            Strategy::LockFree | Strategy::Awesome => {
                Equipment::Queues(Queues::new(self.traffic.sources(), self.depth))
            }
            Strategy::Pool => {
                Equipment::Counters(PoolCounters::new(self.traffic.sources(), self.threads))
            }
        };
    }

    fn run_sequential(&mut self) -> u64 {
        let report = strategies::serial(&self.traffic, self.stop);
        self.report.insert(report).done.packets
    }

    fn run_parallel(&mut self) -> u64 {
        let (traffic, stop) = (&self.traffic, self.stop);
        let report = match std::mem::replace(&mut self.equipment, Equipment::None) {
            Equipment::None => strategies::serial(traffic, stop),
            Equipment::Queues(queues) => {
                strategies::through_queues(self.strategy, traffic, stop, queues)
            }
            Equipment::Counters(counters) => strategies::pool(traffic, stop, self.depth, &counters),
        };
        self.report.insert(report).done.packets
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let describe = |tally: Tally| {
            format!("{} packets, sum of checksums {}", tally.packets, tally.checksums)
        };
        let Some(report) = self.report else {
            return Err(Mismatch { expected: "a report".to_owned(), actual: "none".to_owned() });
        };
        let expected =
            self.known.unwrap_or_else(|| first_packets(&self.traffic, report.dispatched));
        let answer = Mismatch::unless_equal(&describe(expected), &describe(report.done))?;
        Ok(match self.stop {
            Stop::AfterPackets(_) => answer,
            // How many there were is a figure of its own, and differs from run to run.
            Stop::AfterTime(_) => "every packet dispatched was checksummed as by serial".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn firewall(explicit: &[(&str, &str)]) -> Firewall {
        let explicit: BTreeMap<String, String> = explicit
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let values = Values::resolve(&DESCRIPTION, Size::Tiny, &explicit, false).unwrap();
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
                done: Tally { checksums: good.done.checksums + 1, ..good.done },
                ..good
            });
            assert!(firewall.check().is_err(), "wrong sum");
            firewall.report = Some(Report {
                done: Tally { packets: good.done.packets - 1, ..good.done },
                ..good
            });
            assert!(firewall.check().is_err(), "lost packet");
        }
    }

    #[test]
    fn every_word_of_every_choice_means_something_of_its_own() {
        let strategies: Vec<Strategy> = ["pool", "lock-free", "awesome", "serial"]
            .map(|word| firewall(&[("strategy", word)]).strategy)
            .to_vec();
        assert_eq!(
            strategies,
            [Strategy::Pool, Strategy::LockFree, Strategy::Awesome, Strategy::Serial]
        );
        assert_ne!(firewall(&[("stop", "timed")]).stop, firewall(&[("stop", "correctness")]).stop);
    }
}
