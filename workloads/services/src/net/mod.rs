//! A server on TCP as the service workloads need it: one loop accepts connections, one serves each.
//!
//! A thread waits for each client, so a slow client keeps no worker of a pool. The thread reads a
//! request, hands it on, and sends the answer. `server.rs` says where answers are worked out.
//! A client beyond the limit of connections waits in the kernel's queue. Both loops ([`accept`] and
//! `conversation.rs`) also run on user-level threads: `crate::file_server`.

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
    /// One request, complete and independent of the bytes that it came in.
    type Request: Send;

    /// Parses the beginning of `input`, the unanswered bytes of a connection. A prefix of `input`
    /// must give the same result, or [`Parsed::Incomplete`].
    fn parse(&self, input: &[u8]) -> Parsed<Self::Request>;

    /// The answer to a client that began a request and does not get it answered.
    fn turn_away(&self, why: TurnedAway) -> Vec<u8>;
}

/// The answers to requests.
pub(crate) trait Service: Protocol + Sync {
    /// The outcome of a request.
    type Outcome: Send;

    /// Does what is asked for and appends the answer to `output`. `is_last`: the server is about to
    /// close the connection, and the answer should say so.
    fn answer(
        &self,
        request: &Self::Request,
        is_last: bool,
        output: &mut Vec<u8>,
    ) -> (Self::Outcome, Then);

    /// A request was answered, and the answer given to the kernel. Connections count from 0.
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
    /// Nothing whole yet.
    Incomplete {
        /// Sent once if the client waits for it before it goes on.
        encouragement: Option<&'static [u8]>,
    },
    /// A request in the first `length` bytes.
    Whole {
        /// The request itself.
        request: R,
        /// Bytes that it takes.
        length: usize,
    },
    /// Nothing that could be served; the answer says why, and the connection ends.
    Wrong {
        /// The answer to the client.
        answer: Vec<u8>,
    },
}

/// The next step of a connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next request may come.
    Listen,
    /// It ends.
    Close,
}

/// Why a client is turned away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnedAway {
    /// It began a request and did not end it in time.
    TooSlow,
    /// It had not ended a request when the server was stopped.
    Stopping,
}

/// When things happened to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The whole request had been read; for the first one of a connection that waited for a
    /// handler, so much earlier.
    pub(crate) arrived: Instant,
    /// A handler began with it.
    pub(crate) begun: Instant,
    /// The answer had been written.
    pub(crate) ended: Instant,
}

/// The resources that one client, or all, may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Open connections.
    pub(crate) connections: usize,
    /// From the first byte of a request to its last, and for a client to take an answer.
    pub(crate) request: Duration,
    /// Between requests.
    pub(crate) idle: Duration,
    /// For a client to end a connection that the server has ended.
    pub(crate) linger: Duration,
}

impl Limits {
    /// Usual for servers; all guesses.
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
    /// Between two requests, or after an answer that was the last.
    Good,
    /// The client got the answer that it asked for nonsense.
    Malformed,
    /// The client took too long.
    TooSlow,
    /// The client left within a request or did not take its answer.
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
