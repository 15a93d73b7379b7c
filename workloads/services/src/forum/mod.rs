//! `forum`: a message board on TCP with posters and readers, after a study of servers with a thread
//! for each connection.
//!
//! `protocol.rs` has the protocol, `board.rs` the topics, `clients.rs` the clients. The server's
//! threads are in `crate::net`.

mod board;
mod clients;
mod protocol;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ::protocol::{Metric, Refusal};
use rayon::ThreadPool;

use crate::metric;
use crate::net::{Exchange, Handlers, Queue, Runs, Unit};
use board::Board;
use clients::{ClientReport, Clients, Role, Words};
use workloads::kinds::latency::Latencies;
use workloads::workload::{Instance, Mismatch, Setup};

/// The parameters of the server.
#[cfg(feature = "cli")]
pub(crate) const OF_SERVER: [&str; 1] = ["implementation"];

/// Serves until it is stopped, and returns a report.
#[cfg(feature = "cli")]
pub(crate) fn serve(
    server: &crate::net::Server,
    values: &::protocol::Values,
    pool: &ThreadPool,
) -> std::io::Result<String> {
    let board = Board::new();
    let counts = server.run(&board, handlers(values.word("implementation"), pool))?;
    Ok(format!("{counts}\n"))
}

/// Returns the handlers that answer. With a queue there are as many threads as `pool` has; the
/// pool's own workers then sleep.
fn handlers<'a>(implementation: &str, pool: &'a ThreadPool) -> Handlers<'a> {
    match implementation {
        "queue" => Handlers::Threads(pool.current_num_threads(), Queue::LockFree, Unit::Requests),
        "threads" => Handlers::Connection,
        _ => Handlers::Pool(pool, Unit::Requests),
    }
}

/// Prepares the workload `forum`.
///
/// # Errors
/// If the workload cannot run with these parameters.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    Ok(Box::new(Runs::new(Evening {
        seed: setup.seed,
        implementation: values.word("implementation").to_owned(),
        words: match values.word("harness") {
            "long-lines" => Words::long(),
            _ => Words::short(),
        },
        posters: values.count("posters"),
        readers: values.count("readers"),
        duration: Duration::from_millis(values.whole("duration-ms")),
        total: Total::new(),
    })?))
}

/// The board and its clients.
struct Evening {
    seed: u64,
    implementation: String,
    words: Words,
    posters: usize,
    readers: usize,
    duration: Duration,
    total: Total,
}

/// Measurements since the warm-up.
struct Total {
    posts: Latencies,
    reads: Latencies,
    posted: u64,
    read: u64,
}

impl Total {
    fn new() -> Self {
        Self {
            posts: Latencies::new("post"),
            reads: Latencies::new("read"),
            posted: 0,
            read: 0,
        }
    }

    fn add(&mut self, client: &ClientReport) {
        let (latencies, count) = match client.role {
            Role::Poster => (&mut self.posts, &mut self.posted),
            Role::Reader => (&mut self.reads, &mut self.read),
        };
        latencies.absorb(&client.latency);
        *count += client.requests;
    }
}

impl Exchange for Evening {
    type Service = Board;
    type Seen = ClientReport;

    const NAME: &'static str = "forum";
    const CLIENTS: &'static str = "posters + readers";

    fn service(&self) -> Board {
        Board::new()
    }

    fn handlers<'a>(&self, pool: &'a ThreadPool) -> Handlers<'a> {
        handlers(&self.implementation, pool)
    }

    fn clients(&self) -> usize {
        self.posters + self.readers
    }

    fn connections(&self) -> usize {
        self.clients()
    }

    fn client(&self, number: usize, address: SocketAddr, begun: Instant) -> ClientReport {
        let clients = Clients {
            words: &self.words,
            seed: self.seed,
            until: begun + self.duration,
            address,
        };
        match number.checked_sub(self.posters) {
            None => clients.client(Role::Poster, number),
            Some(number) => clients.client(Role::Reader, number),
        }
    }

    fn requests(seen: &ClientReport) -> u64 {
        seen.requests
    }

    fn check(
        &mut self,
        board: &Board,
        seen: Vec<ClientReport>,
        trouble: Option<String>,
    ) -> Result<String, Mismatch> {
        let expected = "every accepted message at the index where clients read it".to_owned();
        let complaint = seen.iter().find_map(|client| client.complaint.clone());
        let fault = complaint
            .or(trouble)
            .or_else(|| clients::fault(board, &self.words, &seen));
        if let Some(actual) = fault {
            return Err(Mismatch { expected, actual });
        }
        for client in &seen {
            self.total.add(client);
        }
        Ok(expected)
    }

    fn forget(&mut self) {
        self.total = Total::new();
    }

    fn metrics(&self, elapsed: Duration) -> BTreeMap<String, Metric> {
        let Total {
            posts,
            reads,
            posted,
            read,
        } = &self.total;
        let mut metrics: BTreeMap<String, Metric> = posts.summary().into_iter().collect();
        metrics.extend(reads.summary());
        let seconds = elapsed.as_secs_f64();
        if seconds > 0.0 {
            let rate = |count: u64| count as f64 / seconds;
            let rates = [
                ("posts_per_second", rate(*posted)),
                ("reads_per_second", rate(*read)),
                (
                    "requests_per_thread_per_second",
                    rate(posted + read) / self.clients() as f64,
                ),
            ];
            metrics.extend(rates.map(|(name, value)| metric(name, value, "requests/s")));
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use ::protocol::Size;

    use super::*;

    fn evening(implementation: &str, harness: &str) -> Box<dyn Instance> {
        let explicit = [("implementation", implementation), ("harness", harness)];
        let explicit = explicit
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        let values = ::protocol::workload("forum")
            .resolve(Size::Tiny, &explicit, false)
            .unwrap();
        let setup = Setup {
            seed: 1,
            values: &values,
            input: None,
            threads: 1,
        };
        prepare(&setup).unwrap()
    }

    #[test]
    fn a_run_that_was_good_is_accepted_once() {
        let mut evening = evening("pool", "short-lines");
        evening.reset();
        assert!(evening.run_sequential() >= 4, "one request of each client");
        assert!(evening.check().is_ok());
        assert!(evening.check().is_err(), "nothing ran since");
    }

    #[test]
    fn every_implementation_serves_all_clients() {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(2)
            .build()
            .unwrap();
        for (implementation, harness) in [
            ("pool", "short-lines"),
            ("pool", "long-lines"),
            ("queue", "short-lines"),
            ("threads", "long-lines"),
        ] {
            let mut evening = evening(implementation, harness);
            evening.reset();
            assert!(evening.run_on(&pool) >= 4, "{implementation}");
            evening
                .check()
                .unwrap_or_else(|it| panic!("{implementation}: {it:?}"));
        }
    }
}
