//! Conversations over a mock stream: answers do not depend on the pieces in which bytes come and
//! go.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

/// A protocol of lines, each answered by itself; `bye` ends the conversation, and a line with `!`
/// is invalid.
struct Echo;

impl Protocol for Echo {
    type Request = Vec<u8>;

    fn parse(&self, input: &[u8]) -> Parsed<Vec<u8>> {
        match input.iter().position(|byte| *byte == b'\n') {
            None => Parsed::Incomplete {
                interim_response: None,
            },
            Some(end) if input[..end].contains(&b'!') => Parsed::Wrong {
                answer: b"no".to_vec(),
            },
            Some(end) => Parsed::Whole {
                request: input[..=end].to_vec(),
                length: end + 1,
            },
        }
    }

    fn refuse(&self, why: Refused) -> Vec<u8> {
        match why {
            Refused::Stopping => b"the end".to_vec(),
            Refused::TooSlow => b"late".to_vec(),
        }
    }
}

/// A stream that returns one piece at a time and would block in between. It accepts a few bytes at
/// a time, then would block.
struct Pieces {
    input: VecDeque<Vec<u8>>,
    is_closed: bool,
    output: Vec<u8>,
    takes: usize,
    is_tired: bool,
}

impl Pieces {
    fn new(input: impl IntoIterator<Item = Vec<u8>>, takes: usize) -> Self {
        Self {
            input: input.into_iter().collect(),
            is_closed: true,
            output: Vec::new(),
            takes,
            is_tired: false,
        }
    }
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.input.pop_front() {
            // An empty piece means that no byte has arrived yet.
            Some(piece) if piece.is_empty() => Err(io::ErrorKind::WouldBlock.into()),
            Some(piece) => {
                buffer[..piece.len()].copy_from_slice(&piece);
                Ok(piece.len())
            }
            None if self.is_closed => Ok(0),
            None => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl Write for Pieces {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.is_tired = !self.is_tired;
        if !self.is_tired {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = bytes.len().min(self.takes);
        self.output.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for Pieces {
    fn finish(&mut self) {}
}

/// A server without a loop, of which the test only uses the end.
fn stop() -> Stop {
    Stop::new(&TcpListener::bind(LOOPBACK).unwrap()).unwrap()
}

/// Short limits, so that a stream that stays open ends the test.
const LIMITS: Limits = Limits {
    connections: 1,
    request: Duration::from_millis(20),
    idle: Duration::from_millis(20),
    linger: Duration::from_millis(20),
};

fn talk(stream: &mut Pieces, limits: &Limits, stop: &Stop) -> End {
    converse(stream, &Echo, limits, stop, |request, _, output| {
        output.send(&request)?;
        Ok(if request == b"bye\n" {
            Then::Close
        } else {
            Then::Listen
        })
    })
}

fn ended(text: &[u8]) -> (Vec<u8>, End) {
    let mut stream = Pieces::new([text.to_vec()], usize::MAX);
    let end = talk(&mut stream, &Limits::DEFAULT, &stop());
    (stream.output, end)
}

#[test]
fn a_conversation_ends_in_the_way_that_its_client_chose() {
    let known: [(&[u8], &[u8], End); 6] = [
        (b"", b"", End::Good),
        (b"a\nb\n", b"a\nb\n", End::Good),
        (b"a\nb", b"a\n", End::Vanished),
        (b"bye\n", b"bye\n", End::Good),
        (b"bye\nignored\n", b"bye\n", End::Good),
        (b"a\n!\nb\n", b"a\nno", End::Malformed),
    ];
    for (input, output, end) in known {
        assert_eq!(ended(input), (output.to_vec(), end), "{input:?}");
    }
}

#[test]
fn a_client_that_says_nothing_more_is_let_go_and_one_within_a_request_hears_why() {
    for (input, is_stopped, output, end) in [
        ("a\n", false, "a\n", End::Good),
        ("a\nb", false, "a\nlate", End::TooSlow),
        ("", true, "", End::Good),
        ("b", true, "the end", End::TooSlow),
    ] {
        let stop = stop();
        if is_stopped {
            stop.stop();
        }
        let mut stream = Pieces::new([input.into()], usize::MAX);
        stream.is_closed = false;
        assert_eq!(talk(&mut stream, &LIMITS, &stop), end, "{input:?}");
        assert_eq!(stream.output, output.as_bytes(), "{input:?}");
    }
}

#[test]
fn a_request_that_had_arrived_when_the_server_stopped_is_answered_and_is_the_last() {
    let stop = stop();
    stop.stop();
    let mut stream = Pieces::new([b"a\nb\n".to_vec()], usize::MAX);
    assert_eq!(talk(&mut stream, &LIMITS, &stop), End::Good);
    assert_eq!(stream.output, b"a\n");
}

#[test]
fn a_client_that_says_too_much_after_its_end_is_cut_off() {
    let talk_on = std::iter::repeat_n(vec![b'x'; 4096], 1_000);
    let mut stream = Pieces::new([b"bye\n".to_vec()].into_iter().chain(talk_on), usize::MAX);
    let end = talk(&mut stream, &Limits::DEFAULT, &stop());
    assert_eq!(end, End::Good);
    assert!(!stream.input.is_empty(), "all was read");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_the_pieces_the_same_is_said_in_the_same_order(
        text in prop::collection::vec(prop::sample::select(&b"ab\n\nbye!"[..]), 0..200),
        cuts in prop::collection::vec(0_usize..5, 1..50),
        takes in 1_usize..4,
    ) {
        let mut rest = &text[..];
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle().take(2 * text.len() + 1) {
            let (piece, others) = rest.split_at(rest.len().min(*cut));
            pieces.push(piece.to_vec());
            rest = others;
        }
        pieces.push(rest.to_vec());
        let mut stream = Pieces::new(pieces, takes);
        let end = talk(&mut stream, &Limits::DEFAULT, &stop());
        prop_assert_eq!((stream.output, end), ended(&text));
    }
}
