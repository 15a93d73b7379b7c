//! What a client asks for.

use percent_encoding::percent_decode_str;

use super::answer::Status;
use crate::http_target::local_path;

/// Longest head of a request, in bytes; browsers send one or two thousand.
pub(super) const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Most lines of a head.
const MAX_HEADERS: usize = 100;

/// What is done with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
}

/// A head that has come.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Parsed {
    /// The name as it is below the root, decoded, not yet known to be harmless.
    Request {
        method: Method,
        name: Vec<u8>,
    },
    Wrong(Status),
}

/// The request in `head`; `None` if more has to come.
pub(super) fn parse(head: &[u8]) -> Option<Parsed> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(httparse::Status::Partial) => return None,
        Ok(httparse::Status::Complete(_)) => {}
        Err(httparse::Error::TooManyHeaders) => return Some(Parsed::Wrong(Status::HeadTooLarge)),
        Err(_) => return Some(Parsed::Wrong(Status::BadRequest)),
    }
    let method = match request.method {
        Some("GET") => Method::Get,
        Some("HEAD") => Method::Head,
        _ => return Some(Parsed::Wrong(Status::MethodNotAllowed)),
    };
    let target = request.path.unwrap_or_default();
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let Some(path) = local_path(path).and_then(|path| path.strip_prefix('/')) else {
        return Some(Parsed::Wrong(Status::BadRequest));
    };
    let name: Vec<u8> = percent_decode_str(path).collect();
    if name.contains(&0) {
        return Some(Parsed::Wrong(Status::BadRequest));
    }
    Some(Parsed::Request { method, name })
}
