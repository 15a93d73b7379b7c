//! Requests for documents, and their answers: the part of HTTP that only the key-value server
//! needs.

use std::fmt;
use std::io::Write as _;

use crate::http::{EMPTY_ROOM, Head, Status, Wrong};
use crate::net::Parsed;

/// Longest document, in bytes.
pub(crate) const MAX_BODY: usize = 1 << 20;

pub(crate) const CREATED: Status = Status(201, "Created");
pub(crate) const NO_CONTENT: Status = Status(204, "No Content");
const CONTENT_TOO_LARGE: Status = Status(413, "Content Too Large");

pub(crate) const NOTHING_FOUND: &[u8] = b"there is no such document\n";

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    Get,
    Post,
    Delete,
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The target's path without its leading slash, and the target's query, as the client sent
    /// them.
    pub(crate) key: Vec<u8>,
    pub(crate) body: Vec<u8>,
    pub(crate) keeps_alive: bool,
}

pub(crate) fn parse(input: &[u8]) -> Parsed<Request> {
    match try_parse(input) {
        Ok(None) => Parsed::Incomplete,
        Ok(Some((request, length))) => Parsed::Whole(request, length),
        Err(wrong) => Parsed::Wrong(refusal(wrong)),
    }
}

pub(crate) fn refusal((status, detail): Wrong) -> Vec<u8> {
    let mut answer = Vec::new();
    Response {
        status,
        tag: None,
        body: detail.as_bytes(),
        keeps_alive: false,
    }
    .write(&mut answer);
    answer
}

fn try_parse(input: &[u8]) -> Result<Option<(Request, usize)>, Wrong> {
    let mut room = EMPTY_ROOM;
    let Some(head) = Head::parse(input, &mut room)? else {
        return Ok(None);
    };
    let method = match head.method {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "DELETE" => Method::Delete,
        // The answer has no body, because the method may be HEAD.
        _ => return Err((Status::NOT_IMPLEMENTED, "")),
    };
    let mut length = None;
    let mut keeps_alive = head.version == 1;
    for header in head.headers {
        let is = |name: &str| header.name.eq_ignore_ascii_case(name);
        let text = str::from_utf8(header.value).unwrap_or_default();
        if is("content-length") {
            // The server refuses two lengths, because a proxy may believe another one than the
            // server.
            let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
            if length.is_some() || !is_number {
                return Err((Status::BAD_REQUEST, "expected one length as a number\n"));
            }
            // A number that does not fit exceeds the limit in any case.
            length = Some(text.parse().unwrap_or(usize::MAX));
        } else if is("transfer-encoding") {
            return Err((Status::NOT_IMPLEMENTED, "no Transfer-Encoding is known\n"));
        } else if is("connection") {
            let mut words = text.split(',');
            keeps_alive &= !words.any(|word| word.trim().eq_ignore_ascii_case("close"));
        }
    }
    let length = length.unwrap_or(0);
    if length > MAX_BODY {
        return Err((CONTENT_TOO_LARGE, "documents have 1 MiB at most\n"));
    }
    let end = head.length + length;
    let Some(body) = input.get(head.length..end) else {
        return Ok(None);
    };
    let request = Request {
        method,
        key: head.path.into(),
        body: body.to_vec(),
        keeps_alive,
    };
    Ok(Some((request, end)))
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Response<'a> {
    pub(crate) status: Status,
    /// MD5 of the document, sent as its entity tag.
    pub(crate) tag: Option<[u8; 16]>,
    pub(crate) body: &'a [u8],
    pub(crate) keeps_alive: bool,
}

impl Response<'_> {
    pub(crate) fn write(&self, output: &mut Vec<u8>) {
        let Status(number, reason) = self.status;
        let mut head = |line: fmt::Arguments<'_>| {
            output
                .write_fmt(line)
                .expect("writing to memory cannot fail");
        };
        head(format_args!("HTTP/1.1 {number} {reason}\r\n"));
        if self.status != NO_CONTENT {
            head(format_args!("Content-Length: {}\r\n", self.body.len()));
        }
        if let Some(tag) = self.tag {
            let tag = u128::from_be_bytes(tag);
            head(format_args!("ETag: \"{tag:032x}\"\r\n"));
        }
        if !self.keeps_alive {
            head(format_args!("Connection: close\r\n"));
        }
        head(format_args!("\r\n"));
        output.extend_from_slice(self.body);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::http::{MAX_HEAD, MAX_HEADERS};

    fn whole(text: &str) -> Request {
        match parse(text.as_bytes()) {
            Parsed::Whole(request, length) if length == text.len() => request,
            other => panic!("{text:?}: {other:?}"),
        }
    }

    #[test]
    fn a_request_is_read_as_it_was_written() {
        let text = "POST /a/b HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nxyz";
        let expected = Request {
            method: Method::Post,
            key: b"a/b".to_vec(),
            body: b"xyz".to_vec(),
            keeps_alive: true,
        };
        assert_eq!(whole(text), expected);
        for (version, header, expected) in [
            ("1.1", "", true),
            ("1.1", "Connection: x, Close\r\n", false),
            ("1.0", "Connection: Keep-Alive\r\n", false),
        ] {
            let request = whole(&format!("GET / HTTP/{version}\r\n{header}\r\n"));
            assert_eq!(request.keeps_alive, expected, "{version} {header}");
        }
    }

    #[test]
    fn every_mistake_has_its_status() {
        let post = |headers: &str| format!("POST / HTTP/1.1\r\n{headers}\r\n");
        for (text, expected) in [
            ("\0\0\0\0".to_owned(), 400),
            ("GET a HTTP/1.1\r\n\r\n".to_owned(), 400),
            ("GET / HTTP/2.0\r\n\r\n".to_owned(), 400),
            (post("bad header\r\n"), 400),
            (post("Content-Length: -1\r\n"), 400),
            (post("Content-Length: \r\n"), 400),
            (post("Content-Length: 1\r\nContent-Length: 1\r\n"), 400),
            (post(&format!("Content-Length: {}\r\n", MAX_BODY + 1)), 413),
            (post("Content-Length: 99999999999999999999999\r\n"), 413),
            (format!("GET /{}", "k".repeat(MAX_HEAD)), 431),
            (post(&"X: y\r\n".repeat(MAX_HEADERS + 1)), 431),
            (post("Transfer-Encoding: chunked\r\n"), 501),
            ("HEAD / HTTP/1.1\r\n\r\n".to_owned(), 501),
        ] {
            let Parsed::Wrong(answer) = parse(text.as_bytes()) else {
                panic!("{text:?} is accepted");
            };
            let answer = String::from_utf8(answer).unwrap();
            let status = format!("HTTP/1.1 {expected} ");
            assert!(answer.starts_with(&status), "{text:?}: {answer}");
            assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
        }
    }

    #[test]
    fn an_answer_has_length_and_tag() {
        let write = |status, tag, body| {
            let mut output = Vec::new();
            let keeps_alive = true;
            Response {
                status,
                tag,
                body,
                keeps_alive,
            }
            .write(&mut output);
            String::from_utf8(output).unwrap()
        };
        assert_eq!(
            write(Status::OK, Some([0x0f; 16]), b"xyz"),
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\
             ETag: \"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f\"\r\n\r\nxyz"
        );
        let removed = "HTTP/1.1 204 No Content\r\n\r\n";
        assert_eq!(write(NO_CONTENT, None, b""), removed);
    }

    fn input() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just(b"GET /a HTTP/1.1\r\n".to_vec()),
            Just(b"POST /b HTTP/1.0\r\n".to_vec()),
            Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
            (0_u32..40).prop_map(|length| format!("Content-Length: {length}\r\n").into_bytes()),
            Just(b"\r\n".to_vec()),
            Just(b"X: y\r\n".repeat(30)),
            Just(vec![b'z'; 3_000]),
            prop::collection::vec(any::<u8>(), 0..40),
        ];
        prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The input is longer than the limits of a head and a body, so it is never incomplete.
        #[test]
        fn arbitrary_input_is_the_same_in_whatever_pieces_it_comes(
            input in input(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
        ) {
            let mut input = input;
            input.resize(input.len() + MAX_HEAD + MAX_BODY, b'a');
            let whole = parse(&input);
            prop_assert_ne!(&whole, &Parsed::Incomplete);
            for cut in cuts {
                let part = parse(&input[..cut.index(MAX_HEAD + 1)]);
                prop_assert!(part == Parsed::Incomplete || part == whole);
            }
        }
    }
}
