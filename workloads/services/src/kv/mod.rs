//! `kv`: an HTTP key-value server on loopback and its clients. The model is a study of queues and
//! locks in such servers.

mod clients;
mod http;
mod parts;
mod plan;
mod service;
mod store;

use std::collections::BTreeMap;
use std::mem;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal, Values};
use rayon::ThreadPool;

use crate::net::{Exchange, Handlers, Queue, Runs, Unit};
use clients::{Clients, Report};
use parts::Parts;
use plan::Plan;
use service::{KeyValue, Measured};
use store::Store;
use workloads::workload::{Instance, Mismatch, Setup};

/// The time for which the study's server slept when it found the lock-free queue empty.
const NAP: Duration = Duration::from_millis(250);

#[expect(
    clippy::unnecessary_wraps,
    reason = "all workloads have this signature"
)]
pub(crate) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(Runs::new(Sessions::new(setup))))
}

fn handlers<'a>(values: &Values, pool: &'a ThreadPool) -> Handlers<'a> {
    let unit = match values.word("takes") {
        "connections" => Unit::Connections,
        _ => Unit::Requests,
    };
    if values.word("handlers") == "pool" {
        return Handlers::Pool(pool, unit);
    }
    let queue = match (values.word("queue"), values.word("empty")) {
        ("regular", _) => Queue::Regular,
        (_, "wait") => Queue::LockFree,
        _ => Queue::LockFreeLookingEvery(NAP),
    };
    Handlers::Threads(pool.current_num_threads(), queue, unit)
}

#[cfg(feature = "cli")]
pub(crate) const OF_SERVER: [&str; 5] = ["handlers", "takes", "queue", "empty", "store"];

#[cfg(feature = "cli")]
pub(crate) fn serve(
    server: &crate::net::Server,
    values: &Values,
    pool: &ThreadPool,
) -> std::io::Result<String> {
    use std::fmt::Write as _;

    let store = Store::new(values.word("store"));
    let service = KeyValue::new(store, pool.current_num_threads(), false);
    let counts = server.run(&service, handlers(values, pool))?;
    let documents = service.store.all().len();
    let mut report = format!("{counts}\n{documents} documents stored\n");
    for (name, metric) in service.take_measured().metrics() {
        writeln!(report, "{name}: {:.0} {}", metric.value, metric.unit)
            .expect("writing to memory cannot fail");
    }
    Ok(report)
}

struct Sessions {
    clients: Clients,
    threads: usize,
    total: Total,
}

/// Measurements since the warm-up.
struct Total {
    seen: Report,
    measured: Measured,
    parts: Parts,
}

impl Total {
    fn new(values: &Values) -> Self {
        Self {
            seen: Report::nothing(),
            measured: Measured::default(),
            parts: Parts::new(values.count("parts")),
        }
    }
}

impl Sessions {
    fn new(setup: &Setup<'_>) -> Self {
        Self {
            clients: Clients {
                plan: Plan::new(setup.seed, setup.values),
                values: setup.values.clone(),
            },
            threads: setup.threads,
            total: Total::new(setup.values),
        }
    }
}

impl Exchange for Sessions {
    type Service = KeyValue;
    type Seen = Report;

    const NAME: &'static str = "kv";

    fn service(&self) -> KeyValue {
        let store = Store::new(self.clients.values.word("store"));
        KeyValue::new(store, self.threads, self.clients.values.count("parts") > 0)
    }

    fn handlers<'a>(&self, pool: &'a ThreadPool) -> Handlers<'a> {
        handlers(&self.clients.values, pool)
    }

    fn clients(&self) -> usize {
        self.clients.values.count("clients")
    }

    fn connections(&self) -> usize {
        self.clients.plan.sessions.len()
    }

    fn client(&self, number: usize, address: SocketAddr, begun: Instant) -> Report {
        self.clients.run(number, address, begun)
    }

    fn requests(seen: &Report) -> u64 {
        seen.requests
    }

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
        let mut measured = service.take_measured();
        let describe = |requests: u64, documents: usize| {
            format!("{requests} requests answered, {documents} documents stored")
        };
        let expected = describe(
            self.clients.plan.counts.values().sum(),
            self.clients.plan.documents.len(),
        );
        let actual = if let Some(complaint) = seen.complaint.clone().or(trouble) {
            complaint
        } else if measured.counts != self.clients.plan.counts {
            format!("the server counted {:?}", measured.counts)
        } else if !self.clients.plan.is_stored_in(&service.store) {
            "the server stored other documents".to_owned()
        } else {
            describe(seen.requests, service.store.all().len())
        };
        Mismatch::unless_equal(&expected, &actual)?;
        self.total.parts.add(mem::take(&mut measured.noted));
        self.total.seen.absorb(seen);
        self.total.measured.absorb(measured);
        Ok(expected)
    }

    fn forget(&mut self) {
        self.total = Total::new(&self.clients.values);
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
    use super::*;
    use crate::fixtures::{pool, values};
    use crate::net::Run;

    fn run(explicit: &str) -> Runs<Sessions> {
        Runs::new(Sessions::new(&Setup {
            seed: 1,
            values: &values("kv", explicit),
            input: None,
            threads: 2,
        }))
    }

    type Damage = fn(&mut Run<Sessions>);

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
            let mut run = run("");
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
        let mut first = run("");
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
            // The study's mistake costs time, but all answers are right.
            "handlers=threads takes=connections queue=lock-free empty=sleep-250ms load=closed",
        ] {
            let mut run = run(text);
            run.reset();
            assert_eq!(run.run_on(&pool(2)), 21);
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
}
