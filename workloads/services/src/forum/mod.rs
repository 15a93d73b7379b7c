//! `forum`: a message board on TCP with posters and readers, after a study of servers with a thread
//! for each connection.
//!
//! Files: `protocol.rs` the lines, `board.rs` the topics, `clients.rs` the harness. The server's
//! threads are in `crate::net`.

mod board;
mod clients;
mod protocol;

use std::collections::BTreeMap;
use std::io;
use std::time::{Duration, Instant};

use ::protocol::{Metric, Refusal, Values};
use rayon::ThreadPool;

use crate::descriptors;
use crate::net::{Handlers, LOOPBACK, Limits, Queue, Server, Unit};
use board::Board;
use clients::{ClientReport, Clients, Role, Words};
use workloads::kinds::latency::Latencies;
use workloads::usage::process_cpu;
use workloads::workload::{Instance, Mismatch, Setup};

/// Parameters that concern the server.
pub(crate) const OF_SERVER: [&str; 1] = ["implementation"];

/// Serves until it is stopped; says what happened.
pub(crate) fn serve(server: Server, values: &Values, pool: &ThreadPool) -> io::Result<String> {
    let board = Board::new();
    let (handlers, unit) = Implementation::of(values).handlers(pool);
    let counts = server.run(&board, handlers, unit)?;
    Ok(format!(
        "{counts}\n{} messages on the board\n",
        board.messages()
    ))
}

/// The handlers that answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Implementation {
    Pool,
    Queue,
    Threads,
}

impl Implementation {
    fn of(values: &Values) -> Self {
        match values.word("implementation") {
            "queue" => Self::Queue,
            "threads" => Self::Threads,
            _ => Self::Pool,
        }
    }

    /// Behind a queue are as many threads as `pool` has, which then sleep.
    fn handlers(self, pool: &ThreadPool) -> (Handlers<'_>, Unit) {
        match self {
            Self::Pool => (Handlers::Pool(pool), Unit::Requests),
            Self::Queue => {
                let count = pool.current_num_threads();
                (
                    Handlers::Threads {
                        count,
                        queue: Queue::LockFree,
                    },
                    Unit::Requests,
                )
            }
            Self::Threads => (Handlers::ThreadPerConnection, Unit::Connections),
        }
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
        implementation: Implementation::of(values),
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
    implementation: Implementation,
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
    /// Requests of each client, posters first.
    clients: Vec<u64>,
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
            clients: Vec::new(),
            posted: 0,
            read: 0,
            elapsed: Duration::ZERO,
            server_cpu: Duration::ZERO,
        }
    }

    fn add(&mut self, run: &Run) {
        self.clients.resize(run.seen.len(), 0);
        for (client, sum) in run.seen.iter().zip(&mut self.clients) {
            *sum += client.requests;
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
    fn serve(&mut self, handlers: Handlers<'_>, unit: Unit) -> u64 {
        let (server, board) = self.stage.take().expect("the stage was set");
        let address = server
            .address()
            .expect("the kernel knows an address that it gave");
        let Self {
            seed,
            posters,
            readers,
            duration,
            ref words,
            ..
        } = *self;
        let clients = Clients {
            words,
            seed,
            posters,
            readers,
            duration,
            address,
        };
        let (begun, cpu_before) = (Instant::now(), process_cpu());
        let stopper = server.stopper();
        let (ended, seen) = clients.run(&stopper, || server.run(&board, handlers, unit));
        let (elapsed, cpu) = (begun.elapsed(), process_cpu().saturating_sub(cpu_before));
        let trouble = match ended {
            Err(error) => Some(format!("the server: {error}")),
            Ok(counts) if counts.good != (posters + readers) as u64 => Some(counts.to_string()),
            Ok(_) => None,
        };
        let requests = seen.iter().map(|client| client.requests).sum();
        let client_cpu = seen.iter().map(|client| client.cpu).sum();
        let server_cpu = cpu.saturating_sub(client_cpu);
        self.run = Some(Run {
            board,
            seen,
            trouble,
            elapsed,
            server_cpu,
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
        self.serve(Handlers::Reader, Unit::Requests)
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        let (handlers, unit) = self.implementation.handlers(pool);
        self.serve(handlers, unit)
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
        let mut add = |name: &str, value: f64, unit: &str| {
            metrics.insert(
                name.to_owned(),
                Metric {
                    value,
                    unit: unit.to_owned(),
                },
            );
        };
        let rate = |count: u64| count as f64 / seconds;
        add("requests_per_second", rate(requests), "requests/s");
        add("posts_per_second", rate(total.posted), "requests/s");
        add("reads_per_second", rate(total.read), "requests/s");
        let clients = (self.posters + self.readers) as f64;
        add(
            "requests_per_thread_per_second",
            rate(requests) / clients,
            "requests/s",
        );
        let (posters, readers) = total.clients.split_at(self.posters);
        for (name, clients) in [("poster", posters), ("reader", readers)] {
            let ends = [
                ("slowest", clients.iter().min()),
                ("fastest", clients.iter().max()),
            ];
            for (end, count) in ends {
                let count = count.copied().unwrap_or(0);
                add(
                    &format!("{end}_{name}_per_second"),
                    rate(count),
                    "requests/s",
                );
            }
        }
        let cpu = total.server_cpu.as_secs_f64() * 1e9 / requests as f64;
        add("server_cpu_per_request", cpu, "ns/request");
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
