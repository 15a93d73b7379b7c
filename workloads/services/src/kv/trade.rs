//! Server and clients together: run after run, each compared with the known answers.

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use protocol::{Metric, Refusal, Values};
use rayon::ThreadPool;

use super::load::{ClientReport, Load, Pace};
use super::parts::{Noted, Parts};
use super::plan::{Mix, Plan, Summary};
use super::service::{self, KeyValue, Measured};
use super::store::{Guard, Store};
use super::{Arrangement, guard};
use crate::descriptors;
use crate::net::{self, Handlers, LOOPBACK, Limits, Server, Unit};
use workloads::usage::process_cpu;
use workloads::workload::{Instance, Mismatch, Setup};

/// Requests of a run whose answers are known beforehand and kept in memory, some 100 bytes each.
const MAX_REQUESTS: usize = 10_000_000;

/// Server and clients.
pub(super) struct Trade {
    plan: Plan,
    arrangement: Arrangement,
    guard: Guard,
    pace: Pace,
    clients: usize,
    parts: usize,
    /// Ready for the next run.
    stage: Option<(Server, KeyValue)>,
    /// The last run, until it is checked.
    served: Option<Served>,
    total: Total,
}

/// The raw results of one run.
struct Served {
    service: KeyValue,
    ended: io::Result<net::Counts>,
    seen: ClientReport,
    elapsed: Duration,
    cpu: Duration,
}

/// The same, worked out.
pub(super) struct Run {
    pub(super) seen: ClientReport,
    measured: Measured,
    noted: Vec<Noted>,
    pub(super) stored: Summary,
    pub(super) trouble: Option<String>,
    elapsed: Duration,
    server_cpu: Duration,
}

/// Runs since the warm-up.
struct Total {
    seen: ClientReport,
    measured: Measured,
    parts: Parts,
    requests: u64,
    elapsed: Duration,
    server_cpu: Duration,
}

impl Total {
    fn new(parts: usize) -> Self {
        Self {
            seen: ClientReport::nothing(),
            measured: Measured::default(),
            parts: Parts::new(parts),
            requests: 0,
            elapsed: Duration::ZERO,
            server_cpu: Duration::ZERO,
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
            stage: None,
            served: None,
            total: Total::new(parts),
        })
    }

    /// Serves all sessions with these handlers.
    fn serve(&mut self, handlers: Handlers<'_>, unit: Unit) -> u64 {
        let (server, service) = self.stage.take().expect("the stage was set");
        let address = server
            .address()
            .expect("the kernel knows an address that it gave");
        let Self {
            plan,
            clients,
            pace,
            ..
        } = self;
        let load = Load {
            plan,
            address,
            clients: *clients,
            pace: *pace,
        };
        let (begun, cpu_before) = (Instant::now(), process_cpu());
        let stopper = server.stopper();
        let (ended, seen) = load.run(&stopper, || server.run(&service, handlers, unit));
        let (elapsed, cpu) = (begun.elapsed(), process_cpu().saturating_sub(cpu_before));
        self.served = Some(Served {
            service,
            ended,
            seen,
            elapsed,
            cpu,
        });
        self.requests()
    }

    fn requests(&self) -> u64 {
        self.plan.known.counts.values().sum()
    }

    /// Returns the results of the last run, worked out.
    pub(super) fn take_run(&mut self) -> Option<Run> {
        let Served {
            service,
            ended,
            seen,
            elapsed,
            cpu,
        } = self.served.take()?;
        let trouble = match ended {
            Err(error) => Some(format!("the server: {error}")),
            Ok(counts) if counts.good != self.plan.sessions.len() as u64 => {
                Some(counts.to_string())
            }
            Ok(_) => None,
        };
        let measured = service.measured();
        let stored = Summary::of(measured.counts.clone(), &service.store.all());
        let server_cpu = cpu.saturating_sub(seen.cpu);
        let noted = service.take_noted();
        Some(Run {
            seen,
            measured,
            noted,
            stored,
            trouble,
            elapsed,
            server_cpu,
        })
    }

    /// Compares the counts of both sides, and the stored documents, with the known values.
    pub(super) fn verify(&mut self, run: Run) -> Result<String, Mismatch> {
        let known = &self.plan.known;
        let describe = |client: &service::Counts, server: &Summary, complaint: &str| {
            format!("clients saw {client:?}; the server {server:?}; {complaint}")
        };
        let expected = describe(&known.counts, known, "no complaints");
        let complaint = run.seen.complaint.clone().or(run.trouble);
        let complaint = complaint.as_deref().unwrap_or("no complaints");
        Mismatch::unless_equal(
            &expected,
            &describe(&run.seen.counts, &run.stored, complaint),
        )?;
        let requests = self.requests();
        self.total.seen.absorb(run.seen);
        self.total.measured.absorb(&run.measured);
        self.total.parts.add(run.noted);
        self.total.requests += requests;
        self.total.elapsed += run.elapsed;
        self.total.server_cpu += run.server_cpu;
        Ok(format!(
            "{requests} requests answered, {} documents stored, fingerprint {:x}",
            self.plan.known.documents, self.plan.known.fingerprint
        ))
    }
}

impl Instance for Trade {
    fn reset(&mut self) {
        self.served = None;
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
        self.serve(Handlers::Reader, Unit::Requests)
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let arrangement = self.arrangement;
        self.serve(arrangement.handlers(pool), arrangement.unit)
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        match self.take_run() {
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
        let mut add = |name: &str, value: f64, unit: &str| {
            metrics.insert(
                name.to_owned(),
                Metric {
                    value,
                    unit: unit.to_owned(),
                },
            );
        };
        if *requests > 0 {
            add(
                "requests_per_second",
                *requests as f64 / elapsed.as_secs_f64(),
                "requests/s",
            );
            let cpu = server_cpu.as_secs_f64() * 1e9 / *requests as f64;
            add("server_cpu_per_request", cpu, "ns/request");
        }
        metrics
    }
}
