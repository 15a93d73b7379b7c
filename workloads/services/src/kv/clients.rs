//! The clients: sessions one after the other (closed loop), or requests at a fixed rate (open
//! loop).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use protocol::Values;

use super::http::Method;
use super::plan::{Plan, Step};
use crate::net::connect;
use workloads::kinds::latency::Latencies;
use workloads::kinds::pacing::sleep_until;

pub(crate) struct Report {
    /// Times from sending a request to its answer; in an open loop, from the planned moment.
    pub(crate) latency: Latencies,
    /// Times from the planned moment of a request until the client sent it.
    pub(crate) lateness: Latencies,
    /// Times from connecting to the last answer of a session.
    pub(crate) session: Latencies,
    /// The number of requests with the known answer.
    pub(crate) requests: u64,
    pub(crate) complaint: Option<String>,
}

impl Report {
    pub(crate) fn nothing() -> Self {
        Self {
            latency: Latencies::new("latency"),
            lateness: Latencies::new("lateness"),
            session: Latencies::new("session"),
            requests: 0,
            complaint: None,
        }
    }

    pub(crate) fn absorb(&mut self, other: Self) {
        self.latency.absorb(&other.latency);
        self.lateness.absorb(&other.lateness);
        self.session.absorb(&other.session);
        self.requests += other.requests;
        self.complaint = self.complaint.take().or(other.complaint);
    }
}

pub(crate) struct Clients {
    pub(crate) plan: Plan,
    pub(crate) values: Values,
}

impl Clients {
    /// Runs client `number`, which has the sessions `number`, `number + clients`, …
    pub(crate) fn run(&self, number: usize, address: SocketAddr, begun: Instant) -> Report {
        let (mut seen, mut sent) = (Report::nothing(), 0);
        let all = number..self.plan.sessions.len();
        for session in all.step_by(self.values.count("clients")) {
            let mut due = || {
                sent += 1;
                self.due(sent - 1, number, begun)
            };
            if let Err(error) = self.session(session, address, &mut due, &mut seen) {
                let complaint = format!("session {session}: {error}");
                seen.complaint.get_or_insert(complaint);
            }
        }
        seen
    }

    /// Returns the time at which a client should send its next request, so that all clients
    /// together send at the rate. `None` if the client should send the request as soon as it has
    /// the answer to the previous request.
    fn due(&self, sent: u64, number: usize, begun: Instant) -> Option<Instant> {
        let place = sent * self.values.whole("clients") + number as u64;
        let rate = (self.values.word("load") == "open").then(|| self.values.whole("rate"))?;
        Some(begun + Duration::from_secs_f64(place as f64 / rate as f64))
    }

    fn session(
        &self,
        session: usize,
        address: SocketAddr,
        due: &mut dyn FnMut() -> Option<Instant>,
        seen: &mut Report,
    ) -> io::Result<()> {
        let begun = Instant::now();
        let mut client = Client {
            stream: connect(address)?,
            address,
            buffer: Vec::new(),
            expected: Vec::new(),
        };
        for step in &self.plan.sessions[session] {
            let due = due().map_or_else(Instant::now, |due| {
                sleep_until(due);
                seen.lateness.count(due.elapsed());
                due
            });
            client.ask(&self.plan, session, step)?;
            seen.latency.count(due.elapsed());
            seen.requests += 1;
        }
        seen.session.count(begun.elapsed());
        Ok(())
    }
}

struct Client {
    stream: TcpStream,
    address: SocketAddr,
    /// Holds the request, and later the answer.
    buffer: Vec<u8>,
    expected: Vec<u8>,
}

impl Client {
    fn ask(&mut self, plan: &Plan, session: usize, step: &Step) -> io::Result<()> {
        self.expected.clear();
        plan.answer(step, &mut self.expected);
        let (method, (key, body)) = (step.method, plan.request(session, step));
        self.buffer.clear();
        let (request, address) = (&mut self.buffer, self.address);
        write!(request, "{method} /{key} HTTP/1.1\r\nHost: {address}\r\n")?;
        if method == Method::Post {
            write!(request, "Content-Length: {}\r\n", body.len())?;
        }
        request.extend_from_slice(b"\r\n");
        request.extend_from_slice(body);
        self.stream.write_all(request)?;
        // The buffer has one byte more than the answer, so that a longer answer is noticed.
        self.buffer.resize(self.expected.len() + 1, 0);
        let mut length = 0;
        while length < self.expected.len() {
            let count = self.stream.read(&mut self.buffer[length..])?;
            length += count;
            if count == 0 || !self.expected.starts_with(&self.buffer[..length]) {
                let [expected, actual] = [&self.expected, &self.buffer[..length]]
                    .map(|it| String::from_utf8_lossy(it).into_owned());
                let what = format!("{method} /{key}: expected {expected:?}, got {actual:?}");
                return Err(io::Error::new(ErrorKind::InvalidData, what));
            }
        }
        Ok(())
    }
}
