//! Requests for documents, and their answers: the part of HTTP that only the key-value server
//! needs.

use std::fmt;
use std::io::Write as _;

use crate::http::{EMPTY_ROOM, Head, Status, Wrong};
use crate::net::Parsed;

/// Longest key, in bytes.
pub(crate) const MAX_KEY: usize = 1024;
/// Longest document, in bytes.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// Methods that the server distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    /// Read a document.
    Get,
    /// Create or replace it.
    Post,
    /// Remove it.
    Delete,
    /// Any other method: not allowed.
    Other,
}

impl Method {
    /// Returns the method as it is written in a request line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Delete => "DELETE",
            Self::Other => "other",
        }
    }

    fn of(token: &str) -> Self {
        [Self::Get, Self::Post, Self::Delete]
            .into_iter()
            .find(|method| method.name() == token)
            .unwrap_or(Self::Other)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The request of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The target's path without its leading slash, and its query, as they were sent.
    pub(crate) key: Vec<u8>,
    pub(crate) body: Vec<u8>,
    /// Whether the client keeps the connection open for further requests.
    pub(crate) keeps_alive: bool,
}

/// Reads the request at the beginning of `input`.
pub(crate) fn parse(input: &[u8]) -> Parsed<Request> {
    try_parse(input).unwrap_or_else(|wrong| Parsed::Wrong {
        answer: refusal(wrong),
    })
}

/// The answer to an invalid request, which is the last answer of its connection.
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

fn try_parse(input: &[u8]) -> Result<Parsed<Request>, Wrong> {
    let incomplete = Parsed::Incomplete {
        interim_response: None,
    };
    let mut room = EMPTY_ROOM;
    let Some(head) = Head::parse(input, &mut room)? else {
        return Ok(incomplete);
    };
    let (method, version, key) = (Method::of(head.method), head.version, head.path.as_bytes());
    if key.len() > MAX_KEY {
        return Err((Status::URI_TOO_LONG, "the key is longer than 1 KiB\n"));
    }
    let fields = Fields::of(head.headers)?;
    if version == 1 && !fields.has_host {
        return Err((Status::BAD_REQUEST, "HTTP/1.1 without the header Host\n"));
    }
    let length = match fields.length {
        None if method == Method::Post => {
            return Err((
                Status::LENGTH_REQUIRED,
                "POST without the header Content-Length\n",
            ));
        }
        None => 0,
        Some(length) if length > MAX_BODY as u64 => {
            return Err((Status::CONTENT_TOO_LARGE, "documents have 1 MiB at most\n"));
        }
        Some(length) => usize::try_from(length).expect("below the limit"),
    };
    let Some(body) = input.get(head.length..head.length + length) else {
        let interim_response = fields
            .expects_continue
            .then_some(&b"HTTP/1.1 100 Continue\r\n\r\n"[..]);
        return Ok(Parsed::Incomplete { interim_response });
    };
    let (key, body) = (key.to_vec(), body.to_vec());
    let request = Request {
        method,
        key,
        body,
        keeps_alive: version == 1 && !fields.closes,
    };
    Ok(Parsed::Whole {
        request,
        length: head.length + length,
    })
}

/// The contents of the headers.
#[derive(Default)]
struct Fields {
    length: Option<u64>,
    has_host: bool,
    closes: bool,
    expects_continue: bool,
}

impl Fields {
    fn of(headers: &[httparse::Header<'_>]) -> Result<Self, Wrong> {
        let mut fields = Self::default();
        for header in headers {
            let is = |name: &str| header.name.eq_ignore_ascii_case(name);
            let has = |token: &str| {
                header
                    .value
                    .split(|byte| *byte == b',')
                    .any(|word| word.trim_ascii().eq_ignore_ascii_case(token.as_bytes()))
            };
            if is("content-length") {
                if fields.length.is_some() {
                    return Err((Status::BAD_REQUEST, "two headers Content-Length\n"));
                }
                fields.length = Some(length(header.value)?);
            } else if is("transfer-encoding") {
                return Err((Status::NOT_IMPLEMENTED, "no Transfer-Encoding is known\n"));
            } else if is("host") {
                fields.has_host = true;
            } else if is("connection") {
                fields.closes |= has("close");
            } else if is("expect") {
                fields.expects_continue |= has("100-continue");
            }
        }
        Ok(fields)
    }
}

fn length(value: &[u8]) -> Result<u64, Wrong> {
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err((Status::BAD_REQUEST, "Content-Length is no whole number\n"));
    }
    // A number that does not fit exceeds the limit in any case.
    Ok(str::from_utf8(value)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(u64::MAX))
}

/// The answer of the server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response<'a> {
    pub(crate) status: Status,
    /// MD5 of the document, sent as its entity tag.
    pub(crate) tag: Option<[u8; 16]>,
    pub(crate) body: &'a [u8],
    pub(crate) keeps_alive: bool,
}

impl Response<'_> {
    /// Appends it to `output`.
    pub(crate) fn write(&self, output: &mut Vec<u8>) {
        let Status(number, reason) = self.status;
        let mut head = |line: fmt::Arguments<'_>| {
            output.write_fmt(line).expect("memory takes everything");
        };
        head(format_args!("HTTP/1.1 {number} {reason}\r\n"));
        if self.status != Status::NO_CONTENT {
            head(format_args!("Content-Length: {}\r\n", self.body.len()));
        }
        if let Some(tag) = self.tag {
            head(format_args!(
                "ETag: \"{:032x}\"\r\n",
                u128::from_be_bytes(tag)
            ));
        }
        if self.status == Status::METHOD_NOT_ALLOWED {
            head(format_args!("Allow: GET, POST, DELETE\r\n"));
        }
        let end = if self.keeps_alive {
            "\r\n"
        } else {
            "Connection: close\r\n\r\n"
        };
        output.extend_from_slice(end.as_bytes());
        output.extend_from_slice(self.body);
    }
}
