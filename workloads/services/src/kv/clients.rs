//! The clients: sessions one after the other (closed loop), or requests at a fixed rate (open
//! loop).

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use super::http::Method;
use super::plan::{Plan, Step};
use crate::net::connect;
use workloads::kinds::latency::Latencies;
use workloads::kinds::pacing::sleep_until;

/// The report of the clients.
pub(crate) struct Report {
    /// From the moment when a request was sent (in an open loop: was due) to its answer.
    pub(crate) latency: Latencies,
    /// From the moment when it was due until it was sent.
    pub(crate) lateness: Latencies,
    /// From connecting to the last answer.
    pub(crate) session: Latencies,
    /// The number of requests with the known answer.
    pub(crate) requests: u64,
    /// The first error.
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

    /// Adds the report of other clients.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.latency.absorb(&other.latency);
        self.lateness.absorb(&other.lateness);
        self.session.absorb(&other.session);
        self.requests += other.requests;
        self.complaint = self.complaint.take().or(other.complaint);
    }
}

/// The work of all clients.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) address: SocketAddr,
    pub(crate) clients: usize,
    /// Requests a second over all clients, independent of answers. `None`: a client sends each
    /// request when the one before has been answered.
    pub(crate) rate: Option<u64>,
    pub(crate) begun: Instant,
}

impl Load<'_> {
    /// A client: sessions `number`, `number + clients`, …
    pub(crate) fn client(&self, number: usize) -> Report {
        let mut seen = Report::nothing();
        let mut sent = 0_u64;
        for session in (number..self.plan.sessions.len()).step_by(self.clients) {
            if let Err(error) = self.session(session, number, &mut sent, &mut seen) {
                let complaint = format!("session {session}: {error}");
                seen.complaint.get_or_insert(complaint);
            }
        }
        seen
    }

    fn session(
        &self,
        session: usize,
        number: usize,
        sent: &mut u64,
        seen: &mut Report,
    ) -> io::Result<()> {
        let session_begun = Instant::now();
        let mut client = Client {
            stream: connect(self.address)?,
            address: self.address,
            buffer: Vec::new(),
            expected: Vec::new(),
        };
        for step in &self.plan.sessions[session] {
            let due = match self.rate {
                None => Instant::now(),
                Some(rate) => {
                    let place = *sent * self.clients as u64 + number as u64;
                    let due = self.begun + Duration::from_secs_f64(place as f64 / rate as f64);
                    sleep_until(due);
                    seen.lateness.count(due.elapsed());
                    due
                }
            };
            *sent += 1;
            client.ask(self.plan, session, step)?;
            seen.latency.count(due.elapsed());
            seen.requests += 1;
        }
        seen.session.count(session_begun.elapsed());
        Ok(())
    }
}

/// One connection, whose client waits for each answer.
struct Client {
    stream: TcpStream,
    address: SocketAddr,
    /// The request, then its answer.
    buffer: Vec<u8>,
    /// The known answer.
    expected: Vec<u8>,
}

impl Client {
    /// Sends a request and waits for the answer.
    ///
    /// # Errors
    /// Those of the stream, and `InvalidData` if the answer is not the known one.
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
        // One byte more than the answer, so that a longer answer is noticed.
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
