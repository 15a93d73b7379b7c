//! The part of HTTP/1.1 (RFC 9110, 9112) that the key-value server speaks, with bounds on
//! everything that a client can make long.

use std::fmt;
use std::io::Write as _;

use crate::http_target::local_path;
use crate::net::Parsed;

/// Longest request line and headers together, in bytes.
pub(crate) const MAX_HEAD: usize = 8 * 1024;
/// Most headers.
pub(super) const MAX_HEADERS: usize = 64;
/// Longest key, in bytes.
pub(crate) const MAX_KEY: usize = 1024;
/// Longest document, in bytes.
pub(crate) const MAX_BODY: usize = 1 << 20;

/// Methods that the server tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Method {
    /// Read a document.
    Get,
    /// Create or replace it.
    Post,
    /// Remove it.
    Delete,
    /// Anything else: not allowed.
    Other,
}

impl Method {
    /// As it stands in a request line.
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

/// A status line's number and reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Status(pub(crate) u16, &'static str);

impl Status {
    pub(crate) const OK: Self = Self(200, "OK");
    pub(crate) const CREATED: Self = Self(201, "Created");
    pub(crate) const NO_CONTENT: Self = Self(204, "No Content");
    pub(crate) const BAD_REQUEST: Self = Self(400, "Bad Request");
    pub(crate) const NOT_FOUND: Self = Self(404, "Not Found");
    pub(crate) const METHOD_NOT_ALLOWED: Self = Self(405, "Method Not Allowed");
    pub(crate) const REQUEST_TIMEOUT: Self = Self(408, "Request Timeout");
    pub(crate) const LENGTH_REQUIRED: Self = Self(411, "Length Required");
    pub(crate) const CONTENT_TOO_LARGE: Self = Self(413, "Content Too Large");
    pub(crate) const URI_TOO_LONG: Self = Self(414, "URI Too Long");
    pub(crate) const HEADERS_TOO_LARGE: Self = Self(431, "Request Header Fields Too Large");
    pub(crate) const NOT_IMPLEMENTED: Self = Self(501, "Not Implemented");
    pub(crate) const UNAVAILABLE: Self = Self(503, "Service Unavailable");
    pub(crate) const VERSION_NOT_SUPPORTED: Self = Self(505, "HTTP Version Not Supported");
    pub(crate) const INSUFFICIENT_STORAGE: Self = Self(507, "Insufficient Storage");
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    /// The target's path without its leading slash, and its query, as they were sent.
    pub(crate) key: Vec<u8>,
    pub(crate) body: Vec<u8>,
    /// Minor version: 0 or 1.
    pub(crate) version: u8,
    /// Whether the client wants the connection to go on.
    pub(crate) keeps_alive: bool,
}

/// Reads the request at the beginning of `input`.
pub(crate) fn parse(input: &[u8]) -> Parsed<Request> {
    match try_parse(input) {
        Ok(parsed) => parsed,
        Err((status, detail)) => {
            let mut answer = Vec::new();
            Response {
                status,
                tag: None,
                body: detail.as_bytes(),
                version: 1,
                keeps_alive: false,
            }
            .write(&mut answer);
            Parsed::Wrong { answer }
        }
    }
}

/// A status and what to tell the client.
type Wrong = (Status, &'static str);

fn try_parse(input: &[u8]) -> Result<Parsed<Request>, Wrong> {
    let incomplete = Parsed::Incomplete {
        encouragement: None,
    };
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    // Never more than may be looked at, so that it does not matter how much has arrived so far.
    let looked_at = &input[..input.len().min(MAX_HEAD)];
    let head_bytes = match head.parse(looked_at) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) if looked_at.len() < MAX_HEAD => return Ok(incomplete),
        Ok(httparse::Status::Partial) if head.version.is_none() => {
            return Err((
                Status::URI_TOO_LONG,
                "the request line is longer than 8 KiB\n",
            ));
        }
        Ok(httparse::Status::Partial) => {
            return Err((
                Status::HEADERS_TOO_LARGE,
                "the headers are longer than 8 KiB\n",
            ));
        }
        Err(httparse::Error::TooManyHeaders) => {
            return Err((Status::HEADERS_TOO_LARGE, "more than 64 headers\n"));
        }
        Err(httparse::Error::Version) => {
            return Err((
                Status::VERSION_NOT_SUPPORTED,
                "expected HTTP/1.1 or HTTP/1.0\n",
            ));
        }
        Err(_) => return Err((Status::BAD_REQUEST, "this is no HTTP request\n")),
    };
    let version = head.version.expect("a complete head has a version");
    let method = Method::of(head.method.expect("a complete head has a method"));
    let target = head.path.expect("a complete head has a target");
    let Some(key) = local_path(target).and_then(|path| path.as_bytes().strip_prefix(b"/")) else {
        return Err((
            Status::BAD_REQUEST,
            "expected a target like /key or http://host/key\n",
        ));
    };
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
    let Some(body) = input.get(head_bytes..head_bytes + length) else {
        let encouragement = fields
            .expects_continue
            .then_some(&b"HTTP/1.1 100 Continue\r\n\r\n"[..]);
        return Ok(Parsed::Incomplete { encouragement });
    };
    let keeps_alive = if version == 1 {
        !fields.closes
    } else {
        fields.keeps_alive
    };
    let (key, body) = (key.to_vec(), body.to_vec());
    let request = Request {
        method,
        key,
        body,
        version,
        keeps_alive,
    };
    Ok(Parsed::Whole {
        request,
        length: head_bytes + length,
    })
}

/// What the headers say.
#[derive(Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one header, said or not"
)]
struct Fields {
    length: Option<u64>,
    has_host: bool,
    closes: bool,
    keeps_alive: bool,
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
                fields.keeps_alive |= has("keep-alive");
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
    // Digits that do not fit are too many bytes in any case.
    Ok(str::from_utf8(value)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .unwrap_or(u64::MAX))
}

/// What the server answers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Response<'a> {
    pub(crate) status: Status,
    /// MD5 of the document, sent as its entity tag.
    pub(crate) tag: Option<[u8; 16]>,
    pub(crate) body: &'a [u8],
    /// Minor version of the request.
    pub(crate) version: u8,
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
        match (self.keeps_alive, self.version) {
            (false, _) => head(format_args!("Connection: close\r\n\r\n")),
            (true, 0) => head(format_args!("Connection: keep-alive\r\n\r\n")),
            (true, _) => head(format_args!("\r\n")),
        }
        output.extend_from_slice(self.body);
    }
}
