//! `kv`: an HTTP key-value server on loopback and its clients, after a study of queues and locks in
//! such servers.
//!
//! A reader thread outside the pool waits for all connections and hands complete requests to
//! handlers: jobs of the pool, or threads behind a queue. Files: `http.rs` the protocol, `store.rs` the
//! documents, `service.rs` what is done about a request; `plan.rs` what is asked and the known answers,
//! `client.rs` one client, `load.rs` all of them. The server's threads are in `crate::net`.

mod client;
mod http;
#[cfg(test)]
mod http_tests;
mod load;
mod plan;
mod service;
mod store;
#[cfg(test)]
mod store_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use rayon::ThreadPool;

use crate::kinds::descriptors;
use crate::net::{self, Handlers, Limits, Queue, Server, Unit};
use crate::parameters::{Parameter, Values};
use crate::protocol::Metric;
use crate::usage::process_cpu;
use crate::workload::{
    Description, Instance, Mismatch, Refusal, Setup, Size, SizeOverrides, Workload,
};
use load::{Load, Pace, Seen};
use plan::{Mix, Plan, Summary};
use service::{Figures, KeyValue};
use store::{Guard, Store};

/// The study's server slept so long when it found the lock-free queue empty.
const NAP: Duration = Duration::from_millis(250);

/// Requests of a run whose answers are known beforehand and kept in memory, some 100 bytes each.
const MAX_REQUESTS: usize = 10_000_000;

static DESCRIPTION: Description = Description {
    name: "kv",
    summary: "an HTTP key-value server and its clients, on loopback",
    stresses: "small jobs from outside, one at a time or in bursts, between waits for sockets",
    work_unit: "requests",
    input: None,
    parameters: &[
        Parameter::one_of(
            "handlers",
            "who answers; only `pool` uses the scheduler",
            &["pool", "threads"],
            "pool",
        ),
        Parameter::one_of(
            "takes",
            "what a handler takes at once; it waits for the client of a connection",
            &["requests", "connections"],
            "requests",
        ),
        Parameter::one_of(
            "queue",
            "before handlers = threads: two locks and a semaphore, or lock-free",
            &["regular", "lock-free"],
            "regular",
        ),
        Parameter::one_of(
            "empty",
            "what a thread does that finds the lock-free queue empty: wait for a task, or sleep on",
            &["wait", "sleep-250ms"],
            "wait",
        ),
        Parameter::one_of(
            "store",
            "what guards the documents: a mutex, a reader-writer lock, or 64 of these",
            &["global", "reader-writer", "sharded"],
            "reader-writer",
        ),
        Parameter::one_of(
            "load",
            "whether a client waits for an answer before its next request is due",
            &["closed", "open"],
            "closed",
        ),
        Parameter::whole("rate", "requests a second with load = open", (1, 10_000_000), "5000"),
        Parameter::whole("clients", "sessions at a time", (1, 256), "4"),
        Parameter::whole("sessions", "connections, one after the other", (1, 1_000_000), "12"),
        Parameter::whole("requests", "requests of each session", (1, 1_000_000), "100"),
        Parameter::whole(
            "writes-percent",
            "of all requests; a quarter of these delete",
            (0, 100),
            "40",
        ),
        Parameter::whole("value-bytes", "longest document", (0, 1 << 20), "1024"),
    ],
    sizes: &[
        SizeOverrides {
            size: Size::Tiny,
            overrides: &[
                ("clients", "2"),
                ("sessions", "3"),
                ("requests", "7"),
                ("rate", "20000"),
                ("value-bytes", "100"),
            ],
        },
        SizeOverrides { size: Size::Small, overrides: &[("sessions", "20")] },
        SizeOverrides { size: Size::Medium, overrides: &[("sessions", "100")] },
        // The study's number.
        SizeOverrides { size: Size::Large, overrides: &[("sessions", "1000")] },
    ],
};

/// The workload `kv`.
#[derive(Clone, Copy, Debug)]
pub struct Kv;

impl Workload for Kv {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn prepare(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
        Ok(Box::new(Trade::new(setup)?))
    }
}

/// Where the server listens: a port of its own on this host only.
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Who handles, without the pool itself.
#[derive(Clone, Copy, Debug)]
struct Arrangement {
    is_pool: bool,
    queue: Queue,
    unit: Unit,
    threads: usize,
}

impl Arrangement {
    fn of(values: &Values, threads: usize) -> Self {
        Self {
            is_pool: values.word("handlers") == "pool",
            queue: match (values.word("queue"), values.word("empty")) {
                ("regular", _) => Queue::Regular,
                (_, "wait") => Queue::LockFree,
                _ => Queue::LockFreeLookingEvery(NAP),
            },
            unit: match values.word("takes") {
                "connections" => Unit::Connections,
                _ => Unit::Requests,
            },
            threads,
        }
    }

    fn handlers(self, pool: &ThreadPool) -> Handlers<'_> {
        if self.is_pool {
            Handlers::Pool(pool)
        } else {
            Handlers::Threads { count: self.threads, queue: self.queue }
        }
    }
}

fn guard(values: &Values) -> Guard {
    match values.word("store") {
        "global" => Guard::Global,
        "sharded" => Guard::Sharded,
        _ => Guard::ReaderWriter,
    }
}

/// Parameters that concern the server.
pub(crate) const OF_SERVER: [&str; 5] = ["handlers", "takes", "queue", "empty", "store"];

/// Serves until it is stopped; says what happened.
pub(crate) fn serve(
    server: Server,
    values: &Values,
    pool: &ThreadPool,
    threads: usize,
) -> io::Result<String> {
    let service = KeyValue::new(Store::new(guard(values)), threads);
    let arrangement = Arrangement::of(values, threads);
    let counts = server.run(&service, arrangement.handlers(pool), arrangement.unit)?;
    let figures = service.figures();
    let mut report = format!("{counts}\n{} documents stored\n", service.store.all().len());
    for ((method, status), count) in &figures.counts {
        writeln!(report, "{count} {method} with status {status}").expect("memory takes everything");
    }
    for (name, metric) in figures.metrics() {
        writeln!(report, "{name}: {:.0} {}", metric.value, metric.unit)
            .expect("memory takes everything");
    }
    Ok(report)
}

struct Trade {
    plan: Plan,
    arrangement: Arrangement,
    guard: Guard,
    pace: Pace,
    clients: usize,
    /// Ready for the next run.
    stage: Option<(Server, KeyValue)>,
    /// The last run, until it is checked.
    served: Option<Served>,
    total: Total,
}

/// What one run left.
struct Served {
    service: KeyValue,
    ended: io::Result<net::Counts>,
    seen: Seen,
    elapsed: Duration,
    cpu: Duration,
}

/// The same, worked out.
struct Run {
    seen: Seen,
    figures: Figures,
    stored: Summary,
    trouble: Option<String>,
    elapsed: Duration,
    server_cpu: Duration,
}

/// Runs since the warm-up.
struct Total {
    seen: Seen,
    figures: Figures,
    requests: u64,
    elapsed: Duration,
    server_cpu: Duration,
}

impl Total {
    fn new() -> Self {
        Self {
            seen: Seen::nothing(),
            figures: Figures::default(),
            requests: 0,
            elapsed: Duration::ZERO,
            server_cpu: Duration::ZERO,
        }
    }
}

impl Trade {
    fn new(setup: &Setup<'_>) -> Result<Self, Refusal> {
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
        Ok(Self {
            plan: Plan::new(setup.seed, mix),
            arrangement: Arrangement::of(values, setup.threads),
            guard: guard(values),
            pace: match values.word("load") {
                "open" => Pace::Open { rate: values.whole("rate") },
                _ => Pace::Closed,
            },
            clients,
            stage: None,
            served: None,
            total: Total::new(),
        })
    }

    /// Serves all sessions with these handlers.
    fn serve(&mut self, handlers: Handlers<'_>, unit: Unit) -> u64 {
        let (server, service) = self.stage.take().expect("the stage was set");
        let address = server.address().expect("the kernel knows an address that it gave");
        let Self { plan, clients, pace, .. } = self;
        let load = Load { plan, address, clients: *clients, pace: *pace };
        let (begun, cpu_before) = (Instant::now(), process_cpu());
        let stopper = server.stopper();
        let (ended, seen) = load.run(&stopper, || server.run(&service, handlers, unit));
        let (elapsed, cpu) = (begun.elapsed(), process_cpu().saturating_sub(cpu_before));
        self.served = Some(Served { service, ended, seen, elapsed, cpu });
        self.requests()
    }

    fn requests(&self) -> u64 {
        self.plan.known.counts.values().sum()
    }

    /// What the last run left, worked out.
    fn take_run(&mut self) -> Option<Run> {
        let Served { service, ended, seen, elapsed, cpu } = self.served.take()?;
        let trouble = match ended {
            Err(error) => Some(format!("the server: {error}")),
            Ok(counts) if counts.good != self.plan.sessions.len() as u64 => {
                Some(counts.to_string())
            }
            Ok(_) => None,
        };
        let figures = service.figures();
        let stored = Summary::of(figures.counts.clone(), &service.store.all());
        let server_cpu = cpu.saturating_sub(seen.cpu);
        Some(Run { seen, figures, stored, trouble, elapsed, server_cpu })
    }

    /// Compares what both sides counted, and what is stored, with what is known.
    fn verify(&mut self, run: Run) -> Result<String, Mismatch> {
        let known = &self.plan.known;
        let describe = |client: &service::Counts, server: &Summary, complaint: &str| {
            format!("clients saw {client:?}; the server {server:?}; {complaint}")
        };
        let expected = describe(&known.counts, known, "no complaints");
        let complaint = run.seen.complaint.clone().or(run.trouble);
        let complaint = complaint.as_deref().unwrap_or("no complaints");
        Mismatch::unless_equal(&expected, &describe(&run.seen.counts, &run.stored, complaint))?;
        let requests = self.requests();
        self.total.seen.absorb(run.seen);
        self.total.figures.absorb(&run.figures);
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
        let server = Server::bind(ADDRESS, Limits::DEFAULT)
            .unwrap_or_else(|error| panic!("kv: no port on {} can be had: {error}", ADDRESS.ip()));
        // A store of its own for each run, filled by it.
        let service = KeyValue::new(Store::new(self.guard), self.arrangement.threads);
        self.stage = Some((server, service));
    }

    fn forget_warmup(&mut self) {
        self.total = Total::new();
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
        let Total { seen, figures, requests, elapsed, server_cpu } = &self.total;
        let mut metrics: BTreeMap<String, Metric> = figures.metrics().into_iter().collect();
        for latencies in [&seen.latency, &seen.lateness, &seen.session] {
            metrics.extend(latencies.summary());
        }
        let mut add = |name: &str, value: f64, unit: &str| {
            metrics.insert(name.to_owned(), Metric { value, unit: unit.to_owned() });
        };
        if *requests > 0 {
            add("requests_per_second", *requests as f64 / elapsed.as_secs_f64(), "requests/s");
            let cpu = server_cpu.as_secs_f64() * 1e9 / *requests as f64;
            add("server_cpu_per_request", cpu, "ns/request");
        }
        metrics
    }
}
