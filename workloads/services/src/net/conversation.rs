//! One connection, from its first request to its end.

use std::io::{self, ErrorKind, Read, Write};
use std::time::Instant;

use super::{End, Limits, Parsed, Protocol, Stop, Then, TurnedAway};
use std::time::Duration;

/// The longest time that one read or write of a [`Stream`] may take, so that its thread sees
/// deadlines and the end of the server.
pub(crate) const TICK: Duration = Duration::from_millis(50);

/// Bytes asked for in one read: more than a usual request has.
const READ_BYTES: usize = 8 * 1024;

/// The bytes that the server reads and drops after its last answer, so that the client can read the
/// answer before a reset destroys it. A client that sends more is cut off.
const LINGER_BYTES: usize = 1 << 20;

/// A connection whose reads and writes say `WouldBlock` or `TimedOut` after [`TICK`].
pub(crate) trait Stream: Read + Write {
    /// Tells the client that nothing more will come.
    fn finish(&mut self);
}

/// Where answers go.
pub(crate) struct Output<'a> {
    stream: &'a mut dyn Write,
    limits: &'a Limits,
    stop: &'a Stop,
}

impl Output<'_> {
    /// Sends all of it. The client has the time of a request for that, or until so long after the
    /// server was stopped, however little it takes at a time.
    ///
    /// # Errors
    /// Those of the stream, and `TimedOut`.
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let due = self.stop.asked().unwrap_or_else(Instant::now) + self.limits.request;
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

/// The stream has nothing to say about the connection.
fn is_no_progress(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
    )
}

/// Reads requests and has `serve` answer them, one after the other, until the connection ends.
/// `serve` also hears whether its answer is the last because the server ends.
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
                // A client that does not take it is gone, or as slow as it was.
                let _ = output.send(&answer);
                linger(stream, limits);
                return end;
            }
        };
        let is_last = stop.asked().is_some();
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
    /// The client hears this, and then the connection ends.
    LastWord(Vec<u8>, End),
}

fn next_request<P: Protocol>(
    stream: &mut impl Stream,
    protocol: &P,
    limits: &Limits,
    stop: &Stop,
    input: &mut Vec<u8>,
) -> Next<P::Request> {
    let mut is_encouraged = false;
    let limit = |is_idle| if is_idle { limits.idle } else { limits.request };
    let mut due = Instant::now() + limit(input.is_empty());
    loop {
        match protocol.parse(input) {
            Parsed::Whole { request, length } => {
                input.drain(..length);
                return Next::Request(request);
            }
            Parsed::Wrong { answer } => return Next::LastWord(answer, End::Malformed),
            Parsed::Incomplete { encouragement } => {
                if let Some(word) = encouragement.filter(|_| !is_encouraged) {
                    is_encouraged = true;
                    // A client that does not get it asks again or goes on without.
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
                let why = if stop.asked().is_some() {
                    TurnedAway::Stopping
                } else if Instant::now() >= due {
                    TurnedAway::TooSlow
                } else {
                    continue;
                };
                if is_idle {
                    return Next::Over(End::Good);
                }
                return Next::LastWord(protocol.turn_away(why), End::TooSlow);
            }
            _ if is_idle => return Next::Over(End::Good),
            _ => return Next::Over(End::Vanished),
        }
    }
}

/// Ends the answer, and drops what the client still sends: closing before would destroy the answer
/// on its way.
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
