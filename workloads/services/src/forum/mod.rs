//! `forum`: a message board on TCP with posters and readers, after a study of servers with a thread
//! for each connection.
//!
//! Files: `protocol.rs` the lines, `board.rs` the topics, `clients.rs` the harness. The server's
//! threads are in `crate::net`.

mod board;
mod clients;
mod protocol;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ::protocol::{Metric, Refusal};
use rayon::ThreadPool;

use crate::net::{Handlers, LOOPBACK, Limits, Queue, Server, Unit, serve_beside};
use crate::{descriptors, metric};
use board::Board;
use clients::{ClientReport, Clients, Role, Words};
use workloads::kinds::latency::Latencies;
use workloads::workload::{Instance, Mismatch, Setup};

/// Parameters that concern the server.
#[cfg(feature = "cli")]
pub(crate) const OF_SERVER: [&str; 1] = ["implementation"];

/// Serves until it is stopped; says what happened.
#[cfg(feature = "cli")]
pub(crate) fn serve(
    server: &Server,
    values: &::protocol::Values,
    pool: &ThreadPool,
) -> std::io::Result<String> {
    let board = Board::new();
    let counts = server.run(&board, handlers(values.word("implementation"), pool))?;
    Ok(format!(
        "{counts}\n{} messages on the board\n",
        board.messages()
    ))
}

/// The handlers that answer; behind a queue are as many threads as `pool` has, which then sleep.
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
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    let (posters, readers) = (values.count("posters"), values.count("readers"));
    descriptors::check("forum", "posters + readers", posters + readers)?;
    Ok(Box::new(BoardRun {
        seed: setup.seed,
        implementation: values.word("implementation").to_owned(),
        words: match values.word("harness") {
            "long-lines" => Words::long(),
            _ => Words::short(),
        },
        posters,
        readers,
        duration: Duration::from_millis(values.whole("duration-ms")),
        stage: None,
        run: None,
        total: Total::new(),
    }))
}

struct BoardRun {
    seed: u64,
    implementation: String,
    words: Words,
    posters: usize,
    readers: usize,
    duration: Duration,
    /// Ready for the next run.
    stage: Option<(Server, Board)>,
    /// The last run, until it is checked.
    run: Option<Run>,
    total: Total,
}

/// The results of one run.
struct Run {
    board: Board,
    seen: Vec<ClientReport>,
    trouble: Option<String>,
    elapsed: Duration,
    server_cpu: Duration,
}

/// Runs since the warm-up.
struct Total {
    posts: Latencies,
    reads: Latencies,
    posted: u64,
    read: u64,
    elapsed: Duration,
    server_cpu: Duration,
}

impl Total {
    fn new() -> Self {
        Self {
            posts: Latencies::new("post"),
            reads: Latencies::new("read"),
            posted: 0,
            read: 0,
            elapsed: Duration::ZERO,
            server_cpu: Duration::ZERO,
        }
    }

    fn add(&mut self, run: &Run) {
        for client in &run.seen {
            let (latencies, count) = match client.role {
                Role::Poster => (&mut self.posts, &mut self.posted),
                Role::Reader => (&mut self.reads, &mut self.read),
            };
            latencies.absorb(&client.latency);
            *count += client.requests;
        }
        self.elapsed += run.elapsed;
        self.server_cpu += run.server_cpu;
    }
}

impl BoardRun {
    fn serve(&mut self, handlers: Handlers<'_>) -> u64 {
        let (server, board) = self.stage.take().expect("the stage was set");
        let all = Clients {
            words: &self.words,
            seed: self.seed,
            until: Instant::now() + self.duration,
            address: server.address().expect("the kernel gave it an address"),
        };
        let posters = (0..self.posters).map(|number| (Role::Poster, number));
        let readers = (0..self.readers).map(|number| (Role::Reader, number));
        let clients = posters
            .chain(readers)
            .map(|(role, number)| move || all.client(role, number));
        let run = serve_beside(&server, &board, handlers, clients);
        let trouble = run.trouble(self.posters + self.readers);
        let requests = run.clients.iter().map(|client| client.requests).sum();
        self.run = Some(Run {
            board,
            trouble,
            seen: run.clients,
            elapsed: run.elapsed,
            server_cpu: run.server_cpu,
        });
        requests
    }
}

impl Instance for BoardRun {
    fn reset(&mut self) {
        self.run = None;
        let server = Server::bind(LOOPBACK, Limits::DEFAULT).unwrap_or_else(|error| {
            panic!("forum: no port on {} can be had: {error}", LOOPBACK.ip())
        });
        self.stage = Some((server, Board::new()));
    }

    fn forget_warmup(&mut self) {
        self.total = Total::new();
    }

    fn run_sequential(&mut self) -> u64 {
        self.serve(Handlers::Connection)
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        self.serve(handlers(&self.implementation.clone(), pool))
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let expected = "every accepted message is there, and what was read stands there".to_owned();
        let Some(run) = self.run.take() else {
            return Err(Mismatch {
                expected,
                actual: "nothing ran".to_owned(),
            });
        };
        let complaint = run.seen.iter().find_map(|client| client.complaint.clone());
        let fault = complaint
            .or(run.trouble.clone())
            .or_else(|| clients::fault(&run.board, &self.words, &run.seen));
        if let Some(actual) = fault {
            return Err(Mismatch { expected, actual });
        }
        self.total.add(&run);
        Ok(expected)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let total = &self.total;
        let mut metrics: BTreeMap<String, Metric> = BTreeMap::new();
        for latencies in [&total.posts, &total.reads] {
            metrics.extend(latencies.summary());
        }
        let seconds = total.elapsed.as_secs_f64();
        let requests = total.posted + total.read;
        if requests == 0 || seconds <= 0.0 {
            return metrics;
        }
        let rate = |count: u64| count as f64 / seconds;
        let clients = (self.posters + self.readers) as f64;
        let cpu = total.server_cpu.as_secs_f64() * 1e9 / requests as f64;
        let rates = [
            ("requests_per_second", rate(requests)),
            ("posts_per_second", rate(total.posted)),
            ("reads_per_second", rate(total.read)),
            ("requests_per_thread_per_second", rate(requests) / clients),
        ];
        metrics.extend(rates.map(|(name, value)| metric(name, value, "requests/s")));
        metrics.extend([metric("server_cpu_per_request", cpu, "ns/request")]);
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
