//! A server that can be started and stopped.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use mio::net::TcpListener;
use mio::{Interest, Poll, Waker};

use super::counts::Counts;
use super::handlers::{self, Handlers, Unit};
use super::reader::Reader;
use super::signal::{LISTENER, Signal, Stopper, WOKEN};
use super::{Limits, Service};

/// Bound to an address, not yet serving.
pub(crate) struct Server {
    poll: Poll,
    listener: TcpListener,
    signal: Arc<Signal>,
    limits: Limits,
}

impl Server {
    /// Takes `address`; port 0 is any free one.
    ///
    /// # Errors
    /// If the address cannot be had, for example because another process has it.
    pub(crate) fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry()
            .register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), WOKEN)?;
        let signal = Arc::new(Signal::new(waker));
        Ok(Self {
            poll,
            listener,
            signal,
            limits,
        })
    }

    /// Where clients find it.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Ends it, from another thread, once it runs or before.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.signal))
    }

    /// Serves until it is stopped and the last request is answered. The calling thread is the
    /// reader.
    ///
    /// # Errors
    /// If the kernel gives no more threads or events.
    pub(crate) fn run<S: Service>(
        self,
        service: &S,
        handlers: Handlers<'_>,
        unit: Unit,
    ) -> io::Result<Counts> {
        let Self {
            poll,
            listener,
            signal,
            limits,
        } = self;
        let reader = Reader::new(poll, listener, unit);
        handlers::run(reader, service, &signal, limits, handlers)
    }
}
