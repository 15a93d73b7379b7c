//! One connection as a state machine: bytes in, requests out, answers in, bytes out.
//!
//! Without threads: there is one caller at a time. With a stream that does not block,
//! [`Conversation::advance`] goes on until the stream would block, so that a reader which hears of
//! *changes* only (edge-triggered) misses nothing.

use std::io::{self, ErrorKind, Read, Write};
use std::time::{Duration, Instant};

use super::{Limits, Parsed, Service, Then, TurnedAway};

/// Bytes asked for in one read: more than a usual request has.
const READ_BYTES: usize = 8 * 1024;

/// The bytes that the server reads and drops from a refused client, so that the client can read the
/// answer before a reset destroys it. A client that sends more is cut off.
const FAREWELL_BYTES: usize = 1 << 20;

/// Where a conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Waits for the rest of a request.
    Listening,
    /// A handler has a request.
    Handling,
    /// An answer is on its way, and then this.
    Sending(Then),
    /// All is said; waits for the client to close.
    Leaving,
    /// Ended, and counted.
    Over,
}

/// How a conversation stands.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<R> {
    /// This is asked for; [`Conversation::answer`] comes next.
    Asked(R),
    /// Nothing to do until the client does something, or time passes.
    Waits,
    /// Over, in this way.
    Over(End),
}

/// How a conversation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Between two requests, or after an answer that was the last.
    Good,
    /// The client got the answer that it asked for nonsense.
    Malformed,
    /// The client took too long.
    TooSlow,
    /// The client left within a request or did not take its answer.
    Vanished,
    /// There was no room for the client, and so it never counted as let in.
    TurnedAway,
}

/// The bytes and the state of a connection.
#[derive(Debug)]
pub(super) struct Conversation {
    phase: Phase,
    input: Vec<u8>,
    output: Vec<u8>,
    /// Bytes of `output` that are gone.
    sent: usize,
    is_encouraged: bool,
    /// Bytes dropped in [`Phase::Leaving`].
    dropped: usize,
    /// How it will have ended, once it has.
    end: End,
    /// When the phase, or the current request, began.
    since: Instant,
}

impl Conversation {
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Listening,
            input: Vec::new(),
            output: Vec::new(),
            sent: 0,
            is_encouraged: false,
            dropped: 0,
            end: End::Good,
            since: Instant::now(),
        }
    }

    /// A conversation with a client for which there is no room: the answer says so.
    pub(super) fn refused(service: &impl Service) -> Self {
        let mut conversation = Self::new();
        conversation.turn_away(service.turn_away(TurnedAway::Full), End::TurnedAway);
        conversation
    }

    /// A handler has the current request.
    pub(super) fn is_handled(&self) -> bool {
        self.phase == Phase::Handling
    }

    /// When it becomes too late for the client's next move.
    pub(super) fn deadline(&self, limits: &Limits) -> Option<Instant> {
        let limit: Duration = match self.phase {
            Phase::Handling | Phase::Over => return None,
            Phase::Listening if self.input.is_empty() => limits.idle,
            Phase::Listening | Phase::Sending(_) => limits.request,
            Phase::Leaving => limits.farewell,
        };
        Some(self.since + limit)
    }

    /// The answer to the last request.
    pub(super) fn answer(&mut self, answer: Vec<u8>, then: Then) {
        debug_assert!(self.is_handled(), "nothing was asked");
        self.send(answer, then);
    }

    /// Tells the client to go, whatever it is saying.
    fn turn_away(&mut self, answer: Vec<u8>, end: End) {
        self.end = end;
        self.send(answer, Then::Close);
    }

    fn send(&mut self, answer: Vec<u8>, then: Then) {
        self.output = answer;
        self.sent = 0;
        self.enter(Phase::Sending(then));
    }

    fn enter(&mut self, phase: Phase) {
        self.phase = phase;
        self.since = Instant::now();
    }

    /// The deadline has passed: how it ends, or `None` if there is a last word to send.
    pub(super) fn expire(&mut self, service: &impl Service) -> Option<End> {
        let end = match self.phase {
            Phase::Listening if self.input.is_empty() => End::Good,
            Phase::Listening => {
                self.turn_away(service.turn_away(TurnedAway::TooSlow), End::TooSlow);
                return None;
            }
            Phase::Leaving => self.end,
            Phase::Handling | Phase::Sending(_) | Phase::Over => End::TooSlow,
        };
        self.phase = Phase::Over;
        Some(self.judged(end))
    }

    /// However it ends with a client that was never let in, it was turned away.
    fn judged(&self, end: End) -> End {
        if self.end == End::TurnedAway {
            End::TurnedAway
        } else {
            end
        }
    }

    /// Nothing whole was asked that is not answered.
    pub(super) fn is_listening(&self) -> bool {
        self.phase == Phase::Listening
    }

    /// The server was stopped while this was listening: how it ends, or `None` if there is a last
    /// word to send.
    pub(super) fn stop(&mut self, service: &impl Service) -> Option<End> {
        debug_assert!(self.is_listening(), "{self:?}");
        if self.input.is_empty() {
            self.phase = Phase::Over;
            return Some(End::Good);
        }
        self.turn_away(service.turn_away(TurnedAway::Stopping), End::TooSlow);
        None
    }

    /// All is said, and the client has not closed.
    pub(super) fn is_leaving(&self) -> bool {
        self.phase == Phase::Leaving
    }

    /// Sends as much of the answer as the stream takes.
    pub(super) fn flush(&mut self, stream: &mut impl Write) -> Step<()> {
        while self.sent < self.output.len() {
            match stream.write(&self.output[self.sent..]) {
                Ok(0) => return Step::Over(End::Vanished),
                Ok(bytes) => self.sent += bytes,
                Err(error) => match Self::trouble(&error) {
                    None => {}
                    Some(step) => return step,
                },
            }
        }
        Step::Asked(())
    }

    /// `None`: try again.
    fn trouble<R>(error: &io::Error) -> Option<Step<R>> {
        match error.kind() {
            ErrorKind::Interrupted => None,
            ErrorKind::WouldBlock | ErrorKind::TimedOut => Some(Step::Waits),
            _ => Some(Step::Over(End::Vanished)),
        }
    }

    /// Reads, sends and parses until something is asked, the stream would block, or it is over.
    /// `shut` tells the client that nothing more will come.
    pub(super) fn advance<S: Service>(
        &mut self,
        stream: &mut (impl Read + Write),
        service: &S,
        shut: impl Fn(),
    ) -> Step<S::Request> {
        match self.take_steps(stream, service, shut) {
            Step::Over(end) => {
                self.phase = Phase::Over;
                Step::Over(self.judged(end))
            }
            step => step,
        }
    }

    fn take_steps<S: Service>(
        &mut self,
        stream: &mut (impl Read + Write),
        service: &S,
        shut: impl Fn(),
    ) -> Step<S::Request> {
        loop {
            match self.phase {
                Phase::Handling | Phase::Over => return Step::Waits,
                Phase::Sending(then) => {
                    match self.flush(stream) {
                        Step::Asked(()) => {}
                        Step::Waits => return Step::Waits,
                        Step::Over(end) => return Step::Over(end),
                    }
                    self.output = Vec::new();
                    if then == Then::Close {
                        shut();
                        self.input = Vec::new();
                        self.enter(Phase::Leaving);
                    } else {
                        self.enter(Phase::Listening);
                    }
                }
                Phase::Listening => match service.parse(&self.input) {
                    Parsed::Whole { request, length } => {
                        self.input.drain(..length);
                        self.is_encouraged = false;
                        self.enter(Phase::Handling);
                        return Step::Asked(request);
                    }
                    Parsed::Wrong { answer } => self.turn_away(answer, End::Malformed),
                    Parsed::Incomplete { encouragement } => {
                        if let Some(word) = encouragement.filter(|_| !self.is_encouraged) {
                            self.is_encouraged = true;
                            // A client that does not get it asks again or goes on without.
                            let _ = stream.write(word);
                        }
                        if let Some(step) = self.listen(stream) {
                            return step;
                        }
                    }
                },
                Phase::Leaving => {
                    let mut bytes = [0; 4096];
                    match stream.read(&mut bytes) {
                        Ok(0) => return Step::Over(self.end),
                        Ok(count) => {
                            self.dropped += count;
                            if self.dropped > FAREWELL_BYTES {
                                return Step::Over(self.end);
                            }
                        }
                        Err(error) => match Self::trouble(&error) {
                            None => {}
                            Some(Step::Over(_)) => return Step::Over(self.end),
                            Some(step) => return step,
                        },
                    }
                }
            }
        }
    }

    /// Reads once; `None` if there is something new to parse.
    fn listen<R>(&mut self, stream: &mut impl Read) -> Option<Step<R>> {
        let length = self.input.len();
        self.input.resize(length + READ_BYTES, 0);
        let result = stream.read(&mut self.input[length..]);
        self.input.truncate(length + *result.as_ref().unwrap_or(&0));
        match result {
            Ok(0) if length == 0 => Some(Step::Over(End::Good)),
            Ok(0) => Some(Step::Over(End::Vanished)),
            Ok(_) => {
                if length == 0 {
                    self.since = Instant::now();
                }
                None
            }
            Err(error) => match Self::trouble(&error) {
                Some(Step::Over(_)) if length == 0 => Some(Step::Over(End::Good)),
                step => step,
            },
        }
    }
}
