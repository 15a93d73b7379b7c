//! `kv`: an HTTP key-value server on loopback and its clients, after a study of queues and locks in
//! such servers.
//!
//! A reader thread outside the pool waits for all connections and hands complete requests to
//! handlers: jobs of the pool, or threads behind a queue. Files: `http.rs` the protocol, `store.rs`
//! the documents, `service.rs` what is done about a request; `plan.rs` what is asked and the known
//! answers, `client.rs` one client, `load.rs` all of them, `parts.rs` service times in the order of
//! requests; `trade.rs` server and clients together, judged. The server's threads are in
//! `crate::net`.

mod client;
mod http;
#[cfg(test)]
mod http_tests;
mod load;
mod parts;
mod plan;
mod service;
mod store;
#[cfg(test)]
mod store_tests;
#[cfg(test)]
mod tests;
mod trade;

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use rayon::ThreadPool;

use crate::net::{Handlers, Queue, Server, Unit};
use protocol::{
    Description, Lasts, Parameter, Refusal, Size, SizeOverrides, Term, TimeUnit, Values,
};
use service::KeyValue;
use store::{Guard, Store};
use trade::Trade;
use workloads::workload::{Instance, Setup, Workload};

/// The study's server slept so long when it found the lock-free queue empty.
const NAP: Duration = Duration::from_millis(250);

static DESCRIPTION: Description = Description {
    name: "kv",
    summary: "an HTTP key-value server and its clients, on loopback",
    stresses: "small jobs from outside, one at a time or in bursts, between waits for sockets",
    work_unit: "requests",
    input: None,
    lasts: Some(
        Lasts::paced(&[Term::new(TimeUnit::S, &["sessions", "requests"]).over("rate")])
            .only_if("load", "open"),
    ),
    charge: None,
    parameters: &[
        Parameter::one_of(
            "handlers",
            "who answers; only `pool` uses the scheduler",
            &["pool", "threads"],
            "pool",
        )
        .uses_pool_if("pool"),
        Parameter::one_of(
            "takes",
            "what a handler takes: one request, or a connection until it ends",
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
            "what a thread does when the lock-free queue is empty: wait for a task, or sleep",
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
        Parameter::whole(
            "rate",
            "requests a second with load = open",
            (1, 10_000_000),
            "5000",
        ),
        Parameter::whole("clients", "sessions at a time", (1, 256), "4"),
        Parameter::whole(
            "sessions",
            "connections, one after the other",
            (1, 1_000_000),
            "12",
        ),
        Parameter::whole(
            "requests",
            "requests of each session",
            (1, 1_000_000),
            "100",
        ),
        Parameter::whole(
            "writes-percent",
            "share of requests that write; a quarter of them delete",
            (0, 100),
            "40",
        ),
        Parameter::whole("value-bytes", "longest document", (0, 1 << 20), "1024"),
        Parameter::whole(
            "parts",
            "splits a run by order of arrival, with service times for each part; 0: no split",
            (0, 100),
            "0",
        ),
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
        SizeOverrides {
            size: Size::Small,
            overrides: &[("sessions", "20")],
        },
        SizeOverrides {
            size: Size::Medium,
            overrides: &[("sessions", "100")],
        },
        // The study's number.
        SizeOverrides {
            size: Size::Large,
            overrides: &[("sessions", "1000")],
        },
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
            Handlers::Threads {
                count: self.threads,
                queue: self.queue,
            }
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
    let service = KeyValue::new(Store::new(guard(values)), threads, false);
    let arrangement = Arrangement::of(values, threads);
    let counts = server.run(&service, arrangement.handlers(pool), arrangement.unit)?;
    let measured = service.measured();
    let mut report = format!("{counts}\n{} documents stored\n", service.store.all().len());
    for ((method, status), count) in &measured.counts {
        writeln!(report, "{count} {method} with status {status}").expect("memory takes everything");
    }
    for (name, metric) in measured.metrics() {
        writeln!(report, "{name}: {:.0} {}", metric.value, metric.unit)
            .expect("memory takes everything");
    }
    Ok(report)
}
