//! The server recognises requests and rejects other input, in whatever pieces it arrives.

use proptest::prelude::*;

use super::http::*;
use crate::http::{MAX_HEAD, MAX_HEADERS, Status};
use crate::net::Parsed;

fn get() -> Request {
    Request {
        method: Method::Get,
        key: b"a/b".to_vec(),
        body: Vec::new(),
        keeps_alive: true,
    }
}

/// Returns the request that `text` consists of.
fn whole(text: &str) -> Request {
    match parse(text.as_bytes()) {
        Parsed::Whole { request, length } if length == text.len() => request,
        other => panic!("{text:?}: {other:?}"),
    }
}

/// Returns the status with which the server refuses `text`.
fn status(text: &str) -> u16 {
    match parse(text.as_bytes()) {
        Parsed::Wrong { answer } => {
            let answer = String::from_utf8(answer).unwrap();
            assert!(answer.contains("\r\nConnection: close\r\n"), "{answer}");
            answer.split(' ').nth(1).unwrap().parse().unwrap()
        }
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn the_connection_goes_on_as_version_and_header_say() {
    for (version, header, expected) in [
        ("1.1", "", true),
        ("1.1", "Connection: Close\r\n", false),
        ("1.1", "Connection: x, close\r\n", false),
        ("1.0", "", false),
        ("1.0", "Connection: Keep-Alive\r\n", false),
    ] {
        let request = whole(&format!("GET / HTTP/{version}\r\nHost: h\r\n{header}\r\n"));
        assert_eq!(request.keeps_alive, expected, "{version} {header}");
    }
}

#[test]
fn every_mistake_has_its_status() {
    let host = "HTTP/1.1\r\nHost: h\r\n";
    for (text, expected) in [
        ("\0\0\0\0".to_owned(), 400),
        ("GET / HTTP/1.1\r\n\r\n".to_owned(), 400),
        (format!("GET a {host}\r\n"), 400),
        (format!("GET / {host}bad header\r\n\r\n"), 400),
        (format!("POST / {host}Content-Length: x\r\n\r\n"), 400),
        (format!("POST / {host}Content-Length: -1\r\n\r\n"), 400),
        (format!("POST / {host}Content-Length: \r\n\r\n"), 400),
        (
            format!("POST / {host}Content-Length: 1\r\nContent-Length: 1\r\n\r\n"),
            400,
        ),
        (format!("POST / {host}\r\n"), 411),
        (
            format!("POST / {host}Content-Length: {}\r\n\r\n", MAX_BODY + 1),
            413,
        ),
        (
            format!("POST / {host}Content-Length: 99999999999999999999999\r\n\r\n"),
            413,
        ),
        (format!("GET /{} {host}\r\n", "k".repeat(MAX_KEY + 1)), 414),
        (format!("GET /{}", "k".repeat(MAX_HEAD)), 414),
        (format!("GET / {host}X: {}", "x".repeat(MAX_HEAD)), 431),
        (
            format!("GET / {host}{}\r\n", "X: y\r\n".repeat(MAX_HEADERS)),
            431,
        ),
        (
            format!("POST / {host}Transfer-Encoding: chunked\r\n\r\n"),
            501,
        ),
        ("GET / HTTP/2.0\r\n\r\n".to_owned(), 505),
    ] {
        assert_eq!(status(&text), expected, "{text:?}");
    }
}

#[test]
fn a_client_that_waits_for_leave_to_send_gets_it() {
    let text = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n";
    let Parsed::Incomplete {
        interim_response: Some(word),
    } = parse(text.as_bytes())
    else {
        panic!("the server does not send 100 Continue")
    };
    assert_eq!(word, b"HTTP/1.1 100 Continue\r\n\r\n");
}

#[test]
fn an_answer_has_length_tag_and_what_the_status_asks_for() {
    let write = |status, tag, body, keeps_alive| {
        let mut output = Vec::new();
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
        write(Status::OK, Some([0x0f; 16]), b"xyz", true),
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\
         ETag: \"0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f0f\"\r\n\r\nxyz"
    );
    assert_eq!(
        write(Status::NO_CONTENT, None, b"", true),
        "HTTP/1.1 204 No Content\r\n\r\n"
    );
    assert_eq!(
        write(Status::METHOD_NOT_ALLOWED, None, b"", false),
        "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\
         Allow: GET, POST, DELETE\r\nConnection: close\r\n\r\n"
    );
}

/// Valid and invalid requests, and random bytes.
fn input() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"GET /a HTTP/1.1\r\n".to_vec()),
        Just(b"POST /b HTTP/1.0\r\n".to_vec()),
        Just(b"Host: h\r\n".to_vec()),
        Just(b"Expect: 100-continue\r\n".to_vec()),
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

    /// A prefix that contains the whole request gives the same result as the whole input.
    #[test]
    fn arbitrary_input_is_the_same_in_whatever_pieces_it_comes(
        input in input(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let whole = parse(&input);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
        ends.sort_unstable();
        for end in ends {
            match parse(&input[..end]) {
                Parsed::Incomplete { .. } => {}
                part => {
                    prop_assert_eq!(&part, &whole, "the first {} bytes", end);
                    break;
                }
            }
        }
    }

    /// No part of a request may exceed its limit.
    #[test]
    fn no_input_beyond_the_bounds_is_incomplete(input in input()) {
        let mut input = input;
        input.resize(input.len() + MAX_HEAD + MAX_BODY, b'a');
        let is_incomplete = matches!(parse(&input), Parsed::Incomplete { .. });
        prop_assert!(!is_incomplete);
    }

    /// The server parses exactly the request that the client sent.
    #[test]
    fn a_request_as_written_is_read_back(
        key in "[a-z/]{0,20}", body in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut text =
            format!("POST /{key} HTTP/1.1\r\nHost: h\r\nContent-Length: {}\r\n\r\n", body.len())
                .into_bytes();
        text.extend_from_slice(&body);
        let expected = Request { method: Method::Post, key: key.into_bytes(), body, ..get() };
        prop_assert_eq!(parse(&text), Parsed::Whole { request: expected, length: text.len() });
    }
}
