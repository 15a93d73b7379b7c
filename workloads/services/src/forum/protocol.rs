//! The protocol of the board: one line each way, of limited length.
//!
//! The response to `POST topic message` is `OK index`, the message's index in its topic. The
//! response to `READ topic index` is `OK message`, or `NONE` if there is no such message yet. For
//! all other lines it is `ERROR` and the reason. After a line that is too long the connection ends,
//! because the start of the next line is unknown.

use std::io::Write as _;

use crate::net::Parsed;

/// Longest line in bytes, its end not counted.
pub(crate) const MAX_LINE: usize = 1024;

/// Longest topic in bytes.
pub(crate) const MAX_TOPIC: usize = 64;

/// The request of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Append `message` to `topic`.
    Post { topic: Vec<u8>, message: Vec<u8> },
    /// Return the message at this index of `topic`, counted from 0.
    Read { topic: Vec<u8>, index: usize },
    /// An invalid line, with the reason.
    Invalid(&'static str),
}

/// Reads the line at the beginning of `input`.
pub(crate) fn parse(input: &[u8]) -> Parsed<Request> {
    // One byte more than a line for a carriage return, and one for the end itself.
    let looked_at = &input[..input.len().min(MAX_LINE + 2)];
    let Some(end) = looked_at.iter().position(|byte| *byte == b'\n') else {
        return if looked_at.len() < MAX_LINE + 2 {
            Parsed::Incomplete {
                interim_response: None,
            }
        } else {
            too_long()
        };
    };
    let line = input[..end].strip_suffix(b"\r").unwrap_or(&input[..end]);
    if line.len() > MAX_LINE {
        return too_long();
    }
    Parsed::Whole {
        request: request(line),
        length: end + 1,
    }
}

fn too_long() -> Parsed<Request> {
    let mut answer = Vec::new();
    error("a line has 1024 bytes at most", &mut answer);
    Parsed::Wrong { answer }
}

fn request(line: &[u8]) -> Request {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    match (words.next(), words.next(), words.next()) {
        (Some(b"POST" | b"READ"), Some([]), _) => Request::Invalid("a topic has at least one byte"),
        (Some(b"POST" | b"READ"), Some(topic), _) if topic.len() > MAX_TOPIC => {
            Request::Invalid("a topic has 64 bytes at most")
        }
        (Some(b"POST"), Some(topic), Some(message)) => Request::Post {
            topic: topic.to_vec(),
            message: message.to_vec(),
        },
        (Some(b"READ"), Some(topic), Some(index)) => match index_of(index) {
            Some(index) => Request::Read {
                topic: topic.to_vec(),
                index,
            },
            None => Request::Invalid("an index is a whole number"),
        },
        (Some(b"POST"), ..) => Request::Invalid("expected POST topic message"),
        (Some(b"READ"), ..) => Request::Invalid("expected READ topic index"),
        _ => Request::Invalid("expected POST or READ"),
    }
}

fn index_of(word: &[u8]) -> Option<usize> {
    let is_number = !word.is_empty() && word.iter().all(u8::is_ascii_digit);
    let digits = is_number.then(|| str::from_utf8(word).ok())??;
    // An index that does not fit is beyond the last message.
    Some(digits.parse().unwrap_or(usize::MAX))
}

/// Appends the answer to a POST.
pub(crate) fn posted(index: usize, output: &mut Vec<u8>) {
    writeln!(output, "OK {index}").expect("memory takes everything");
}

/// Appends the answer to a READ.
pub(crate) fn found(message: Option<&[u8]>, output: &mut Vec<u8>) {
    match message {
        Some(message) => {
            output.extend_from_slice(b"OK ");
            output.extend_from_slice(message);
            output.push(b'\n');
        }
        None => output.extend_from_slice(b"NONE\n"),
    }
}

/// Appends the answer to an invalid line.
pub(crate) fn error(why: &str, output: &mut Vec<u8>) {
    writeln!(output, "ERROR {why}").expect("memory takes everything");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn line(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Whole { request, length } if length == text.len() => request,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_message_may_have_spaces_and_be_empty() {
        let post = |message: &[u8]| Request::Post {
            topic: b"a".to_vec(),
            message: message.to_vec(),
        };
        assert_eq!(line("POST a b  c\n"), post(b"b  c"));
        assert_eq!(line("POST a \r\n"), post(b""));
    }

    #[test]
    fn an_index_too_large_for_the_machine_is_one_that_no_message_has() {
        let read = |index| Request::Read {
            topic: b"a".to_vec(),
            index,
        };
        assert_eq!(line("READ a 7\n"), read(7));
        assert_eq!(line("READ a 99999999999999999999999\n"), read(usize::MAX));
    }

    #[test]
    fn everything_else_is_nonsense_with_a_reason() {
        for text in [
            "\n",
            "POST\n",
            "POST a\n",
            "POST  b\n",
            "READ a\n",
            "READ a -1\n",
            "READ a +1\n",
            "READ a 1 2\n",
            "READ a x\n",
            "post a b\n",
            "DELETE a 1\n",
        ] {
            assert!(matches!(line(text), Request::Invalid(_)), "{text:?}");
        }
        let long = format!("READ {} 1\n", "a".repeat(MAX_TOPIC + 1));
        assert_eq!(
            line(&long),
            Request::Invalid("a topic has 64 bytes at most")
        );
    }

    #[test]
    fn the_longest_line_is_read_and_one_byte_more_is_refused() {
        for end in ["\n", "\r\n"] {
            let longest = format!("POST a {}", "b".repeat(MAX_LINE - 7));
            assert!(matches!(
                line(&format!("{longest}{end}")),
                Request::Post { .. }
            ));
            let longer = format!("{longest}b{end}");
            assert!(
                matches!(parse(longer.as_bytes()), Parsed::Wrong { .. }),
                "{end:?}"
            );
        }
        assert!(matches!(parse(&[b'a'; MAX_LINE + 2]), Parsed::Wrong { .. }));
        assert!(matches!(
            parse(&[b'a'; MAX_LINE + 1]),
            Parsed::Incomplete { .. }
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn arbitrary_bytes_are_the_same_in_whatever_pieces_they_come(
            bytes in prop::collection::vec(
                prop_oneof![Just(b'\n'), Just(b' '), Just(b'\r'), any::<u8>()], 0..60
            ),
            filling in prop_oneof![Just(0), MAX_LINE - 60..MAX_LINE + 10],
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
        ) {
            let bytes = [vec![b'x'; filling], bytes].concat();
            let whole = parse(&bytes);
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            ends.sort_unstable();
            for end in ends {
                match parse(&bytes[..end]) {
                    Parsed::Incomplete { .. } => {}
                    part => {
                        prop_assert_eq!(&part, &whole);
                        break;
                    }
                }
            }
        }
    }
}
