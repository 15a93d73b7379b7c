//! Clients beside a server that runs until the last of them has gone.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use super::Stopper;

/// Where servers with clients beside them listen: a port of their own on this host only.
pub(crate) const LOOPBACK: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Stops the server when the last client has gone, however it went.
struct Presence<'a> {
    present: &'a AtomicUsize,
    stopper: &'a Stopper,
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        // Relaxed: a count; each client takes itself off in one step, so one of them is the last.
        if self.present.fetch_sub(1, Relaxed) == 1 {
            self.stopper.stop();
        }
    }
}

/// Runs each client on a thread of its own beside `serve`, which serves until `stopper` ends it;
/// also returns the clients' results, in their order.
///
/// # Panics
/// If a client does, or no threads can be had.
pub(crate) fn serve_guests<T, C, R>(
    stopper: &Stopper,
    clients: impl IntoIterator<Item = C>,
    serve: impl FnOnce() -> T,
) -> (T, Vec<R>)
where
    C: FnOnce() -> R + Send,
    R: Send,
{
    let clients: Vec<C> = clients.into_iter().collect();
    let present = AtomicUsize::new(clients.len());
    thread::scope(|scope| {
        let clients: Vec<_> = clients
            .into_iter()
            .map(|client| {
                let presence = Presence {
                    present: &present,
                    stopper,
                };
                scope.spawn(move || {
                    let _presence = presence;
                    client()
                })
            })
            .collect();
        let served = serve();
        let join = |client: thread::ScopedJoinHandle<'_, R>| {
            client.join().expect("a client complains rather than panic")
        };
        (served, clients.into_iter().map(join).collect())
    })
}
