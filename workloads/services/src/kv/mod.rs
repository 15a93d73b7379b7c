//! `kv`: an HTTP key-value server on loopback and its clients, after a study of queues and locks in
//! such servers.
//!
//! For the server, `http.rs` has the protocol, `store.rs` the documents, and `service.rs` the
//! handling of a request. For the clients, `plan.rs` has the requests and the known answers, and
//! `clients.rs` the clients themselves. `parts.rs` has service times in the order of requests.
//! `trade.rs` runs server and clients together, and checks the results. The server's threads are in
//! `crate::net`.

mod clients;
mod http;
mod parts;
mod plan;
mod service;
mod store;
mod trade;

use std::time::Duration;

use rayon::ThreadPool;

use crate::net::{Handlers, Queue, Runs, Unit};
use protocol::{Refusal, Values};
use trade::Trade;
use workloads::workload::{Instance, Setup};

/// The time for which the study's server slept when it found the lock-free queue empty.
const NAP: Duration = Duration::from_millis(250);

/// Prepares the workload `kv`.
///
/// # Errors
/// If the workload cannot run with these parameters.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(Box::new(Runs::new(Trade::new(setup)?)?))
}

/// The arrangement of handlers, without the pool itself.
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
            Handlers::Pool(pool, self.unit)
        } else {
            Handlers::Threads(self.threads, self.queue, self.unit)
        }
    }
}

/// The parameters of the server.
#[cfg(feature = "cli")]
pub(crate) const OF_SERVER: [&str; 5] = ["handlers", "takes", "queue", "empty", "store"];

/// Serves until it is stopped, and returns a report.
#[cfg(feature = "cli")]
pub(crate) fn serve(
    server: &crate::net::Server,
    values: &Values,
    pool: &ThreadPool,
) -> std::io::Result<String> {
    use std::fmt::Write as _;

    let threads = pool.current_num_threads();
    let store = store::Store::new(values.word("store"));
    let service = service::KeyValue::new(store, threads, false);
    let handlers = Arrangement::of(values, threads).handlers(pool);
    let counts = server.run(&service, handlers)?;
    let documents = service.store.all().len();
    let mut report = format!("{counts}\n{documents} documents stored\n");
    for (name, metric) in service.measured().metrics() {
        writeln!(report, "{name}: {:.0} {}", metric.value, metric.unit)
            .expect("memory takes everything");
    }
    Ok(report)
}
