//! A TCP server for the service workloads.
//!
//! Unless handlers take whole connections, each connection has a thread. It reads a request, passes
//! it to a handler (`server.rs`), and sends the answer (`conversation.rs`). So a slow client does
//! not occupy a worker of a pool. If the limit of connections is reached, further clients wait in
//! the kernel's queue.

mod conversation;
mod queue;
mod run;
mod server;
#[cfg(test)]
mod tests;

pub(crate) use queue::Kind as Queue;
#[cfg(test)]
pub(crate) use run::Run;
pub(crate) use run::{Exchange, Runs, connect};
pub(crate) use server::{Handlers, Limits, Server, Stop, Unit};

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;

/// The address for a listener on a free port that only this host can reach.
pub(crate) const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

pub(crate) trait Service: Sync {
    /// One complete request, which does not borrow the bytes from which it was parsed.
    type Request: Send;
    type Outcome: Send;

    /// Parses the beginning of `input`, the unanswered bytes of a connection. A prefix of `input`
    /// must give the same result, or [`Parsed::Incomplete`].
    fn parse(&self, input: &[u8]) -> Parsed<Self::Request>;

    /// Returns the answer to a request that is still incomplete when the client's time is up or the
    /// server ends.
    fn late(&self) -> Vec<u8>;

    /// Adds the answer to `output`. The second value is `false` if the connection ends after the
    /// answer.
    fn answer(&self, request: &Self::Request, output: &mut Vec<u8>) -> (Self::Outcome, bool);

    /// The server calls this method when the kernel has the answer. Connections are numbered from
    /// 0.
    fn answered(
        &self,
        connection: usize,
        request: &Self::Request,
        outcome: Self::Outcome,
        times: Times,
    );
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Parsed<R> {
    Incomplete,
    /// A request, and its length in bytes.
    Whole(R, usize),
    /// An invalid request, with the last answer of the connection.
    Wrong(Vec<u8>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// When the server had read the whole request. For the first request of a connection that
    /// waited for a handler, this time is earlier by that wait.
    pub(crate) arrived: Instant,
    /// When a handler began to execute the request.
    pub(crate) begun: Instant,
    /// When the answer had been written.
    pub(crate) ended: Instant,
}
