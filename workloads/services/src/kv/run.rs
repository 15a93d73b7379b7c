//! Server and clients together: run after run, each compared with the known answers.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal, Values};
use rayon::ThreadPool;

use super::clients::{Load, Pace, Report};
use super::parts::{Noted, Parts};
use super::plan::{Mix, Plan, Summary};
use super::service::{self, KeyValue, Measured};
use super::store::{Guard, Store};
use super::{Arrangement, guard};
use crate::net::{Handlers, LOOPBACK, Limits, Server, serve_beside};
use crate::{descriptors, metric};
use workloads::workload::{Instance, Mismatch, Setup};

/// Requests of a run whose answers are known beforehand and kept in memory, some 100 bytes each.
const MAX_REQUESTS: usize = 10_000_000;

/// Server and clients.
pub(super) struct KeyValueRun {
    plan: Plan,
    arrangement: Arrangement,
    guard: Guard,
    pace: Pace,
    clients: usize,
    parts: usize,
    /// Ready for the next run.
    stage: Option<(Server, KeyValue)>,
    /// The last run, until it is checked.
    outcome: Option<Outcome>,
    total: Total,
}

/// The results of one run.
struct Outcome {
    service: KeyValue,
    seen: Report,
    trouble: Option<String>,
    elapsed: Duration,
    server_cpu: Duration,
}

/// Runs since the warm-up.
struct Total {
    seen: Report,
    measured: Measured,
    parts: Parts,
    requests: u64,
    elapsed: Duration,
    server_cpu: Duration,
}

impl Total {
    fn new(parts: usize) -> Self {
        Self {
            seen: Report::nothing(),
            measured: Measured::default(),
            parts: Parts::new(parts),
            requests: 0,
            elapsed: Duration::ZERO,
            server_cpu: Duration::ZERO,
        }
    }
}

impl KeyValueRun {
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
            stage: None,
            outcome: None,
            total: Total::new(parts),
        })
    }

    /// Serves all sessions with these handlers.
    fn serve(&mut self, handlers: Handlers<'_>) -> u64 {
        let (server, service) = self.stage.take().expect("the stage was set");
        let load = Load {
            plan: &self.plan,
            address: server.address().expect("the kernel gave it an address"),
            clients: self.clients,
            pace: self.pace,
            begun: Instant::now(),
        };
        let clients = (0..self.clients).map(|number| move || load.client(number));
        let run = serve_beside(&server, &service, handlers, clients);
        let trouble = run.trouble(self.plan.sessions.len());
        let mut seen = Report::nothing();
        run.clients.into_iter().for_each(|it| seen.absorb(it));
        self.outcome = Some(Outcome {
            service,
            seen,
            trouble,
            elapsed: run.elapsed,
            server_cpu: run.server_cpu,
        });
        self.requests()
    }

    fn requests(&self) -> u64 {
        self.plan.known.counts.values().sum()
    }

    /// Compares the counts of both sides, and the stored documents, with the known values.
    fn verify(&mut self, run: Outcome) -> Result<String, Mismatch> {
        let known = &self.plan.known;
        let describe = |client: &service::Counts, server: &Summary, complaint: &str| {
            format!("clients saw {client:?}; the server {server:?}; {complaint}")
        };
        let measured = run.service.measured();
        let stored = Summary::of(measured.counts.clone(), &run.service.store.all());
        let complaint = run.seen.complaint.clone().or(run.trouble);
        let complaint = complaint.as_deref().unwrap_or("no complaints");
        Mismatch::unless_equal(
            &describe(&known.counts, known, "no complaints"),
            &describe(&run.seen.counts, &stored, complaint),
        )?;
        let requests = self.requests();
        let noted: Vec<Noted> = run.service.take_noted();
        self.total.seen.absorb(run.seen);
        self.total.measured.absorb(&measured);
        self.total.parts.add(noted);
        self.total.requests += requests;
        self.total.elapsed += run.elapsed;
        self.total.server_cpu += run.server_cpu;
        Ok(format!(
            "{requests} requests answered, {} documents stored, fingerprint {:x}",
            self.plan.known.documents, self.plan.known.fingerprint
        ))
    }
}

impl Instance for KeyValueRun {
    fn reset(&mut self) {
        self.outcome = None;
        let server = Server::bind(LOOPBACK, Limits::DEFAULT)
            .unwrap_or_else(|error| panic!("kv: no port on {} can be had: {error}", LOOPBACK.ip()));
        // A store of its own for each run, filled by it.
        let store = Store::new(self.guard);
        let service = KeyValue::new(store, self.arrangement.threads, self.parts > 0);
        self.stage = Some((server, service));
    }

    fn forget_warmup(&mut self) {
        self.total = Total::new(self.parts);
    }

    fn run_sequential(&mut self) -> u64 {
        self.serve(Handlers::Connection)
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let arrangement = self.arrangement;
        self.serve(arrangement.handlers(pool))
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        match self.outcome.take() {
            Some(run) => self.verify(run),
            None => Err(Mismatch {
                expected: format!("{} requests answered", self.requests()),
                actual: "nothing ran".to_owned(),
            }),
        }
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let Total {
            seen,
            measured,
            parts,
            requests,
            elapsed,
            server_cpu,
        } = &self.total;
        let mut metrics: BTreeMap<String, Metric> = measured.metrics().into_iter().collect();
        metrics.extend(parts.metrics());
        for latencies in [&seen.latency, &seen.lateness, &seen.session] {
            metrics.extend(latencies.summary());
        }
        if *requests > 0 {
            let requests = *requests as f64;
            let rate = requests / elapsed.as_secs_f64();
            let cpu = server_cpu.as_secs_f64() * 1e9 / requests;
            metrics.extend([
                metric("requests_per_second", rate, "requests/s"),
                metric("server_cpu_per_request", cpu, "ns/request"),
            ]);
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

    fn run(explicit: &[(&str, &str)]) -> Result<KeyValueRun, Refusal> {
        let explicit = explicit
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let kv = protocol::workload("kv");
        let values = kv.resolve(Size::Tiny, &explicit, false)?;
        KeyValueRun::new(&Setup {
            seed: 1,
            values: &values,
            input: None,
            threads: 2,
        })
    }

    /// After a good run, changed by `damage`, is the check's answer.
    fn checked(damage: impl FnOnce(&mut Outcome)) -> Result<String, Mismatch> {
        let mut run = run(&[]).unwrap();
        run.reset();
        run.run_sequential();
        damage(run.outcome.as_mut().unwrap());
        run.check()
    }

    type Damage = fn(&mut Outcome);

    #[test]
    fn a_good_run_is_accepted_and_every_damage_is_noticed() {
        let good = checked(|_| ()).unwrap();
        assert!(good.starts_with("21 requests answered, "), "{good}");
        let damages: [(&str, Damage); 4] = [
            ("a request more on the client's side", |run| {
                *run.seen.counts.entry((Method::Get, 200)).or_insert(0) += 1;
            }),
            ("another document", |run| {
                run.service.store.put(b"k", b"body");
            }),
            ("a complaint", |run| {
                run.seen.complaint = Some("wrong MD5".to_owned());
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
