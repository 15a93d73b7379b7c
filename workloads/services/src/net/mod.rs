//! Servers on TCP as the service workloads need them: threads that read, threads that answer, and
//! bounds.
//!
//! A thread of its own, the *reader*, owns the listener and waits for all connections at once
//! (`reader.rs`). The reader hands each complete request to a *handler* (`handlers.rs`): a job of
//! the pool, one of some threads behind a queue (`crate::queue`), or the reader itself. A handler
//! answers one request and never waits for a client, so slow clients cannot use up the threads of a
//! pool. The reader sends the bytes that a client does not take at once. The reader does not wait
//! for handlers either (`turns.rs`). Only the arrangements that say so (`Unit::Connections`,
//! `Handlers::ThreadPerConnection`) keep a handler on one connection until it ends, as the studies
//! did.
//!
//! A connection is a small state machine that knows neither threads nor sockets
//! (`conversation.rs`), the same in all arrangements.

mod conversation;
#[cfg(test)]
mod conversation_tests;
mod counts;
mod guests;
mod handlers;
mod reader;
mod server;
mod signal;
mod turns;

pub(crate) use counts::Counts;
pub(crate) use guests::{LOOPBACK, serve_guests};
pub(crate) use handlers::{Handlers, Queue, Unit};
pub(crate) use server::Server;
pub(crate) use signal::Stopper;

use std::time::{Duration, Instant};

/// The protocol of a connection, and the answers to its requests.
pub(crate) trait Service: Sync {
    /// One request, complete and independent of the bytes that it came in.
    type Request: Send;

    /// The outcome of a request.
    type Outcome;

    /// Parses the beginning of `input`, the unanswered bytes of a connection. A prefix of `input`
    /// must give the same result, or [`Parsed::Incomplete`].
    fn parse(&self, input: &[u8]) -> Parsed<Self::Request>;

    /// Does what is asked for and appends the answer to `output`. `is_last`: the server is about to
    /// close the connection, and the answer should say so.
    fn answer(
        &self,
        request: &Self::Request,
        is_last: bool,
        output: &mut Vec<u8>,
    ) -> (Self::Outcome, Then);

    /// The answer to a client that is turned away without having asked for anything.
    fn turn_away(&self, why: TurnedAway) -> Vec<u8>;

    /// A request was answered, and the answer given to the kernel; `handler` counts from 0.
    fn answered(
        &self,
        handler: usize,
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
    /// As many connections as may be are open.
    Full,
    /// It began a request and did not end it in time.
    TooSlow,
    /// It had not ended a request when the server was stopped.
    Stopping,
}

/// When things happened to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// The whole request had been read; for the first one of a handler's own connection, so much
    /// earlier as that connection waited for a handler.
    pub(crate) arrived: Instant,
    /// A handler began with it.
    pub(crate) begun: Instant,
    /// The answer had been written, or given to the reader to be written as the client takes it.
    pub(crate) ended: Instant,
}

/// The resources that one client, or all, may use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Open connections; more are turned away.
    pub(crate) connections: usize,
    /// From the first byte of a request to its last, and for a client to take an answer.
    pub(crate) request: Duration,
    /// Between requests.
    pub(crate) idle: Duration,
    /// For a client to end a connection that the server has ended.
    pub(crate) farewell: Duration,
}

impl Limits {
    /// Usual for servers; all guesses.
    pub(crate) const DEFAULT: Self = Self {
        connections: 1024,
        request: Duration::from_secs(10),
        idle: Duration::from_mins(1),
        farewell: Duration::from_millis(500),
    };

    /// How often deadlines are looked at: so often that none is missed by more than half.
    fn between_looks(&self) -> Duration {
        self.request.min(self.idle).min(self.farewell) / 2
    }
}
