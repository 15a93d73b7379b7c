//! One connection, from its first request to its end.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use super::{Limits, Parsed, Service, Stop};

/// The longest time that one read or write may block, so that the connection's thread notices
/// deadlines and the end of the server.
const TICK: Duration = Duration::from_millis(50);

/// The size of one read in bytes: more than a usual request has.
const READ_BYTES: usize = 8 * 1024;

pub(super) struct Conversation<'a> {
    pub(super) stream: &'a TcpStream,
    pub(super) limits: &'a Limits,
    pub(super) stop: &'a Stop,
}

impl Conversation<'_> {
    /// Reads requests, and lets `serve` answer them one after the other, until the connection ends.
    /// `serve` returns whether the connection stays open.
    pub(super) fn hold<S: Service>(
        &self,
        service: &S,
        mut serve: impl FnMut(S::Request) -> io::Result<bool>,
    ) -> io::Result<()> {
        // The server writes each answer in one piece, which Nagle's algorithm would only delay.
        self.stream.set_nodelay(true)?;
        self.stream.set_read_timeout(Some(TICK))?;
        self.stream.set_write_timeout(Some(TICK))?;
        let mut input = Vec::new();
        while let Some(request) = self.next(service, &mut input)? {
            let is_last = self.stop.is_requested();
            if !serve(request)? || is_last {
                self.linger();
                break;
            }
        }
        Ok(())
    }

    /// Reads the next request; `None` if the connection ends between two requests.
    fn next<S: Service>(&self, service: &S, input: &mut Vec<u8>) -> io::Result<Option<S::Request>> {
        let limit = |input: &[u8]| match input {
            [] => self.limits.idle,
            _ => self.limits.request,
        };
        let mut due = Instant::now() + limit(input);
        loop {
            match service.parse(input) {
                Parsed::Whole(request, length) => {
                    input.drain(..length);
                    return Ok(Some(request));
                }
                Parsed::Wrong(answer) => return Err(self.refuse(&answer, ErrorKind::InvalidData)),
                Parsed::Incomplete => {}
            }
            let length = input.len();
            input.resize(length + READ_BYTES, 0);
            let mut stream = self.stream;
            let result = stream.read(&mut input[length..]);
            input.truncate(length + *result.as_ref().unwrap_or(&0));
            match result {
                Ok(1..) if length == 0 => due = Instant::now() + limit(input),
                Ok(1..) => {}
                Err(error) if is_no_progress(&error) => {
                    if !self.stop.is_requested() && Instant::now() < due {
                        continue;
                    }
                    if length == 0 {
                        return Ok(None);
                    }
                    return Err(self.refuse(&service.late(), ErrorKind::TimedOut));
                }
                _ if length == 0 => return Ok(None),
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Err(error) => return Err(error),
            }
        }
    }

    /// Sends the last answer of the connection, and returns the reason as an error.
    fn refuse(&self, answer: &[u8], reason: ErrorKind) -> io::Error {
        match self.send(answer) {
            Ok(()) => {
                self.linger();
                reason.into()
            }
            Err(error) => error,
        }
    }

    /// Sends all of `bytes`. The client has to read these bytes within the time limit of a request.
    pub(super) fn send(&self, mut bytes: &[u8]) -> io::Result<()> {
        let due = Instant::now() + self.limits.request;
        let mut stream = self.stream;
        while !bytes.is_empty() {
            match stream.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if !is_no_progress(&error) => return Err(error),
                Err(_) if Instant::now() >= due => return Err(ErrorKind::TimedOut.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }

    /// Waits until the client closes the connection or the time is up. If the server closed the
    /// stream at once, a reset could destroy the answer on its way.
    fn linger(&self) {
        // The shutdown fails only if the client has gone.
        let _ = self.stream.shutdown(Shutdown::Write);
        let due = Instant::now() + self.limits.linger;
        let mut stream = self.stream;
        let mut rest = [0; READ_BYTES];
        while Instant::now() < due {
            match stream.read(&mut rest) {
                Ok(1..) => {}
                Err(error) if is_no_progress(&error) => {}
                _ => break,
            }
        }
    }
}

fn is_no_progress(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}
