//! `forum`: a message board on TCP with posters and readers. The model is a study of servers with a
//! thread for each connection.

mod board;
mod clients;
mod protocol;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use ::protocol::{Metric, Refusal};
use rayon::ThreadPool;

use crate::metrics::metric;
use crate::net::{Exchange, Handlers, Queue, Runs, Unit};
use board::Board;
use clients::{ClientReport, Clients, ROLES, Role, Words};
use workloads::workload::{Instance, Mismatch, Setup};

#[cfg(feature = "cli")]
pub(crate) const OF_SERVER: [&str; 1] = ["implementation"];

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

/// With a queue, there are as many handler threads as `pool` has workers; the workers then sleep.
fn handlers<'a>(implementation: &str, pool: &'a ThreadPool) -> Handlers<'a> {
    match implementation {
        "queue" => Handlers::Threads(pool.current_num_threads(), Queue::LockFree, Unit::Requests),
        "threads" => Handlers::Connection,
        _ => Handlers::Pool(pool, Unit::Requests),
    }
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "all workloads have this signature"
)]
pub(crate) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let values = setup.values;
    Ok(Box::new(Runs::new(Discussion {
        clients: Clients {
            seed: setup.seed,
            words: Words::new(values.word("harness") == "long-lines"),
            values: values.clone(),
        },
        total: ROLES.map(ClientReport::nothing),
    })))
}

struct Discussion {
    clients: Clients,
    /// Measurements since the warm-up, by role.
    total: [ClientReport; 2],
}

impl Exchange for Discussion {
    type Service = Board;
    type Seen = ClientReport;

    const NAME: &'static str = "forum";

    fn service(&self) -> Board {
        Board::new()
    }

    fn handlers<'a>(&self, pool: &'a ThreadPool) -> Handlers<'a> {
        handlers(self.clients.values.word("implementation"), pool)
    }

    fn clients(&self) -> usize {
        self.clients.values.count("posters") + self.clients.values.count("readers")
    }

    fn connections(&self) -> usize {
        self.clients()
    }

    fn client(&self, number: usize, address: SocketAddr, begun: Instant) -> ClientReport {
        match number.checked_sub(self.clients.values.count("posters")) {
            None => self.clients.run(Role::Poster, number, address, begun),
            Some(number) => self.clients.run(Role::Reader, number, address, begun),
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
            .or_else(|| clients::fault(board, &self.clients.words, &seen));
        if let Some(actual) = fault {
            return Err(Mismatch { expected, actual });
        }
        for client in &seen {
            let total = &mut self.total[client.role as usize];
            total.latency.absorb(&client.latency);
            total.requests += client.requests;
        }
        Ok(expected)
    }

    fn forget(&mut self) {
        self.total = ROLES.map(ClientReport::nothing);
    }

    fn metrics(&self, elapsed: Duration) -> BTreeMap<String, Metric> {
        let [posts, reads] = &self.total;
        let mut metrics: BTreeMap<String, Metric> = posts.latency.summary().into_iter().collect();
        metrics.extend(reads.latency.summary());
        let seconds = elapsed.as_secs_f64();
        if seconds > 0.0 {
            let rate = |requests: u64| requests as f64 / seconds;
            let each = rate(posts.requests + reads.requests) / self.clients() as f64;
            let rates = [
                ("posts_per_second", rate(posts.requests)),
                ("reads_per_second", rate(reads.requests)),
                ("requests_per_thread_per_second", each),
            ];
            metrics.extend(rates.map(|(name, value)| metric(name, value, "requests/s")));
        }
        metrics
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{pool, values};

    fn discussion(explicit: &str) -> Box<dyn Instance> {
        let setup = Setup {
            seed: 1,
            values: &values("forum", explicit),
            input: None,
            threads: 1,
        };
        prepare(&setup).unwrap()
    }

    #[test]
    fn a_run_that_was_good_is_accepted_once() {
        let mut discussion = discussion("");
        discussion.reset();
        assert!(
            discussion.run_sequential() >= 4,
            "one request of each client"
        );
        assert!(discussion.check().is_ok());
        assert!(discussion.check().is_err(), "nothing ran since");
    }

    #[test]
    fn every_implementation_serves_all_clients() {
        for explicit in [
            "implementation=pool harness=long-lines",
            "implementation=queue harness=short-lines",
            "implementation=threads harness=long-lines",
        ] {
            let mut discussion = discussion(explicit);
            discussion.reset();
            assert!(discussion.run_on(&pool(2)) >= 4, "{explicit}");
            let checked = discussion.check();
            checked.unwrap_or_else(|it| panic!("{explicit}: {it:?}"));
        }
    }
}
