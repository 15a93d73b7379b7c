//! Server and clients together: run after run, each compared with the known answers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal, Values};
use rayon::ThreadPool;

use super::clients::{Load, Pace, Report};
use super::parts::Parts;
use super::plan::{Mix, Plan, Summary};
use super::service::{self, KeyValue, Measured};
use super::store::{Guard, Store};
use super::{Arrangement, guard};
use crate::descriptors;
use crate::net::{Exchange, Handlers};
use workloads::workload::{Mismatch, Setup};

/// The most requests of a run: their known answers are in memory, some 100 bytes each.
const MAX_REQUESTS: usize = 10_000_000;

/// The server, its clients and the known answers.
pub(super) struct Trade {
    plan: Plan,
    arrangement: Arrangement,
    guard: Guard,
    pace: Pace,
    clients: usize,
    parts: usize,
    total: Total,
}

/// Measurements since the warm-up.
struct Total {
    seen: Report,
    measured: Measured,
    parts: Parts,
}

impl Total {
    fn new(parts: usize) -> Self {
        Self {
            seen: Report::nothing(),
            measured: Measured::default(),
            parts: Parts::new(parts),
        }
    }
}

impl Trade {
    pub(super) fn new(setup: &Setup<'_>) -> Result<Self, Refusal> {
        let values: &Values = setup.values;
        let (sessions, requests) = (values.count("sessions"), values.count("requests"));
        if sessions.saturating_mul(requests) > MAX_REQUESTS {
            return Err(Refusal::new(format!(
                "workload `kv`: sessions = {sessions} times requests = {requests} are more than \
                 {MAX_REQUESTS}, whose answers fit in memory; ask for fewer"
            )));
        }
        let clients = values.count("clients");
        descriptors::check("kv", "clients", clients)?;
        let mix = Mix {
            sessions,
            requests,
            writes_percent: values.whole("writes-percent"),
            value_bytes: values.count("value-bytes"),
        };
        let parts = values.count("parts");
        Ok(Self {
            plan: Plan::new(setup.seed, mix),
            arrangement: Arrangement::of(values, setup.threads),
            guard: guard(values),
            pace: match values.word("load") {
                "open" => Pace::Open {
                    rate: values.whole("rate"),
                },
                _ => Pace::Closed,
            },
            clients,
            parts,
            total: Total::new(parts),
        })
    }
}

impl Exchange for Trade {
    type Service = KeyValue;
    type Seen = Report;

    const NAME: &'static str = "kv";

    /// Creates a server with an empty store, which the run fills.
    fn service(&self) -> KeyValue {
        let store = Store::new(self.guard);
        KeyValue::new(store, self.arrangement.threads, self.parts > 0)
    }

    fn handlers<'a>(&self, pool: &'a ThreadPool) -> Handlers<'a> {
        self.arrangement.handlers(pool)
    }

    fn clients(&self) -> usize {
        self.clients
    }

    fn connections(&self) -> usize {
        self.plan.sessions.len()
    }

    fn client(&self, number: usize, address: SocketAddr, begun: Instant) -> Report {
        let load = Load {
            plan: &self.plan,
            address,
            clients: self.clients,
            pace: self.pace,
            begun,
        };
        load.client(number)
    }

    fn requests(seen: &Report) -> u64 {
        seen.counts.values().sum()
    }

    /// Compares the counts of both sides, and the stored documents, with the known values.
    fn check(
        &mut self,
        service: &KeyValue,
        clients: Vec<Report>,
        trouble: Option<String>,
    ) -> Result<String, Mismatch> {
        let known = &self.plan.known;
        let describe = |client: &service::Counts, server: &Summary, complaint: &str| {
            format!("clients saw {client:?}; the server {server:?}; {complaint}")
        };
        let mut seen = Report::nothing();
        for client in clients {
            seen.absorb(client);
        }
        let measured = service.measured();
        let stored = Summary::of(measured.counts.clone(), &service.store.all());
        let complaint = seen.complaint.clone().or(trouble);
        let complaint = complaint.as_deref().unwrap_or("no complaints");
        Mismatch::unless_equal(
            &describe(&known.counts, known, "no complaints"),
            &describe(&seen.counts, &stored, complaint),
        )?;
        let requests = Self::requests(&seen);
        self.total.seen.absorb(seen);
        self.total.measured.absorb(&measured);
        self.total.parts.add(service.take_noted());
        Ok(format!(
            "{requests} requests answered, {} documents stored, fingerprint {:x}",
            known.documents, known.fingerprint
        ))
    }

    fn forget(&mut self) {
        self.total = Total::new(self.parts);
    }

    fn metrics(&self, _: Duration) -> BTreeMap<String, Metric> {
        let Total {
            seen,
            measured,
            parts,
        } = &self.total;
        let mut metrics: BTreeMap<String, Metric> = measured.metrics().into_iter().collect();
        metrics.extend(parts.metrics());
        for latencies in [&seen.latency, &seen.lateness, &seen.session] {
            metrics.extend(latencies.summary());
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use protocol::Size;
    use rayon::ThreadPoolBuilder;

    use super::*;
    use crate::kv::http::Method;
    use crate::net::{Run, Runs};
    use workloads::workload::Instance;

    fn run(explicit: &[(&str, &str)]) -> Result<Runs<Trade>, Refusal> {
        let explicit = explicit
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let kv = protocol::workload("kv");
        let values = kv.resolve(Size::Tiny, &explicit, false)?;
        let trade = Trade::new(&Setup {
            seed: 1,
            values: &values,
            input: None,
            threads: 2,
        })?;
        Ok(Runs::new(trade))
    }

    /// Returns the check's result after a good run that `damage` has changed.
    fn checked(damage: impl FnOnce(&mut Run<Trade>)) -> Result<String, Mismatch> {
        let mut run = run(&[]).unwrap();
        run.reset();
        run.run_sequential();
        damage(run.last.as_mut().unwrap());
        run.check()
    }

    type Damage = fn(&mut Run<Trade>);

    #[test]
    fn a_good_run_is_accepted_and_every_damage_is_noticed() {
        let good = checked(|_| ()).unwrap();
        assert!(good.starts_with("21 requests answered, "), "{good}");
        let damages: [(&str, Damage); 4] = [
            ("a request more on the client's side", |run| {
                *run.seen[0].counts.entry((Method::Get, 200)).or_insert(0) += 1;
            }),
            ("another document", |run| {
                run.service.store.put(b"k", b"body");
            }),
            ("a complaint", |run| {
                run.seen[0].complaint = Some("wrong MD5".to_owned());
            }),
            ("a vanished connection", |run| {
                run.trouble = Some("1 vanished".to_owned());
            }),
        ];
        for (name, damage) in damages {
            assert!(checked(damage).is_err(), "{name}");
        }
    }

    #[test]
    fn every_arrangement_gives_the_sequential_answer_and_has_its_figures() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut first = run(&[]).unwrap();
        first.reset();
        first.run_sequential();
        let expected = first.check().unwrap();
        for (handlers, takes, queue, empty, store, load) in [
            ("pool", "requests", "regular", "wait", "global", "closed"),
            (
                "pool",
                "requests",
                "regular",
                "wait",
                "reader-writer",
                "open",
            ),
            (
                "pool",
                "connections",
                "regular",
                "wait",
                "reader-writer",
                "open",
            ),
            ("threads", "requests", "regular", "wait", "global", "closed"),
            (
                "threads",
                "requests",
                "lock-free",
                "wait",
                "reader-writer",
                "open",
            ),
            (
                "threads",
                "connections",
                "regular",
                "wait",
                "reader-writer",
                "closed",
            ),
            (
                "threads",
                "connections",
                "lock-free",
                "wait",
                "global",
                "closed",
            ),
            // The study's mistake costs time and no answer.
            (
                "threads",
                "connections",
                "lock-free",
                "sleep-250ms",
                "global",
                "closed",
            ),
        ] {
            let arrangement = [
                ("handlers", handlers),
                ("takes", takes),
                ("queue", queue),
                ("empty", empty),
                ("store", store),
                ("load", load),
            ];
            let mut run = run(&arrangement).unwrap();
            run.reset();
            assert_eq!(run.run_on(&pool), 21);
            assert_eq!(run.check().as_ref(), Ok(&expected), "{arrangement:?}");
            let metrics = run.metrics();
            for name in ["service_mean", "service_get_p50", "wait_max", "session_min"] {
                assert!(metrics[name].value > 0.0, "{name}");
                assert_eq!(metrics[name].unit, "ns");
            }
            assert!(metrics["requests_per_second"].value > 0.0);
            assert_eq!(metrics["server_cpu_per_request"].unit, "ns/request");
            assert_eq!(metrics.contains_key("lateness_p50"), load == "open");
        }
    }

    #[test]
    fn what_would_not_fit_in_memory_is_refused() {
        let refusal = run(&[("sessions", "1000000"), ("requests", "11")]).err();
        let refusal = refusal.unwrap().to_string();
        let expected = "sessions = 1000000 times requests = 11";
        assert!(refusal.contains(expected), "{refusal}");
    }
}
