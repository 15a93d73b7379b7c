//! The parts of HTTP/1.1 (RFC 9110, 9112) that both HTTP servers share: statuses and the head of a
//! request.

/// Longest request line and headers together, in bytes.
pub(crate) const MAX_HEAD: usize = 8 * 1024;
pub(crate) const MAX_HEADERS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Status(pub(crate) u16, pub(crate) &'static str);

impl Status {
    pub(crate) const OK: Self = Self(200, "OK");
    pub(crate) const BAD_REQUEST: Self = Self(400, "Bad Request");
    pub(crate) const NOT_FOUND: Self = Self(404, "Not Found");
    pub(crate) const HEADERS_TOO_LARGE: Self = Self(431, "Request Header Fields Too Large");
    pub(crate) const NOT_IMPLEMENTED: Self = Self(501, "Not Implemented");
}

/// A status and the message to the client.
pub(crate) type Wrong = (Status, &'static str);

pub(crate) type Room<'a> = [httparse::Header<'a>; MAX_HEADERS];

pub(crate) const EMPTY_ROOM: Room<'static> = [httparse::EMPTY_HEADER; MAX_HEADERS];

pub(crate) struct Head<'room, 'input> {
    pub(crate) method: &'input str,
    /// The target's path without its leading slash, and the target's query, as the client sent
    /// them.
    pub(crate) path: &'input str,
    pub(crate) version: u8,
    pub(crate) headers: &'room [httparse::Header<'input>],
    pub(crate) length: usize,
}

impl<'room, 'input> Head<'room, 'input> {
    /// Returns the head at the beginning of `input`; `None` if the head is not complete.
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
            Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
                let limits = "the head has more than 8 KiB or 64 headers\n";
                return Err((Status::HEADERS_TOO_LARGE, limits));
            }
            Err(_) => return Err((Status::BAD_REQUEST, "this is no HTTP/1 request\n")),
        };
        let target = head.path.expect("a complete head has a target");
        let Some(path) = target.strip_prefix('/') else {
            return Err((Status::BAD_REQUEST, "expected a target like /key\n"));
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
