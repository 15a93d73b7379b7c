//! The clients: sessions one after the other (closed loop), or requests at a fixed rate (open
//! loop).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::time::{Duration, Instant};

use super::http::Method;
use super::plan::{Plan, Step, key_of};
use super::service::Counts;
use crate::http::MAX_HEAD;
use workloads::kinds::latency::Latencies;
use workloads::kinds::pacing::sleep_until;

/// The time limit of an answer. A guess: longer than any answer takes. A server that hangs then
/// causes an error, and the client does not hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// Headers that an answer has at most.
const MAX_HEADERS: usize = 16;

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// Each request when the one before has been answered.
    Closed,
    /// At a fixed rate over all clients, independent of answers.
    Open {
        /// Requests a second.
        rate: u64,
    },
}

/// The report of the clients.
pub(crate) struct Report {
    /// From the moment when a request was sent (in an open loop: was due) to its answer.
    pub(crate) latency: Latencies,
    /// From the moment when it was due until it was sent.
    pub(crate) lateness: Latencies,
    /// From connecting to the last answer.
    pub(crate) session: Latencies,
    pub(crate) counts: Counts,
    /// The first error.
    pub(crate) complaint: Option<String>,
}

impl Report {
    pub(crate) fn nothing() -> Self {
        Self {
            latency: Latencies::new("latency"),
            lateness: Latencies::new("lateness"),
            session: Latencies::new("session"),
            counts: BTreeMap::new(),
            complaint: None,
        }
    }

    /// Adds the report of other clients.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.latency.absorb(&other.latency);
        self.lateness.absorb(&other.lateness);
        self.session.absorb(&other.session);
        for (key, count) in other.counts {
            *self.counts.entry(key).or_insert(0) += count;
        }
        self.complaint = self.complaint.take().or(other.complaint);
    }
}

/// The work of all clients.
#[derive(Clone, Copy)]
pub(crate) struct Load<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) address: SocketAddr,
    pub(crate) clients: usize,
    pub(crate) pace: Pace,
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
        let mut client = Client::connect(self.address)?;
        for step in &self.plan.sessions[session] {
            let due = match self.pace {
                Pace::Closed => Instant::now(),
                Pace::Open { rate } => {
                    let place = *sent * self.clients as u64 + number as u64;
                    let due = self.begun + Duration::from_secs_f64(place as f64 / rate as f64);
                    sleep_until(due);
                    seen.lateness.count(due.elapsed());
                    due
                }
            };
            *sent += 1;
            let complaint = self.step(&mut client, session, step, seen)?;
            seen.latency.count(due.elapsed());
            seen.complaint = seen.complaint.take().or(complaint);
        }
        seen.session.count(session_begun.elapsed());
        Ok(())
    }

    /// Sends a request, and returns an error if the answer is wrong.
    fn step(
        &self,
        client: &mut Client,
        session: usize,
        step: &Step,
        seen: &mut Report,
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
            if step.method == Method::Get && client.input[answer.body] != *self.plan.letters(piece)
            {
                return complain("the document differs from the stored one");
            }
        }
        Ok(None)
    }
}

/// One connection, whose client waits for each answer.
struct Client {
    stream: TcpStream,
    address: SocketAddr,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl Client {
    fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            address,
            input: Vec::new(),
            output: Vec::new(),
        })
    }

    /// Sends a request and waits for the answer.
    fn ask(&mut self, method: Method, key: &str, body: &[u8]) -> io::Result<Answer> {
        self.output.clear();
        write!(
            self.output,
            "{method} /{key} HTTP/1.1\r\nHost: {}\r\n",
            self.address
        )?;
        if method == Method::Post {
            write!(self.output, "Content-Length: {}\r\n", body.len())?;
        }
        self.output.extend_from_slice(b"\r\n");
        self.output.extend_from_slice(body);
        self.stream.write_all(&self.output)?;
        self.input.clear();
        loop {
            if let Some(answer) = Answer::in_whole(&self.input)? {
                return Ok(answer);
            }
            let length = self.input.len();
            self.input.resize(length + MAX_HEAD, 0);
            let count = self.stream.read(&mut self.input[length..])?;
            self.input.truncate(length + count);
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// An answer. The input contains nothing else.
struct Answer {
    status: u16,
    /// The entity tag without its quotation marks.
    tag: Option<String>,
    body: Range<usize>,
}

impl Answer {
    /// Returns the answer in `input` once it is complete.
    fn in_whole(input: &[u8]) -> io::Result<Option<Self>> {
        let wrong = |what: &str| io::Error::new(ErrorKind::InvalidData, what);
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut head = httparse::Response::new(&mut headers);
        let begin = match head.parse(input) {
            Ok(httparse::Status::Complete(bytes)) => bytes,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(wrong(&error.to_string())),
        };
        let field = |name: &str| {
            let mut headers = head.headers.iter();
            let header = headers.find(|it| it.name.eq_ignore_ascii_case(name))?;
            str::from_utf8(header.value).ok()
        };
        let status = head.code.expect("a complete head has a status");
        let length: usize = match field("content-length") {
            Some(digits) => digits
                .parse()
                .map_err(|_| wrong("Content-Length is no number"))?,
            None if status == 204 => 0,
            None => return Err(wrong("an answer without Content-Length")),
        };
        let tag = field("etag").map(|tag| tag.trim_matches('"').to_owned());
        let body = begin..begin + length;
        match input.len() {
            all if all > body.end => Err(wrong("the server sent more than one answer")),
            all if all < body.end => Ok(None),
            _ => Ok(Some(Self { status, tag, body })),
        }
    }
}
