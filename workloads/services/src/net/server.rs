//! A server that can be started, stopped and counted.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mio::net::TcpListener;
use mio::{Interest, Poll, Token, Waker};

use super::conversation::End;
use super::handlers::{self, Handlers, Unit};
use super::reader::Reader;
use super::{Limits, Service};

/// The listener's own.
pub(super) const LISTENER: Token = Token(0);
/// Of [`Waker`]s.
pub(super) const WOKEN: Token = Token(1);
/// Connections have this one and higher ones.
pub(super) const FIRST_CONNECTION: usize = 2;

/// Bound to an address, not yet serving.
pub(crate) struct Server {
    poll: Poll,
    listener: TcpListener,
    signal: Arc<Signal>,
    limits: Limits,
}

/// Ends a server from any thread: nobody new is let in, whatever was asked is answered.
#[derive(Clone)]
pub(crate) struct Stopper(Arc<Signal>);

/// What wakes the reader.
pub(super) struct Signal {
    /// Relaxed: it only ever turns true, and whoever turns it wakes the reader, who looks again;
    /// others who see it late serve one request more.
    is_stopping: AtomicBool,
    waker: Waker,
}

impl Signal {
    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }

    pub(super) fn wake_reader(&self) {
        // It fails only if the reader is gone; then there is nobody to wake.
        let _ = self.waker.wake();
    }
}

impl Stopper {
    pub(crate) fn stop(&self) {
        self.0.is_stopping.store(true, Relaxed);
        self.0.wake_reader();
    }
}

/// What became of the connections of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Let in.
    pub(crate) accepted: u64,
    /// Turned away because too many were open, or no thread or descriptor could be had.
    pub(crate) turned_away: u64,
    /// Ended as they should.
    pub(crate) good: u64,
    /// Asked for nonsense and were told so.
    pub(crate) malformed: u64,
    /// Took too long.
    pub(crate) too_slow: u64,
    /// Left within a request, or without their answer.
    pub(crate) vanished: u64,
}

impl Counts {
    /// Accepted and not over.
    pub(super) fn open(&self) -> u64 {
        self.accepted - (self.good + self.malformed + self.too_slow + self.vanished)
    }

    pub(super) fn count(&mut self, end: End) {
        *match end {
            End::Good => &mut self.good,
            End::Malformed => &mut self.malformed,
            End::TooSlow => &mut self.too_slow,
            End::Vanished => &mut self.vanished,
            End::TurnedAway => &mut self.turned_away,
        } += 1;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} connections: {} good, {} malformed, {} too slow, {} vanished; {} turned away",
            self.accepted,
            self.good,
            self.malformed,
            self.too_slow,
            self.vanished,
            self.turned_away
        )
    }
}

impl Server {
    /// Takes `address`; port 0 is any free one.
    ///
    /// # Errors
    /// If the address cannot be had, for example because somebody else has it.
    pub(crate) fn bind(address: SocketAddr, limits: Limits) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut listener = TcpListener::bind(address)?;
        poll.registry().register(&mut listener, LISTENER, Interest::READABLE)?;
        let waker = Waker::new(poll.registry(), WOKEN)?;
        let signal = Arc::new(Signal { is_stopping: AtomicBool::new(false), waker });
        Ok(Self { poll, listener, signal, limits })
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

    /// Serves until it is stopped and the last request is answered. The calling thread is the reader.
    ///
    /// # Errors
    /// If the kernel gives no more threads or events.
    pub(crate) fn run<S: Service>(
        self,
        service: &S,
        handlers: Handlers<'_>,
        unit: Unit,
    ) -> io::Result<Counts> {
        let Self { poll, listener, signal, limits } = self;
        let reader = Reader::new(poll, listener, unit);
        handlers::run(reader, service, &signal, limits, handlers)
    }
}
