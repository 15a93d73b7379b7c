//! A TCP server for the service workloads: one loop accepts connections, another serves each of
//! them.
//!
//! Each client has a thread, so a slow client never occupies a worker of a pool. The thread reads a
//! request, passes it to a handler (`server.rs`), and sends the answer. Beyond the limit of
//! connections, a client waits in the kernel's queue. Both loops ([`accept`] and `conversation.rs`)
//! also run on user-level threads: `crate::file_server`.

mod conversation;
#[cfg(test)]
mod conversation_tests;
mod queue;
mod run;
mod server;

#[cfg(feature = "cli")]
pub(crate) use conversation::{Output, converse};
pub(crate) use conversation::{Stream, TICK};
pub(crate) use queue::Kind as Queue;
#[cfg(test)]
pub(crate) use run::Run;
pub(crate) use run::{Exchange, Runs, metric};
#[cfg(feature = "cli")]
pub(crate) use server::accept;
pub(crate) use server::{Handlers, Server, Stop, Unit};

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// A free port of this host only.
pub(crate) const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// The requests of a connection.
pub(crate) trait Protocol {
    /// One complete request, independent of the bytes from which it was parsed.
    type Request: Send;

    /// Parses the beginning of `input`, the unanswered bytes of a connection. A prefix of `input`
    /// must give the same result, or [`Parsed::Incomplete`].
    fn parse(&self, input: &[u8]) -> Parsed<Self::Request>;

    /// Returns the answer for a client whose incomplete request the server does not serve.
    fn refuse(&self, why: Refused) -> Vec<u8>;
}

/// The answers to requests.
pub(crate) trait Service: Protocol + Sync {
    /// The outcome of a request.
    type Outcome: Send;

    /// Executes the request and appends the answer to `output`. `is_last`: the server is about to
    /// close the connection, and the answer should say so.
    fn answer(
        &self,
        request: &Self::Request,
        is_last: bool,
        output: &mut Vec<u8>,
    ) -> (Self::Outcome, Then);

    /// A request was answered, and the kernel has the answer. Connections are numbered from 0.
    fn answered(
        &self,
        connection: usize,
        request: &Self::Request,
        outcome: Self::Outcome,
        times: Times,
    );
}

/// The beginning of a connection's input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed<R> {
    /// The request is not complete.
    Incomplete {
        /// Sent once if the client waits for it before it sends the rest.
        interim_response: Option<&'static [u8]>,
    },
    /// A request in the first `length` bytes.
    Whole {
        /// The request itself.
        request: R,
        /// Its length in bytes.
        length: usize,
    },
    /// An invalid request; the answer says why, and the connection ends.
    Wrong {
        /// The answer to the client.
        answer: Vec<u8>,
    },
}

/// The next step of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The connection stays open for the next request.
    Listen,
    /// The connection ends.
    Close,
}

/// Why the server does not serve a client's incomplete request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// The request did not arrive within the time limit.
    TooSlow,
    /// The request was incomplete when the server was stopped.
    Stopping,
}

/// The times of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The whole request had been read. For the first request of a connection that waited for a
    /// handler, this is earlier by that wait.
    pub(crate) arrived: Instant,
    /// A handler began to execute it.
    pub(crate) begun: Instant,
    /// The answer had been written.
    pub(crate) ended: Instant,
}

/// Limits for one client, and for all clients together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The most open connections.
    pub(crate) connections: usize,
    /// The time from the first byte of a request to its last, and for a client to read an answer.
    pub(crate) request: Duration,
    /// The time between two requests.
    pub(crate) idle: Duration,
    /// The time for a client to close a connection that the server has closed.
    pub(crate) linger: Duration,
}

impl Limits {
    /// Usual limits of servers; all guesses.
    pub(crate) const DEFAULT: Self = Self {
        connections: 1024,
        request: Duration::from_secs(10),
        idle: Duration::from_mins(1),
        linger: Duration::from_millis(500),
    };
}

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The connection ended between two requests, or after the last answer.
    Good,
    /// The client sent an invalid request, and got an answer that says so.
    Malformed,
    /// The client took too long.
    TooSlow,
    /// The client left during a request, or did not read its answer.
    Vanished,
}

/// The counts of a server's connections, by [`End`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts([u64; 4]);

impl Counts {
    pub(crate) fn count(&mut self, end: End) {
        self.0[end as usize] += 1;
    }

    pub(crate) fn good(&self) -> u64 {
        self.0[End::Good as usize]
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [good, malformed, too_slow, vanished] = self.0;
        let all: u64 = self.0.iter().sum();
        write!(
            formatter,
            "{all} connections: {good} good, {malformed} malformed, {too_slow} too slow, \
             {vanished} vanished"
        )
    }
}
