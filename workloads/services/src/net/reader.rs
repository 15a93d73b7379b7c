//! The thread that waits for all connections at once.
//!
//! It hears of changes only (edge-triggered). Two facts ensure that no event is missed. The holder
//! of a conversation makes every step of its connection. A conversation comes to rest only after
//! its stream said that it would block. A change before that was seen by the read that came to
//! rest; a change after it is a new event. If a handler holds the conversation then, the reader
//! leaves word and the handler reads on (`turns.rs`). If a handler has the request only, the event
//! is dropped: the handler reads on when it has answered.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use super::Service;
use super::conversation::{Conversation, Step};
use super::handlers::{Desk, Task, Unit, Watched};
use super::signal::{FIRST_CONNECTION, LISTENER, WOKEN};
use super::turns::Turns;

/// Events fetched at once; a guess.
const EVENTS: usize = 256;

/// The pause after the kernel could not accept a connection; a guess.
const AFTER_TROUBLE: Duration = Duration::from_millis(10);

/// The most clients that are turned away and stay until they have read why; a guess.
const REFUSED: usize = 256;

/// How a task gets to a handler; fails if there is no thread for it.
pub(super) type Hand<'a, R> = &'a mut dyn FnMut(Task<R>) -> io::Result<()>;

/// Owns the listener and all watched connections.
pub(super) struct Reader {
    poll: Poll,
    /// `None` when no client is let in any more.
    listener: Option<TcpListener>,
    unit: Unit,
    watched: HashMap<Token, Arc<Watched>>,
    next_token: usize,
    /// The clients that were turned away last, some of which have gone.
    refused: VecDeque<Token>,
    /// The kernel could not give a descriptor; clients may wait in the backlog.
    is_in_trouble: bool,
}

impl Reader {
    pub(super) fn new(poll: Poll, listener: TcpListener, unit: Unit) -> Self {
        Self {
            poll,
            listener: Some(listener),
            unit,
            watched: HashMap::new(),
            next_token: FIRST_CONNECTION,
            refused: VecDeque::new(),
            is_in_trouble: false,
        }
    }

    /// Until the server is stopped and all that was asked is answered.
    pub(super) fn run<S: Service>(
        &mut self,
        desk: &Desk<'_, S>,
        hand: Hand<'_, S::Request>,
    ) -> io::Result<()> {
        let mut events = Events::with_capacity(EVENTS);
        let between_looks = desk.limits.between_looks();
        let mut next_look = Instant::now() + between_looks;
        let mut end = None;
        loop {
            let now = Instant::now();
            if now >= next_look {
                self.look_at_deadlines(desk, now);
                next_look = now + between_looks;
            }
            if desk.signal.is_stopping() {
                let end = *end.get_or_insert_with(|| now + desk.limits.request);
                self.close(desk);
                if self.watched.is_empty() || now >= end {
                    return Ok(());
                }
            }
            let wait = if self.is_in_trouble {
                AFTER_TROUBLE
            } else {
                between_looks
            };
            match self.poll.poll(&mut events, Some(wait)) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                result => result?,
            }
            for event in &events {
                match event.token() {
                    LISTENER => self.let_in(desk, hand),
                    WOKEN => {}
                    token => self.go_on(token, desk, hand),
                }
            }
            if self.is_in_trouble {
                self.let_in(desk, hand);
            }
            for token in desk.take_over() {
                self.forget(token);
            }
        }
    }

    /// Accepts all waiting connections.
    fn let_in<S: Service>(&mut self, desk: &Desk<'_, S>, hand: Hand<'_, S::Request>) {
        self.is_in_trouble = false;
        loop {
            let Some(listener) = &self.listener else {
                return;
            };
            match listener.accept() {
                Ok((stream, _)) => {
                    // An answer is one write; waiting for more would only delay it.
                    let _ = stream.set_nodelay(true);
                    self.receive(stream, desk, hand);
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => {}
                    _ => {
                        // No descriptors left, most likely: another client must leave first.
                        self.is_in_trouble = true;
                        return;
                    }
                },
            }
        }
    }

    fn receive<S: Service>(
        &mut self,
        stream: TcpStream,
        desk: &Desk<'_, S>,
        hand: Hand<'_, S::Request>,
    ) {
        if desk.open_connections() >= desk.limits.connections as u64 {
            match self.watch(stream, Conversation::refused(desk.service)) {
                Ok(token) => self.refuse(token, desk, hand),
                Err(_) => desk.count(|counts| counts.turned_away += 1),
            }
            return;
        }
        desk.count(|counts| counts.accepted += 1);
        let is_received = match self.unit {
            // The client sees a closed connection if no thread can be had for it.
            Unit::Connections => hand(Task::Connection(stream.into(), Instant::now())),
            Unit::Requests => self.watch(stream, Conversation::new()).map(drop),
        };
        if is_received.is_err() {
            desk.count(|counts| {
                counts.accepted -= 1;
                counts.turned_away += 1;
            });
        }
    }

    /// Tells a client at once why it is turned away. It may stay to read that, since closing a
    /// connection with unread input destroys the answer on its way. If there are too many, the
    /// client that has had most time goes.
    fn refuse<S: Service>(&mut self, token: Token, desk: &Desk<'_, S>, hand: Hand<'_, S::Request>) {
        if self.refused.len() == REFUSED
            && let Some(first) = self.refused.pop_front()
            && self.watched.remove(&first).is_some()
        {
            desk.count(|counts| counts.turned_away += 1);
        }
        self.refused.push_back(token);
        self.go_on(token, desk, hand);
    }

    /// The first event comes at once: the stream can be written to.
    fn watch(&mut self, mut stream: TcpStream, conversation: Conversation) -> io::Result<Token> {
        let token = Token(self.next_token);
        self.next_token += 1;
        let both = Interest::READABLE | Interest::WRITABLE;
        self.poll.registry().register(&mut stream, token, both)?;
        let conversation = Turns::new(conversation);
        self.watched.insert(
            token,
            Arc::new(Watched {
                token,
                stream,
                conversation,
            }),
        );
        Ok(token)
    }

    /// Something has changed on a connection.
    fn go_on<S: Service>(&mut self, token: Token, desk: &Desk<'_, S>, hand: Hand<'_, S::Request>) {
        let Some(connection) = self.watched.get(&token).map(Arc::clone) else {
            return;
        };
        let Some(mut conversation) = connection.conversation.try_hold() else {
            return;
        };
        let step = desk.advance(&connection, &mut conversation);
        drop(conversation);
        match step {
            Step::Asked(task) => {
                hand(task).expect("whoever takes requests needs no thread for each");
            }
            Step::Waits => {}
            Step::Over(_) => self.forget(token),
        }
    }

    /// Closes it, once no handler has it either.
    fn forget(&mut self, token: Token) {
        self.watched.remove(&token);
    }

    fn look_at_deadlines<S: Service>(&mut self, desk: &Desk<'_, S>, now: Instant) {
        self.watched.retain(|_, connection| {
            let mut conversation = connection.conversation.hold();
            let is_late = |due| now >= due;
            if !conversation.deadline(&desk.limits).is_some_and(is_late) {
                return true;
            }
            match conversation.expire(desk.service) {
                Some(end) => {
                    desk.count(|counts| counts.count(end));
                    false
                }
                // There is a last word to send. Nothing can be asked after it.
                None => !matches!(desk.advance(connection, &mut conversation), Step::Over(_)),
            }
        });
    }

    /// Lets no client in, ends connections without open requests, and tells clients that are still
    /// asking to go.
    fn close<S: Service>(&mut self, desk: &Desk<'_, S>) {
        self.listener = None;
        self.watched.retain(|_, connection| {
            let mut conversation = connection.conversation.hold();
            if !conversation.is_listening() {
                return true;
            }
            match conversation.stop(desk.service) {
                Some(end) => {
                    desk.count(|counts| counts.count(end));
                    false
                }
                // Nothing can be asked after the last word.
                None => !matches!(desk.advance(connection, &mut conversation), Step::Over(_)),
            }
        });
    }
}
