//! The parts of HTTP/1.1 (RFC 9110, 9112) that the HTTP servers of this crate share: statuses and
//! the head of a request. Every part that a client can make long has a limit.

use crate::net::Refused;

/// Longest request line and headers together, in bytes.
pub(crate) const MAX_HEAD: usize = 8 * 1024;
/// Maximum number of headers.
pub(crate) const MAX_HEADERS: usize = 64;

/// A status line's number and reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Status(pub(crate) u16, pub(crate) &'static str);

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

/// A status and the message to the client.
pub(crate) type Wrong = (Status, &'static str);

/// The status and the message for an HTTP client whose request the server does not answer.
pub(crate) fn refused(why: Refused) -> Wrong {
    match why {
        Refused::TooSlow => (Status::REQUEST_TIMEOUT, "the request took too long\n"),
        Refused::Stopping => (Status::UNAVAILABLE, "the server ends\n"),
    }
}

/// Memory for the headers of one head.
pub(crate) type Room<'a> = [httparse::Header<'a>; MAX_HEADERS];

/// The same without headers.
pub(crate) const EMPTY_ROOM: Room<'static> = [httparse::EMPTY_HEADER; MAX_HEADERS];

/// The request line and the headers of a request.
pub(crate) struct Head<'room, 'input> {
    pub(crate) method: &'input str,
    /// The target's path without its leading slash, and its query, as they were sent.
    pub(crate) path: &'input str,
    /// Minor version: 0 or 1.
    pub(crate) version: u8,
    pub(crate) headers: &'room [httparse::Header<'input>],
    /// The length of the head in bytes.
    pub(crate) length: usize,
}

impl<'room, 'input> Head<'room, 'input> {
    /// Returns the head at the beginning of `input`; `None` if it is not complete.
    ///
    /// # Errors
    /// If it is no valid head, or too long.
    pub(crate) fn parse(
        input: &'input [u8],
        room: &'room mut Room<'input>,
    ) -> Result<Option<Self>, Wrong> {
        let mut head = httparse::Request::new(room);
        // Parses no more bytes than the limit. So the result does not depend on how much has
        // arrived so far.
        let looked_at = &input[..input.len().min(MAX_HEAD)];
        let length = match head.parse(looked_at) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if looked_at.len() < MAX_HEAD => return Ok(None),
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
        let target = head.path.expect("a complete head has a target");
        let Some(path) = local_path(target).and_then(|path| path.strip_prefix('/')) else {
            return Err((
                Status::BAD_REQUEST,
                "expected a target like /key or http://host/key\n",
            ));
        };
        Ok(Some(Self {
            method: head.method.expect("a complete head has a method"),
            path,
            version: head.version.expect("a complete head has a version"),
            headers: head.headers,
            length,
        }))
    }
}

/// Returns the path and query of `target`, in origin form (`/path?query`) or in absolute form
/// (`http://host/path?query`), which clients send to proxies. Accepts any host. Returns `None` for
/// any other form.
fn local_path(target: &str) -> Option<&str> {
    const SCHEME: &str = "http://";
    if target.starts_with('/') {
        return Some(target);
    }
    let scheme = target.get(..SCHEME.len())?;
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return None;
    }
    let rest = &target[SCHEME.len()..];
    match rest.find(['/', '?']) {
        // A target without a host is invalid.
        Some(0) => None,
        Some(end) if rest[end..].starts_with('/') => Some(&rest[end..]),
        // An empty path is that of the root; the servers ignore its query.
        _ => (!rest.is_empty()).then_some("/"),
    }
}

#[cfg(test)]
mod tests {
    use super::local_path;

    #[test]
    fn a_target_is_a_path_with_or_without_a_host_before_it() {
        for (target, path) in [
            ("/a/b?c", Some("/a/b?c")),
            ("//a", Some("//a")),
            ("http://host/a/b?c", Some("/a/b?c")),
            ("HTTP://127.0.0.1:80/", Some("/")),
            ("http://host", Some("/")),
            ("http://host?a/b", Some("/")),
            ("http://", None),
            ("http:///a", None),
            ("ftp://host/a", None),
            ("host:80", None),
            ("*", None),
            ("a", None),
            ("h\u{e9}\u{e9}\u{e9}\u{e9}", None),
            ("", None),
        ] {
            assert_eq!(local_path(target), path, "{target}");
        }
    }
}
