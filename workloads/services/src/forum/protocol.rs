//! The protocol of the board: one line each way, of limited length.
//!
//! The response to `POST topic message` is `OK index`, the message's index in its topic. The
//! response to `READ topic index` is `OK message`, or `NONE` if there is no such message yet. The
//! response to any other line is `ERROR` and the reason. After a line that is too long the
//! connection ends, because the start of the next line is unknown.

use crate::net::Parsed;

/// Longest line in bytes, without the line end.
const MAX_LINE: usize = 1024;

pub(crate) const MAX_TOPIC: usize = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    Post { topic: Vec<u8>, message: Vec<u8> },
    Read { topic: Vec<u8>, index: usize },
    Invalid(&'static str),
}

pub(crate) fn parse(input: &[u8]) -> Parsed<Request> {
    // Two bytes more than the longest line: one for a carriage return, and one for the line end.
    let looked_at = &input[..input.len().min(MAX_LINE + 2)];
    let end = looked_at.iter().position(|byte| *byte == b'\n');
    if end.is_none() && looked_at.len() < MAX_LINE + 2 {
        return Parsed::Incomplete;
    }
    let line = &looked_at[..end.unwrap_or(looked_at.len())];
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match end {
        Some(end) if line.len() <= MAX_LINE => Parsed::Whole(request(line), end + 1),
        _ => Parsed::Wrong(error("a line has 1024 bytes at most")),
    }
}

fn request(line: &[u8]) -> Request {
    let mut words = line.splitn(3, |byte| *byte == b' ');
    match (words.next(), words.next(), words.next()) {
        (_, Some(topic), _) if topic.is_empty() || topic.len() > MAX_TOPIC => {
            Request::Invalid("a topic has 1 to 64 bytes")
        }
        (Some(b"POST"), Some(topic), Some(message)) => Request::Post {
            topic: topic.to_vec(),
            message: message.to_vec(),
        },
        (Some(b"READ"), Some(topic), Some(index)) => {
            let digits = str::from_utf8(index).ok().filter(|it| !it.starts_with('+'));
            match digits.and_then(|digits| digits.parse().ok()) {
                Some(index) => Request::Read {
                    topic: topic.to_vec(),
                    index,
                },
                None => Request::Invalid("an index is a whole number of 64 bits"),
            }
        }
        _ => Request::Invalid("expected POST topic message, or READ topic index"),
    }
}

pub(crate) fn error(why: &str) -> Vec<u8> {
    format!("ERROR {why}\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_post_or_a_read_or_nonsense_with_a_reason() {
        let post = |message: &[u8]| Request::Post {
            topic: b"a".to_vec(),
            message: message.to_vec(),
        };
        let read = Request::Read {
            topic: b"a".to_vec(),
            index: 7,
        };
        let topic = Request::Invalid("a topic has 1 to 64 bytes");
        let index = Request::Invalid("an index is a whole number of 64 bits");
        let verb = Request::Invalid("expected POST topic message, or READ topic index");
        let long_topic = format!("READ {} 1\n", "a".repeat(MAX_TOPIC + 1));
        for (text, expected) in [
            ("POST a b  c\n", &post(b"b  c")),
            ("POST a \r\n", &post(b"")),
            ("READ a 7\n", &read),
            ("POST  b\n", &topic),
            (&long_topic, &topic),
            ("READ a -1\n", &index),
            ("READ a +1\n", &index),
            ("READ a 1 2\n", &index),
            ("READ a 99999999999999999999999\n", &index),
            ("\n", &verb),
            ("POST\n", &verb),
            ("POST a\n", &verb),
            ("READ a\n", &verb),
            ("post a b\n", &verb),
            ("DELETE a 1\n", &verb),
        ] {
            let whole = Parsed::Whole(expected.clone(), text.len());
            assert_eq!(parse(text.as_bytes()), whole, "{text:?}");
            let part = &text.as_bytes()[..text.len() - 1];
            assert_eq!(parse(part), Parsed::Incomplete, "{text:?}");
        }
    }

    #[test]
    fn the_longest_line_is_read_and_one_byte_more_is_refused() {
        let longest = format!("POST a {}", "b".repeat(MAX_LINE - 7));
        for end in ["\n", "\r\n"] {
            let [whole, wrong] =
                ["", "b"].map(|more| parse(format!("{longest}{more}{end}").as_bytes()));
            assert!(matches!(whole, Parsed::Whole(Request::Post { .. }, _)));
            assert!(matches!(wrong, Parsed::Wrong(_)), "{end:?}");
        }
        assert!(matches!(parse(&[b'a'; MAX_LINE + 2]), Parsed::Wrong(_)));
        assert_eq!(parse(&[b'a'; MAX_LINE + 1]), Parsed::Incomplete);
    }
}
