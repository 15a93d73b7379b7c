//! Runs the servers of the service workloads alone, for other clients.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use protocol::{Description, Refusal, Size};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::net::{self, Limits, Server};
use crate::{forum, kv};
use workloads::cli::parse_setting;

/// The options of a server.
#[derive(Args, Clone, Debug)]
pub struct Serve {
    /// kv or forum
    #[arg(value_name = "SERVICE")]
    pub service: String,
    /// Port on 127.0.0.1; 0 takes any free port
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Threads of the pool, or handlers
    #[arg(long, short, default_value_t = 2)]
    pub threads: usize,
    /// Limit of open connections; further ones wait
    #[arg(long, default_value_t = 512)]
    pub connections: usize,
    /// Limit in milliseconds for a whole request to arrive, and for the client to read its answer
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 10_000)]
    pub request_timeout_ms: u64,
    /// Limit in milliseconds between two requests of a connection
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 60_000)]
    pub idle_timeout_ms: u64,
    /// A parameter of the workload that affects the server; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub settings: Vec<(String, String)>,
}

/// Ends a running server.
#[derive(Clone)]
pub struct Stop(net::Stop);

impl Stop {
    /// Stops accepting connections. The server answers requests that have arrived completely.
    pub fn stop(&self) {
        self.0.stop();
    }
}

/// Serves until it is stopped, with these `settings`, each once. `ready` gets the address and the
/// handle that stops the server. Returns a report for people, in lines.
///
/// # Errors
/// If the options name something that does not exist, or the port or the threads are not available.
pub fn serve(
    serve: &Serve,
    parameters: &BTreeMap<String, String>,
    ready: impl FnOnce(SocketAddr, Stop),
) -> Result<String, Refusal> {
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
    if let Some(name) = parameters
        .keys()
        .find(|name| description.parameter(name).is_some() && !of_server.contains(&name.as_str()))
    {
        return Err(Refusal::new(format!(
            "serve {service}: parameter `{name}` is the clients'; those of the server are {}",
            of_server.join(", ")
        )));
    }
    if serve.request_timeout_ms == 0 || serve.idle_timeout_ms == 0 {
        return Err(Refusal::new(
            "a timeout of 0 ms: every client is too slow; allow 1 or more",
        ));
    }
    if serve.connections == 0 {
        return Err(Refusal::new(
            "connections = 0 would serve no client; allow 1 or more",
        ));
    }
    let values = description.resolve(Size::Tiny, parameters, false)?;
    let pool = pool(serve.threads)?;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, serve.port));
    let limits = Limits {
        connections: serve.connections,
        request: Duration::from_millis(serve.request_timeout_ms),
        idle: Duration::from_millis(serve.idle_timeout_ms),
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
