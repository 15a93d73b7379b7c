//! Runs a server with its clients beside it, and compares each run with the known answers.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use protocol::Metric;
use rayon::ThreadPool;

use super::{Handlers, LOOPBACK, Limits, Server, Service};
use crate::metrics::metric;
use workloads::usage::{process_cpu, thread_cpu};
use workloads::workload::{Instance, Mismatch};

/// The time limit of a client for each answer. A guess: longer than any answer takes.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) trait Exchange: Send + Sync {
    /// The server's side, created for each run.
    type Service: Service + Send;
    type Seen: Send;

    const NAME: &'static str;

    fn service(&self) -> Self::Service;

    fn handlers<'a>(&self, pool: &'a ThreadPool) -> Handlers<'a>;

    fn clients(&self) -> usize;

    /// Returns the number of the clients' connections, all of which should be good.
    fn connections(&self) -> usize;

    fn client(&self, number: usize, address: SocketAddr, begun: Instant) -> Self::Seen;

    fn requests(seen: &Self::Seen) -> u64;

    /// Compares a run with the known answers, and adds a good run to the measurements. `trouble`
    /// describes failed connections.
    fn check(
        &mut self,
        service: &Self::Service,
        seen: Vec<Self::Seen>,
        trouble: Option<String>,
    ) -> Result<String, Mismatch>;

    fn forget(&mut self);

    fn metrics(&self, elapsed: Duration) -> BTreeMap<String, Metric>;
}

pub(crate) struct Runs<E: Exchange> {
    exchange: E,
    /// The server and the service for the next run.
    stage: Option<(Server, E::Service)>,
    /// The last run, if its answers are not checked yet.
    pub(crate) last: Option<Run<E>>,
    requests: u64,
    elapsed: Duration,
    /// The CPU time of the process less that of the clients.
    server_cpu: Duration,
}

pub(crate) struct Run<E: Exchange> {
    pub(crate) service: E::Service,
    pub(crate) seen: Vec<E::Seen>,
    pub(crate) trouble: Option<String>,
    elapsed: Duration,
    server_cpu: Duration,
}

impl<E: Exchange> Runs<E> {
    pub(crate) fn new(exchange: E) -> Self {
        Self {
            exchange,
            stage: None,
            last: None,
            requests: 0,
            elapsed: Duration::ZERO,
            server_cpu: Duration::ZERO,
        }
    }

    fn run(&mut self, handlers: Handlers<'_>) -> u64 {
        let (server, service) = self.stage.take().expect("the stage was set");
        let exchange = &self.exchange;
        let address = server
            .address()
            .expect("the kernel gave the listener an address");
        let (begun, cpu_before) = (Instant::now(), process_cpu());
        let (ended, clients) = thread::scope(|scope| {
            let serving = scope.spawn(|| server.run(&service, handlers));
            let clients: Vec<_> = (0..exchange.clients())
                .map(|number| {
                    scope.spawn(move || (exchange.client(number, address, begun), thread_cpu()))
                })
                .collect();
            let seen: Vec<_> = clients
                .into_iter()
                .map(thread::ScopedJoinHandle::join)
                .collect();
            server.stopper().stop();
            (serving.join().expect("a server does not panic"), seen)
        });
        let (elapsed, cpu) = (begun.elapsed(), process_cpu().saturating_sub(cpu_before));
        let (seen, client_cpu): (Vec<E::Seen>, Vec<Duration>) = clients
            .into_iter()
            .map(|client| client.expect("a client reports errors and does not panic"))
            .unzip();
        let trouble = match ended {
            Err(error) => Some(format!("the server: {error}")),
            Ok(counts) if counts.good != exchange.connections() as u64 => Some(counts.to_string()),
            Ok(_) => None,
        };
        let requests = seen.iter().map(E::requests).sum();
        self.last = Some(Run {
            service,
            seen,
            trouble,
            elapsed,
            server_cpu: cpu.saturating_sub(client_cpu.iter().sum()),
        });
        requests
    }
}

impl<E: Exchange> Instance for Runs<E> {
    fn reset(&mut self) {
        self.last = None;
        let server = Server::bind(LOOPBACK, Limits::DEFAULT).unwrap_or_else(|error| {
            panic!(
                "{}: no port on {} is available: {error}",
                E::NAME,
                LOOPBACK.ip()
            )
        });
        self.stage = Some((server, self.exchange.service()));
    }

    fn forget_warmup(&mut self) {
        self.exchange.forget();
        (self.requests, self.elapsed, self.server_cpu) = Default::default();
    }

    fn run_sequential(&mut self) -> u64 {
        self.run(Handlers::Connection)
    }

    fn run_on(&mut self, pool: &ThreadPool) -> u64 {
        self.run(self.exchange.handlers(pool))
    }

    fn check(&mut self) -> Result<String, Mismatch> {
        let Some(run) = self.last.take() else {
            return Err(Mismatch {
                expected: "a run of clients and server".to_owned(),
                actual: "nothing ran".to_owned(),
            });
        };
        let requests: u64 = run.seen.iter().map(E::requests).sum();
        let answer = self.exchange.check(&run.service, run.seen, run.trouble)?;
        self.requests += requests;
        self.elapsed += run.elapsed;
        self.server_cpu += run.server_cpu;
        Ok(answer)
    }

    fn metrics(&self) -> BTreeMap<String, Metric> {
        let mut metrics = self.exchange.metrics(self.elapsed);
        if self.requests > 0 {
            let requests = self.requests as f64;
            let rate = requests / self.elapsed.as_secs_f64();
            let cpu = self.server_cpu.as_secs_f64() * 1e9 / requests;
            metrics.extend([
                metric("requests_per_second", rate, "requests/s"),
                metric("server_cpu_per_request", cpu, "ns/request"),
            ]);
        }
        metrics
    }
}

/// Connects a client, which gets an error if the server hangs.
pub(crate) fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}
