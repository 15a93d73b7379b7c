//! Server and clients together: run after run, each compared with the known answers.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal, Values};
use rayon::ThreadPool;

use super::Arrangement;
use super::clients::{Load, Report};
use super::parts::Parts;
use super::plan::{Mix, Plan};
use super::service::{KeyValue, Measured};
use super::store::Store;
use crate::net::{Exchange, Handlers};
use workloads::workload::{Mismatch, Setup};

/// The most requests of a run: their known answers are in memory, some 100 bytes each.
const MAX_REQUESTS: usize = 10_000_000;

/// The server, its clients and the known answers.
pub(super) struct Trade {
    plan: Plan,
    arrangement: Arrangement,
    lock: String,
    rate: Option<u64>,
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
        let mix = Mix {
            sessions,
            requests,
            writes_percent: values.whole("writes-percent"),
            value_bytes: values.count("value-bytes"),
        };
        let parts = values.count("parts");
        let is_open = values.word("load") == "open";
        Ok(Self {
            plan: Plan::new(setup.seed, mix),
            arrangement: Arrangement::of(values, setup.threads),
            lock: values.word("store").to_owned(),
            rate: is_open.then(|| values.whole("rate")),
            clients: values.count("clients"),
            parts,
            total: Total::new(parts),
        })
    }
}

impl Exchange for Trade {
    type Service = KeyValue;
    type Seen = Report;

    const NAME: &'static str = "kv";
    const CLIENTS: &'static str = "clients";

    /// Creates a server with an empty store, which the run fills.
    fn service(&self) -> KeyValue {
        let store = Store::new(&self.lock);
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
            rate: self.rate,
            begun,
        };
        load.client(number)
    }

    fn requests(seen: &Report) -> u64 {
        seen.requests
    }

    /// Compares the answers, the server's counts and the stored documents with the known values.
    fn check(
        &mut self,
        service: &KeyValue,
        clients: Vec<Report>,
        trouble: Option<String>,
    ) -> Result<String, Mismatch> {
        let mut seen = Report::nothing();
        for client in clients {
            seen.absorb(client);
        }
        let measured = service.measured();
        let describe = |requests: u64, documents: usize| {
            format!("{requests} requests answered, {documents} documents stored")
        };
        let expected = describe(self.plan.counts.values().sum(), self.plan.documents.len());
        let actual = if let Some(complaint) = seen.complaint.clone().or(trouble) {
            complaint
        } else if measured.counts != self.plan.counts {
            format!("the server counted {:?}", measured.counts)
        } else if !self.plan.is_stored_in(&service.store) {
            "the server stored other documents".to_owned()
        } else {
            describe(seen.requests, service.store.all().len())
        };
        Mismatch::unless_equal(&expected, &actual)?;
        self.total.seen.absorb(seen);
        self.total.measured.absorb(&measured);
        self.total.parts.add(service.take_noted());
        Ok(expected)
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
    use crate::net::{Run, Runs};
    use workloads::workload::Instance;

    fn run(explicit: &[(&str, &str)]) -> Result<Runs<Trade>, Refusal> {
        let explicit = explicit
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let kv = protocol::workload("kv");
        let values = kv.resolve(Size::Tiny, &explicit, false)?;
        Runs::new(Trade::new(&Setup {
            seed: 1,
            values: &values,
            input: None,
            threads: 2,
        })?)
    }

    type Damage = fn(&mut Run<Trade>);

    #[test]
    fn a_good_run_is_accepted_and_every_damage_is_noticed() {
        let damages: [(&str, Damage); 6] = [
            ("21 requests answered, ", |_| ()),
            ("20 requests answered", |run| run.seen[0].requests -= 1),
            ("other documents", |run| {
                run.service.store.put(b"k", b"body");
            }),
            ("other documents", |run| {
                let (key, _) = run.service.store.all().into_iter().next().unwrap();
                run.service.store.put(&key, b"another body");
            }),
            ("wrong answer", |run| {
                run.seen[0].complaint = Some("wrong answer".to_owned());
            }),
            ("1 failed", |run| run.trouble = Some("1 failed".to_owned())),
        ];
        for (number, (expected, damage)) in damages.into_iter().enumerate() {
            let mut run = run(&[]).unwrap();
            run.reset();
            run.run_sequential();
            damage(run.last.as_mut().unwrap());
            let outcome = run.check();
            assert_eq!(outcome.is_ok(), number == 0, "{expected}");
            let text = outcome.unwrap_or_else(|it| it.actual);
            assert!(
                text.starts_with(expected) || text.ends_with(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn every_arrangement_gives_the_sequential_answer_and_has_its_figures() {
        let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let mut first = run(&[]).unwrap();
        first.reset();
        first.run_sequential();
        let expected = first.check().unwrap();
        for text in [
            "handlers=pool takes=requests store=global load=closed",
            "handlers=pool takes=connections store=reader-writer load=open",
            "handlers=threads takes=requests queue=regular store=reader-writer load=closed",
            "handlers=threads takes=requests queue=lock-free store=global load=open",
            "handlers=threads takes=connections queue=regular load=closed",
            "handlers=threads takes=connections queue=lock-free empty=wait load=closed",
            // The study's mistake costs time and no answer.
            "handlers=threads takes=connections queue=lock-free empty=sleep-250ms load=closed",
        ] {
            let words = text.split(' ').map(|word| word.split_once('=').unwrap());
            let mut run = run(&words.collect::<Vec<_>>()).unwrap();
            run.reset();
            assert_eq!(run.run_on(&pool), 21);
            assert_eq!(run.check().as_ref(), Ok(&expected), "{text}");
            let metrics = run.metrics();
            for name in ["service_mean", "service_get_p50", "wait_max", "session_min"] {
                assert!(metrics[name].value > 0.0, "{name}");
                assert_eq!(metrics[name].unit, "ns");
            }
            assert!(metrics["requests_per_second"].value > 0.0);
            assert_eq!(metrics["server_cpu_per_request"].unit, "ns/request");
            let is_open = text.ends_with("open");
            assert_eq!(metrics.contains_key("lateness_p50"), is_open);
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
