//! How the reader is woken and stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use mio::{Token, Waker};

/// The token of the listener.
pub(super) const LISTENER: Token = Token(0);
/// The token of [`Waker`]s.
pub(super) const WOKEN: Token = Token(1);
/// Connections have this token and higher ones.
pub(super) const FIRST_CONNECTION: usize = 2;

/// Ends a server from any thread: no new client is let in, and requests that have arrived are
/// answered.
#[derive(Clone)]
pub(crate) struct Stopper(pub(super) Arc<Signal>);

/// The waker of the reader, and the flag that stops it.
pub(super) struct Signal {
    /// Relaxed: it only ever turns true, and the thread that turns it wakes the reader, which looks
    /// again; other threads that see it late serve one request more.
    is_stopping: AtomicBool,
    waker: Waker,
}

impl Signal {
    pub(super) fn new(waker: Waker) -> Self {
        Self {
            is_stopping: AtomicBool::new(false),
            waker,
        }
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Relaxed)
    }

    pub(super) fn wake_reader(&self) {
        // It fails only if the reader is gone; then no thread is left to wake.
        let _ = self.waker.wake();
    }
}

impl Stopper {
    pub(crate) fn stop(&self) {
        self.0.is_stopping.store(true, Relaxed);
        self.0.wake_reader();
    }
}
