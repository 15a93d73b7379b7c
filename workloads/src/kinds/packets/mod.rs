//! `packets`: a firewall that checksums packets from several sources. The model is a 2021 study of
//! queues and locks.
//!
//! A dispatcher takes packets from the sources in rotation, and passes them on through one bounded
//! queue per source. The threads of a trial are the dispatcher and its workers together.

mod anderson;
mod dispatcher;
mod locks;
mod pooled;
mod queued;
mod traffic;

use std::sync::Mutex;
use std::time::Duration;

use crate::machine::IS_SIMULATED;
use crate::workload::{Instance, Mismatch, Setup};
use anderson::Anderson;
use dispatcher::{HandOn, Report, Stop, dispatch};
use locks::{Mcs, Tas};
use pooled::Pooled;
use protocol::{Refusal, Values};
use queued::{LockFree, Serves, UnderLock};
use traffic::{Generator, Tally, Traffic};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let strategy = setup.values.word("strategy");
    if IS_SIMULATED && !["serial", "pool", "pool-batch"].contains(&strategy) {
        return Err(Refusal::new(format!(
            "strategy = {strategy}: the strategy's locks and queues are not simulated; ask for `pool` or `pool-batch`"
        )));
    }
    Ok(Box::new(Firewall::new(
        setup.seed,
        setup.values,
        setup.threads,
    )))
}

struct Serial;

impl HandOn for Serial {
    fn run(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report {
        let mut done = Tally::default();
        let dispatched = dispatch(traffic, stop, |_, packet| done.process(packet));
        Report { done, dispatched }
    }
}

struct Firewall {
    traffic: Traffic,
    values: Values,
    stop: Stop,
    threads: usize,
    /// The known answer, if the answer does not depend on the run.
    known: Option<Tally>,
    /// The queues and locks by which the dispatcher passes packets to the workers. `reset` builds
    /// them, so that the timed run does not allocate them.
    ready: Option<Box<dyn HandOn>>,
    report: Option<Report>,
}

impl Firewall {
    fn new(seed: u64, values: &Values, threads: usize) -> Self {
        let generator = match values.word("generator") {
            "uniform" => Generator::Uniform,
            "exponential" => Generator::Exponential,
            other => unreachable!("the row has no generator `{other}`"),
        };
        let stop = match values.word("stop") {
            "correctness" => Stop::AfterPackets(values.whole("packets-per-source")),
            "timed" => Stop::AfterTime(Duration::from_millis(values.whole("duration-ms"))),
            other => unreachable!("the row has no stop `{other}`"),
        };
        let sources = match values.count("sources") {
            // One of the threads is the dispatcher. A dispatcher without workers still has one
            // source.
            0 => (threads - 1).max(1),
            sources => sources,
        };
        let traffic = Traffic::new(seed, sources, generator, values.whole("words"));
        let known = match stop {
            Stop::AfterPackets(per_source) => {
                Some(first_packets(&traffic, per_source * sources as u64))
            }
            Stop::AfterTime(_) => None,
        };
        Self {
            traffic,
            values: values.clone(),
            stop,
            threads,
            known,
            ready: None,
            report: None,
        }
    }

    fn strategy(&self) -> Box<dyn HandOn> {
        let (sources, threads) = (self.traffic.sources(), self.threads);
        let depth = self.values.count("depth");
        let serves = match self.values.word("strategy") {
            "serial" => return Box::new(Serial),
            "lock-free" => return Box::new(LockFree::new(sources, depth)),
            "pool" => return Box::new(Pooled::single(sources, depth, threads)),
            "pool-batch" => return Box::new(Pooled::batched(sources, depth, threads)),
            "home-queue" => Serves::Own,
            "awesome" => Serves::Any,
            other => unreachable!("the row has no strategy `{other}`"),
        };
        match self.values.word("lock") {
            "mutex" => Box::new(UnderLock::<Mutex<_>>::new(sources, depth, threads, serves)),
            "tas" => Box::new(UnderLock::<Tas<_>>::new(sources, depth, threads, serves)),
            "mcs" => Box::new(UnderLock::<Mcs<_>>::new(sources, depth, threads, serves)),
            "anderson" => Box::new(UnderLock::<Anderson<_>>::new(
                sources, depth, threads, serves,
            )),
            other => unreachable!("the row has no lock `{other}`"),
        }
    }

    fn run(&mut self, strategy: Box<dyn HandOn>) -> u64 {
        let report = strategy.run(&self.traffic, self.stop);
        self.report.insert(report).done.packets
    }
}

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
        self.ready = Some(self.strategy());
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(Box::new(Serial))
    }

    fn run_parallel(&mut self) -> u64 {
        let strategy = self.ready.take().expect("a run begins with a reset");
        self.run(strategy)
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
            // The number of packets differs from run to run.
            Stop::AfterTime(_) => "every packet dispatched was checksummed as by serial".to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use protocol::Size;
    use rayon::ThreadPoolBuilder;

    use super::*;

    fn firewall(threads: usize, explicit: &[(&str, &str)]) -> Firewall {
        let explicit: BTreeMap<String, String> = explicit
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let values = protocol::workload("packets")
            .resolve(Size::Tiny, &explicit, false)
            .unwrap();
        Firewall::new(1, &values, threads)
    }

    #[test]
    fn a_lost_or_a_wrong_checksum_is_rejected_in_both_ways_to_stop() {
        for stop in ["correctness", "timed"] {
            let mut firewall = firewall(1, &[("stop", stop)]);
            assert!(firewall.check().is_err(), "nothing ran");
            firewall.reset();
            firewall.run_sequential();
            assert!(firewall.check().is_ok());
            let good = firewall.report.unwrap();
            for (packets, checksums) in [(0, 1), (1, 0)] {
                let done = Tally {
                    packets: good.done.packets - packets,
                    checksums: good.done.checksums + checksums,
                };
                firewall.report = Some(Report { done, ..good });
                assert!(firewall.check().is_err(), "{done:?}");
            }
        }
    }

    const STRATEGIES: [(&str, &str); 12] = [
        ("serial", "mutex"),
        ("lock-free", "mutex"),
        ("home-queue", "tas"),
        ("home-queue", "mutex"),
        ("home-queue", "mcs"),
        ("home-queue", "anderson"),
        ("awesome", "tas"),
        ("awesome", "mutex"),
        ("awesome", "mcs"),
        ("awesome", "anderson"),
        ("pool", "mutex"),
        ("pool-batch", "mutex"),
    ];

    #[test]
    fn no_packet_is_lost_or_done_twice_whatever_strategy_lock_and_shape() {
        for (threads, depth) in [(1, "1"), (1, "32"), (2, "1"), (3, "2"), (3, "32"), (6, "2")] {
            let pool = ThreadPoolBuilder::new().num_threads(threads);
            let pool = pool.build().unwrap();
            for generator in ["uniform", "exponential"] {
                for sources in ["0", "1", "2", "5"] {
                    for (strategy, lock) in STRATEGIES {
                        let mut firewall = firewall(
                            threads,
                            &[
                                ("strategy", strategy),
                                ("lock", lock),
                                ("depth", depth),
                                ("sources", sources),
                                ("generator", generator),
                            ],
                        );
                        firewall.reset();
                        pool.install(|| firewall.run_parallel());
                        firewall.check().unwrap_or_else(|wrong| {
                            panic!("{strategy} {lock} {threads} {depth} {sources}: {wrong:?}")
                        });
                    }
                }
            }
        }
    }

    #[test]
    fn every_strategy_stops_in_time_with_packets_done() {
        let pool = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        for (strategy, lock) in STRATEGIES {
            let timed = [
                ("stop", "timed"),
                ("duration-ms", "5"),
                ("strategy", strategy),
                ("lock", lock),
            ];
            let mut firewall = firewall(3, &timed);
            firewall.reset();
            assert!(pool.install(|| firewall.run_parallel()) > 0, "{strategy}");
            firewall.check().unwrap();
        }
    }
}
