//! Waiting for sockets while other user threads go on.
//!
//! Sockets do not block; a thread that finds one not ready waits here until the kernel says that it
//! may be. A notice can be about something past, so a woken thread tries again.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::event::Source;
use mio::{Events, Interest, Poll, Token, Waker};

/// The token of the waker; sockets begin after it.
const WAKER: Token = Token(0);

/// Readiness notices that are taken at a time. More come with the next poll.
const EVENTS: usize = 256;

/// Sockets that threads wait for.
pub struct Sockets {
    poll: RefCell<Poll>,
    events: RefCell<Events>,
    next_token: Cell<usize>,
    /// By token: the thread that waits, and until when.
    waiting: RefCell<BTreeMap<usize, (usize, Option<Instant>)>>,
}

impl Sockets {
    /// No sockets yet. The waker, used from wherever, wakes every thread that waits for one.
    ///
    /// # Errors
    /// If the kernel has no more descriptors.
    pub fn new() -> io::Result<(Self, Arc<Waker>)> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let sockets = Self {
            poll: RefCell::new(poll),
            events: RefCell::new(Events::with_capacity(EVENTS)),
            next_token: Cell::new(WAKER.0 + 1),
            waiting: RefCell::default(),
        };
        Ok((sockets, waker))
    }

    /// Makes a socket known; returns its token.
    pub(super) fn register(&self, socket: &mut impl Source) -> io::Result<usize> {
        let token = self.next_token.replace(self.next_token.get() + 1);
        let interest = Interest::READABLE | Interest::WRITABLE;
        self.poll
            .borrow()
            .registry()
            .register(socket, Token(token), interest)?;
        Ok(token)
    }

    /// Remembers that `thread` waits for the socket of this token.
    pub(super) fn wake_when_ready(&self, token: usize, thread: usize, deadline: Option<Instant>) {
        self.waiting.borrow_mut().insert(token, (thread, deadline));
    }

    pub(super) fn are_idle(&self) -> bool {
        self.waiting.borrow().is_empty()
    }

    /// The threads that can go on: their sockets may be ready, their time is up, or all were woken.
    /// Waits for the first of them if `may_wait`.
    ///
    /// # Panics
    /// If the kernel refuses to say.
    pub(super) fn ready(&self, may_wait: bool) -> Vec<usize> {
        let first_deadline = self
            .waiting
            .borrow()
            .values()
            .filter_map(|(_, deadline)| *deadline)
            .min();
        let left = first_deadline.map(|it| it.saturating_duration_since(Instant::now()));
        let timeout = if may_wait { left } else { Some(Duration::ZERO) };
        let events = &mut *self.events.borrow_mut();
        match self.poll.borrow_mut().poll(events, timeout) {
            Err(error) if error.kind() == ErrorKind::Interrupted => return Vec::new(),
            outcome => outcome.expect("a poll of our own"),
        }
        let mut waiting = self.waiting.borrow_mut();
        let mut ready = Vec::new();
        if events.iter().any(|event| event.token() == WAKER) {
            ready.extend(std::mem::take(&mut *waiting).into_values());
        }
        ready.extend(
            events
                .iter()
                .filter_map(|event| waiting.remove(&event.token().0)),
        );
        let now = Instant::now();
        let is_over = |deadline: Option<Instant>| deadline.is_some_and(|it| it <= now);
        let expired: Vec<usize> = waiting
            .iter()
            .filter(|(_, it)| is_over(it.1))
            .map(|(token, _)| *token)
            .collect();
        ready.extend(expired.iter().filter_map(|token| waiting.remove(token)));
        ready.into_iter().map(|(thread, _)| thread).collect()
    }
}
