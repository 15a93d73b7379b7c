//! Runs the server of a service alone, for other clients.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use protocol::{Description, Refusal, Size};
use rayon::ThreadPoolBuilder;

use crate::file_server::FileServer;
use crate::net::{Limits, Server};
use crate::{forum, kv};
use workloads::cli::parse_setting;

/// The options of a server.
#[derive(Args, Clone, Debug)]
pub struct Serve {
    /// kv, forum, or files: the files below a directory, over HTTP
    #[arg(value_name = "SERVICE")]
    service: String,
    /// Directory whose files are served
    #[arg(long, value_name = "DIRECTORY", required_if_eq("service", "files"))]
    root: Option<PathBuf>,
    /// Port on 127.0.0.1; 0 takes any free port
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Threads of the pool, or handlers
    #[arg(long, short, default_value_t = 2)]
    threads: usize,
    /// A parameter of the workload that affects the server; may be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = parse_setting)]
    pub settings: Vec<(String, String)>,
}

/// Serves with these `parameters` until a signal ends the server. The address is the first line of
/// standard output. Returns a report for people, in lines. The file server returns no report: it
/// ends with the process.
///
/// # Errors
/// If the options name something that does not exist, or the port or the threads are not available.
pub fn serve(serve: &Serve, parameters: &BTreeMap<String, String>) -> Result<String, Refusal> {
    let Serve {
        service, threads, ..
    } = serve;
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, serve.port));
    let refuse = |error: io::Error| {
        Refusal::new(format!(
            "serve {service}: {address}: {error}; choose another --port, or 0 for any free one"
        ))
    };
    if let ("files", Some(root)) = (service.as_str(), &serve.root) {
        let server = FileServer::bind(root, serve.port)?;
        announce(server.address().map_err(refuse)?);
        server.run().map_err(refuse)?;
        return Ok(String::new());
    }
    let (description, of_server): (&Description, &[&str]) = match service.as_str() {
        "kv" => (protocol::workload("kv"), &kv::OF_SERVER),
        "forum" => (protocol::workload("forum"), &forum::OF_SERVER),
        _ => {
            return Err(Refusal::new(format!(
                "unknown service `{service}`; known: kv, forum, files"
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
    let values = description.resolve(Size::Tiny, parameters, false)?;
    let most = rayon::max_num_threads();
    if !(1..=most).contains(threads) {
        return Err(Refusal::new(format!(
            "threads = {threads}: expected 1 to {most}"
        )));
    }
    let fewer = |error: &dyn std::error::Error| {
        Refusal::new(format!("serve {service}: {error}; ask for fewer threads"))
    };
    let pool = ThreadPoolBuilder::new().num_threads(*threads).build();
    let pool = pool.map_err(|error| fewer(&error))?;
    let server = Server::bind(address, Limits::DEFAULT).map_err(refuse)?;
    let stop = server.stopper();
    if let Err(error) = ctrlc::set_handler(move || stop.stop()) {
        eprintln!("warning: signals cannot be handled ({error}); end the server with SIGKILL");
    }
    announce(server.address().map_err(refuse)?);
    let report = match service.as_str() {
        "kv" => kv::serve(&server, &values, &pool),
        _ => forum::serve(&server, &values, &pool),
    };
    report.map_err(|error| fewer(&error))
}

fn announce(address: SocketAddr) {
    // The server runs even if the address cannot be printed.
    if let Err(error) = writeln!(io::stdout(), "{address}") {
        eprintln!("warning: standard output: {error}");
    }
    eprintln!("serving at {address}; Ctrl-C ends it");
}
