//! A server with its clients beside it, which runs until the last of them has gone.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::{Counts, Handlers, Server, Service};
use workloads::usage::{process_cpu, thread_cpu};

/// The results of a run.
pub(crate) struct Beside<R> {
    pub(crate) ended: io::Result<Counts>,
    /// Of the clients, in their order.
    pub(crate) clients: Vec<R>,
    pub(crate) elapsed: Duration,
    /// Of the process less that of the clients.
    pub(crate) server_cpu: Duration,
}

impl<R> Beside<R> {
    /// What was wrong with a run that should have had `good` connections, all of them good.
    pub(crate) fn trouble(&self, good: usize) -> Option<String> {
        match &self.ended {
            Err(error) => Some(format!("the server: {error}")),
            Ok(counts) if counts.good() != good as u64 => Some(counts.to_string()),
            Ok(_) => None,
        }
    }
}

/// Runs each client on a thread of its own beside the server.
///
/// # Panics
/// If a client does, or no threads can be had.
pub(crate) fn serve_beside<C, R>(
    server: &Server,
    service: &impl Service,
    handlers: Handlers<'_>,
    clients: impl IntoIterator<Item = C>,
) -> Beside<R>
where
    C: FnOnce() -> R + Send,
    R: Send,
{
    let (begun, cpu_before) = (Instant::now(), process_cpu());
    let (ended, seen) = thread::scope(|scope| {
        let serving = scope.spawn(|| server.run(service, handlers));
        let clients: Vec<_> = clients
            .into_iter()
            .map(|client| scope.spawn(move || (client(), thread_cpu())))
            .collect();
        let seen: Vec<_> = clients
            .into_iter()
            .map(thread::ScopedJoinHandle::join)
            .collect();
        server.stopper().stop();
        (serving.join().expect("a server does not panic"), seen)
    });
    let (elapsed, cpu) = (begun.elapsed(), process_cpu().saturating_sub(cpu_before));
    let (clients, client_cpu): (Vec<R>, Vec<Duration>) = seen
        .into_iter()
        .map(|client| client.expect("a client complains rather than panic"))
        .unzip();
    Beside {
        ended,
        clients,
        elapsed,
        server_cpu: cpu.saturating_sub(client_cpu.iter().sum()),
    }
}
