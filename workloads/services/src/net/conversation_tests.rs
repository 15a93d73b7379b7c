//! Conversations over a mock stream: the same is said in whatever pieces bytes come and go.

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use proptest::prelude::*;

use super::conversation::*;
use super::{Limits, Parsed, Service, Then, Times, TurnedAway};

/// Lines, answered by themselves; `bye` ends the conversation, and a line with `!` is wrong.
struct Echo;

impl Service for Echo {
    type Request = Vec<u8>;
    type Outcome = ();

    fn parse(&self, input: &[u8]) -> Parsed<Vec<u8>> {
        match input.iter().position(|byte| *byte == b'\n') {
            None => Parsed::Incomplete {
                encouragement: None,
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

    fn answer(&self, request: &Vec<u8>, _: bool, output: &mut Vec<u8>) -> ((), Then) {
        output.extend_from_slice(request);
        (
            (),
            if request == b"bye\n" {
                Then::Close
            } else {
                Then::Listen
            },
        )
    }

    fn turn_away(&self, why: TurnedAway) -> Vec<u8> {
        if why == TurnedAway::Stopping {
            b"the end".to_vec()
        } else {
            b"late".to_vec()
        }
    }

    fn answered(&self, _: usize, _: &Vec<u8>, (): (), _: Times) {}
}

/// Gives one piece a time and would block in between; takes so many bytes at a time, then blocks.
struct Pieces {
    input: VecDeque<Vec<u8>>,
    is_closed: bool,
    output: Vec<u8>,
    takes: usize,
    is_tired: bool,
}

impl Pieces {
    fn new(input: impl IntoIterator<Item = Vec<u8>>, takes: usize) -> Self {
        let input = input.into_iter().collect();
        Self {
            input,
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
            // An empty piece is a moment in which nothing has come.
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

/// Goes on until the conversation is over, or the stream has nothing more and stays open.
fn talk(stream: &mut Pieces) -> (Conversation, Option<End>) {
    let mut conversation = Conversation::new();
    // Each step takes a piece or a part of an answer; far more than any test has.
    for _ in 0..100_000 {
        match conversation.advance(stream, &Echo, || ()) {
            Step::Asked(request) => {
                let mut answer = Vec::new();
                let ((), then) = Echo.answer(&request, false, &mut answer);
                conversation.answer(answer, then);
            }
            Step::Waits if !stream.is_closed && stream.input.is_empty() => {
                return (conversation, None);
            }
            Step::Waits => {}
            Step::Over(end) => return (conversation, Some(end)),
        }
    }
    panic!("it never ends");
}

fn ended(text: &[u8]) -> (Vec<u8>, Option<End>) {
    let mut stream = Pieces::new([text.to_vec()], usize::MAX);
    let (_, end) = talk(&mut stream);
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
        assert_eq!(ended(input), (output.to_vec(), Some(end)), "{input:?}");
    }
}

#[test]
fn the_end_of_patience_depends_on_where_a_conversation_is() {
    let waits = |text: &[u8]| {
        let mut stream = Pieces::new([text.to_vec()], usize::MAX);
        stream.is_closed = false;
        talk(&mut stream)
    };
    let (mut idle, end) = waits(b"a\n");
    assert_eq!(end, None);
    assert!(idle.deadline(&Limits::DEFAULT).is_some());
    assert_eq!(idle.expire(&Echo), Some(End::Good));
    assert_eq!(idle.deadline(&Limits::DEFAULT), None, "it is over");
    let (mut slow, end) = waits(b"a\nb");
    assert_eq!(end, None);
    assert_eq!(slow.expire(&Echo), None, "there is a last word");
    let mut stream = Pieces::new([], usize::MAX);
    assert_eq!(
        slow.advance(&mut stream, &Echo, || ()),
        Step::Over(End::TooSlow)
    );
    assert_eq!(stream.output, b"late");
}

#[test]
fn when_the_server_stops_an_idle_client_is_let_go_and_a_half_sent_request_is_answered_with_the_reason()
 {
    let waits = |text: &[u8]| {
        let mut stream = Pieces::new([text.to_vec()], usize::MAX);
        stream.is_closed = false;
        talk(&mut stream).0
    };
    assert_eq!(waits(b"a\n").stop(&Echo), Some(End::Good));
    let mut half = waits(b"a\nb");
    assert_eq!(half.stop(&Echo), None, "there is a last word");
    let mut stream = Pieces::new([], usize::MAX);
    stream.is_closed = false;
    while !half.is_leaving() {
        assert_eq!(half.advance(&mut stream, &Echo, || ()), Step::Waits);
    }
    assert_eq!(stream.output, b"the end");
}

#[test]
fn a_client_without_room_is_told_so_before_and_after_it_has_asked() {
    for input in [&b""[..], b"a\nb\n", b"a"] {
        let mut stream = Pieces::new([Vec::new(), input.to_vec()], usize::MAX);
        let mut refused = Conversation::refused(&Echo);
        while refused.advance(&mut stream, &Echo, || ()) != Step::Over(End::TurnedAway) {}
        assert_eq!(stream.output, b"late", "and nothing else is answered");
    }
    let mut deaf = Conversation::refused(&Echo);
    assert_eq!(
        deaf.expire(&Echo),
        Some(End::TurnedAway),
        "it never took a place"
    );
}

#[test]
fn a_client_that_says_too_much_after_its_end_is_cut_off() {
    let talk_on = std::iter::repeat_n(vec![b'x'; 4096], 1_000);
    let mut stream = Pieces::new([b"bye\n".to_vec()].into_iter().chain(talk_on), usize::MAX);
    stream.is_closed = false;
    let (_, end) = talk(&mut stream);
    assert_eq!(end, Some(End::Good));
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
        let (_, end) = talk(&mut stream);
        prop_assert_eq!((stream.output, end), ended(&text));
    }
}
