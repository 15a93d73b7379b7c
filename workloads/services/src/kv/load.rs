//! The clients: sessions one after the other (closed loop), or requests at a fixed rate (open
//! loop).

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::client::Client;
use super::http::Method;
use super::plan::{Plan, Step, key_of};
use super::service::Counts;
use crate::net::{Stopper, serve_guests};
use workloads::kinds::latency::Latencies;
use workloads::kinds::pacing::sleep_until;
use workloads::usage::thread_cpu;

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Each when the one before it has been answered.
    Closed,
    /// So many a second over all clients, whatever has been answered.
    Open {
        /// Requests a second.
        rate: u64,
    },
}

/// The report of one client.
pub(crate) struct ClientReport {
    /// From the moment when a request was sent, or with an open loop was due, to its answer.
    pub(crate) latency: Latencies,
    /// From the moment when it was due until it was sent.
    pub(crate) lateness: Latencies,
    /// From connecting to the last answer.
    pub(crate) session: Latencies,
    pub(crate) counts: Counts,
    /// The first thing that was not as it should be.
    pub(crate) complaint: Option<String>,
    pub(crate) cpu: Duration,
}

impl ClientReport {
    pub(crate) fn nothing() -> Self {
        Self {
            latency: Latencies::new("latency"),
            lateness: Latencies::new("lateness"),
            session: Latencies::new("session"),
            counts: BTreeMap::new(),
            complaint: None,
            cpu: Duration::ZERO,
        }
    }

    /// Adds what another client saw.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.latency.absorb(&other.latency);
        self.lateness.absorb(&other.lateness);
        self.session.absorb(&other.session);
        for (key, count) in other.counts {
            *self.counts.entry(key).or_insert(0) += count;
        }
        self.complaint = self.complaint.take().or(other.complaint);
        self.cpu += other.cpu;
    }
}

/// The work of all clients.
pub(crate) struct Load<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) address: SocketAddr,
    pub(crate) clients: usize,
    pub(crate) pace: Pace,
}

impl Load<'_> {
    /// Runs all clients beside `serve`, which serves until it is stopped; that is when the last
    /// client has gone.
    pub(crate) fn run<T>(&self, stopper: &Stopper, serve: impl FnOnce() -> T) -> (T, ClientReport) {
        let begun = Instant::now();
        let clients = (0..self.clients).map(|number| move || self.client(number, begun));
        let (served, all) = serve_guests(stopper, clients, serve);
        let mut seen = ClientReport::nothing();
        for client in all {
            seen.absorb(client);
        }
        (served, seen)
    }

    /// Sessions `number`, `number + clients`, …
    fn client(&self, number: usize, begun: Instant) -> ClientReport {
        let mut seen = ClientReport::nothing();
        let mut sent = 0_u64;
        for session in (number..self.plan.sessions.len()).step_by(self.clients) {
            if let Err(complaint) = self.session(session, number, begun, &mut sent, &mut seen) {
                seen.complaint.get_or_insert(complaint);
            }
        }
        seen.cpu = thread_cpu();
        seen
    }

    fn session(
        &self,
        session: usize,
        number: usize,
        begun: Instant,
        sent: &mut u64,
        seen: &mut ClientReport,
    ) -> Result<(), String> {
        let context = |error: io::Error| format!("session {session}: {error}");
        let session_begun = Instant::now();
        let mut client = Client::connect(self.address).map_err(context)?;
        for step in &self.plan.sessions[session] {
            let due = match self.pace {
                Pace::Closed => Instant::now(),
                Pace::Open { rate } => {
                    let place = *sent * self.clients as u64 + number as u64;
                    let due = begun + Duration::from_secs_f64(place as f64 / rate as f64);
                    sleep_until(due);
                    seen.lateness.count(due.elapsed());
                    due
                }
            };
            *sent += 1;
            let complaint = self
                .step(&mut client, session, step, seen)
                .map_err(context)?;
            seen.latency.count(due.elapsed());
            seen.complaint = seen.complaint.take().or(complaint);
        }
        seen.session.count(session_begun.elapsed());
        Ok(())
    }

    /// Asks, and says what was wrong with the answer.
    fn step(
        &self,
        client: &mut Client,
        session: usize,
        step: &Step,
        seen: &mut ClientReport,
    ) -> io::Result<Option<String>> {
        let key = key_of(session, step.key);
        let answer = client.ask(step.method, &key, self.plan.letters(&step.sent))?;
        *seen.counts.entry((step.method, answer.status)).or_insert(0) += 1;
        let complain = |what: &str| Ok(Some(format!("{} /{key}: {what}", step.method)));
        if answer.status != step.status {
            return complain(&format!("status {}, not {}", answer.status, step.status));
        }
        if let Some((piece, md5)) = &step.document {
            if answer.tag != Some(format!("{:032x}", u128::from_be_bytes(*md5))) {
                return complain(&format!("MD5 {:?} is wrong", answer.tag));
            }
            if step.method == Method::Get && answer.body != self.plan.letters(piece) {
                return complain("another document than was stored");
            }
        }
        Ok(None)
    }
}
