//! One connection, from its first request to its end.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

use super::{End, Limits, Parsed, Protocol, Refused, Stop, Then};
use std::time::Duration;

/// The longest time that one read or write of a [`Stream`] may take, so that its thread sees
/// deadlines and the end of the server.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// The size of one read in bytes: more than a usual request has.
const READ_BYTES: usize = 8 * 1024;

/// The bytes that the server reads and drops after its last answer, so that the client can read the
/// answer before a reset destroys it. A client that sends more is cut off.
const LINGER_BYTES: usize = 1 << 20;

/// A connection whose reads and writes fail with `WouldBlock` or `TimedOut` after [`TICK`].
pub(crate) trait Stream: Read + Write {
    /// Shuts the stream for writing, so that the client sees its end.
    fn finish(&mut self);
}

/// The stream to which answers are written.
pub(crate) struct Output<'a> {
    stream: &'a mut dyn Write,
    limits: &'a Limits,
    stop: &'a Stop,
}

impl Output<'_> {
    /// Sends all of `bytes`, in whatever pieces the client reads them. The client has the time
    /// limit of a request for that, and after a stop of the server until that limit after the stop.
    ///
    /// # Errors
    /// Those of the stream, and `TimedOut`.
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let due = self.stop.requested_at().unwrap_or_else(Instant::now) + self.limits.request;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(count) => bytes = &bytes[count..],
                Err(error) if !is_no_progress(&error) => return Err(error),
                Err(_) if Instant::now() >= due => return Err(ErrorKind::TimedOut.into()),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Returns whether an error only says that the stream is not ready.
fn is_no_progress(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}

/// Reads requests, and lets `serve` answer them one after the other, until the connection ends. The
/// second argument of `serve` says that the answer is the last because the server ends.
pub(crate) fn converse<P: Protocol>(
    stream: &mut impl Stream,
    protocol: &P,
    limits: &Limits,
    stop: &Stop,
    mut serve: impl FnMut(P::Request, bool, &mut Output<'_>) -> io::Result<Then>,
) -> End {
    let mut input = Vec::new();
    loop {
        let request = match next_request(stream, protocol, limits, stop, &mut input) {
            Next::Request(request) => request,
            Next::Over(end) => return end,
            Next::LastWord(answer, end) => {
                let mut output = Output {
                    stream,
                    limits,
                    stop,
                };
                // If this fails, the client has gone, or is still too slow.
                let _ = output.send(&answer);
                linger(stream, limits);
                return end;
            }
        };
        let is_last = stop.requested_at().is_some();
        let mut output = Output {
            stream,
            limits,
            stop,
        };
        match serve(request, is_last, &mut output) {
            Ok(Then::Listen) if !is_last => {}
            Ok(_) => {
                linger(stream, limits);
                return End::Good;
            }
            Err(error) if error.kind() == ErrorKind::TimedOut => return End::TooSlow,
            Err(_) => return End::Vanished,
        }
    }
}

/// The next event of a connection.
enum Next<R> {
    Request(R),
    Over(End),
    /// The server sends this, and then closes the connection.
    LastWord(Vec<u8>, End),
}

fn next_request<P: Protocol>(
    stream: &mut impl Stream,
    protocol: &P,
    limits: &Limits,
    stop: &Stop,
    input: &mut Vec<u8>,
) -> Next<P::Request> {
    let mut is_interim_sent = false;
    let limit = |is_idle| if is_idle { limits.idle } else { limits.request };
    let mut due = Instant::now() + limit(input.is_empty());
    loop {
        match protocol.parse(input) {
            Parsed::Whole { request, length } => {
                input.drain(..length);
                return Next::Request(request);
            }
            Parsed::Wrong { answer } => return Next::LastWord(answer, End::Malformed),
            Parsed::Incomplete { interim_response } => {
                if let Some(word) = interim_response.filter(|_| !is_interim_sent) {
                    is_interim_sent = true;
                    // Without this response, a client repeats its request or sends the body anyway.
                    let _ = stream.write(word);
                }
            }
        }
        let length = input.len();
        input.resize(length + READ_BYTES, 0);
        let result = stream.read(&mut input[length..]);
        input.truncate(length + *result.as_ref().unwrap_or(&0));
        let is_idle = length == 0;
        match result {
            Ok(1..) if is_idle => due = Instant::now() + limit(false),
            Ok(1..) => {}
            Err(error) if is_no_progress(&error) => {
                let why = if stop.requested_at().is_some() {
                    Refused::Stopping
                } else if Instant::now() >= due {
                    Refused::TooSlow
                } else {
                    continue;
                };
                if is_idle {
                    return Next::Over(End::Good);
                }
                return Next::LastWord(protocol.refuse(why), End::TooSlow);
            }
            _ if is_idle => return Next::Over(End::Good),
            _ => return Next::Over(End::Vanished),
        }
    }
}

/// Shuts the stream for writing, and drops the rest of the client's input. If the server closed the
/// stream at once, a reset could destroy the answer on its way.
fn linger(stream: &mut impl Stream, limits: &Limits) {
    stream.finish();
    let due = Instant::now() + limits.linger;
    let mut rest = [0; 4096];
    let mut dropped = 0;
    while dropped <= LINGER_BYTES && Instant::now() < due {
        match stream.read(&mut rest) {
            Ok(1..) => dropped += rest.len(),
            Err(error) if is_no_progress(&error) => {}
            _ => return,
        }
    }
}
