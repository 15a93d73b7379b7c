//! The servers of the service workloads by themselves, for clients of other makers.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use protocol::{Description, Refusal, Size};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::net::{self, Limits, Server};
use crate::{forum, kv};

/// A server to be started.
#[derive(Clone, Debug)]
pub struct Serve {
    /// `kv` or `forum`.
    pub service: String,
    /// Port on this host's loopback address; 0 is any free one.
    pub port: u16,
    /// Threads of the pool, or handlers.
    pub threads: usize,
    /// Most open connections.
    pub connections: usize,
    /// From the first byte of a request to its last, and for a client to take an answer.
    pub request_timeout: Duration,
    /// Between the requests of a connection.
    pub idle_timeout: Duration,
    /// Parameters of the workload, those that concern the server.
    pub parameters: BTreeMap<String, String>,
}

/// Ends a running server.
#[derive(Clone)]
pub struct Stop(net::Stop);

impl Stop {
    /// Lets no client in any more; requests that have arrived are answered.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// Serves until it is stopped. `ready` gets the address and the means to stop. Returns what
/// happened, for people, in lines.
///
/// # Errors
/// If something is asked for that does not exist, or the port or the threads cannot be had.
pub fn serve(serve: &Serve, ready: impl FnOnce(SocketAddr, Stop)) -> Result<String, Refusal> {
    let service = serve.service.as_str();
    let (description, of_server): (&Description, &[&str]) = match service {
        "kv" => (::protocol::workload("kv"), &kv::OF_SERVER),
        "forum" => (::protocol::workload("forum"), &forum::OF_SERVER),
        _ => {
            return Err(Refusal::new(format!(
                "unknown service `{service}`; known: kv, forum"
            )));
        }
    };
    if let Some(name) = serve
        .parameters
        .keys()
        .find(|name| description.parameter(name).is_some() && !of_server.contains(&name.as_str()))
    {
        return Err(Refusal::new(format!(
            "serve {service}: parameter `{name}` is the clients'; those of the server are {}",
            of_server.join(", ")
        )));
    }
    if serve.request_timeout.is_zero() || serve.idle_timeout.is_zero() {
        return Err(Refusal::new(
            "a timeout of 0 ms: every client is too slow; allow 1 or more",
        ));
    }
    if serve.connections == 0 {
        return Err(Refusal::new(
            "connections = 0: nobody could be served; allow 1 or more",
        ));
    }
    let values = description.resolve(Size::Tiny, &serve.parameters, false)?;
    let pool = pool(serve.threads)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, serve.port));
    let limits = Limits {
        connections: serve.connections,
        request: serve.request_timeout,
        idle: serve.idle_timeout,
        ..Limits::DEFAULT
    };
    let refuse = |error: std::io::Error| {
        Refusal::new(format!(
            "serve {service}: {address}: {error}; choose another --port, or 0 for any free one"
        ))
    };
    let server = Server::bind(address, limits).map_err(refuse)?;
    ready(server.address().map_err(refuse)?, Stop(server.stopper()));
    let report = match service {
        "kv" => kv::serve(&server, &values, &pool, serve.threads),
        _ => forum::serve(&server, &values, &pool),
    };
    report.map_err(|error| {
        Refusal::new(format!(
            "serve {service}: {error}; ask for fewer threads or connections"
        ))
    })
}

fn pool(threads: usize) -> Result<ThreadPool, Refusal> {
    let most = rayon::max_num_threads();
    if threads == 0 || threads > most {
        return Err(Refusal::new(format!(
            "threads = {threads}: expected 1 to {most}"
        )));
    }
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| {
            Refusal::new(format!(
                "threads = {threads}: the pool cannot be built: {error}"
            ))
        })
}
