//! The request of a client.

use percent_encoding::percent_decode_str;

use super::answer::METHOD_NOT_ALLOWED;
use crate::http::{EMPTY_ROOM, Head, Status, Wrong};

/// A file that is asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// By `HEAD`: the answer has no body.
    pub(super) head_only: bool,
    /// Its name as it is below the root, decoded, not yet known to be harmless.
    pub(super) name: Vec<u8>,
}

/// The request in `input`, and how many bytes it takes; `None` if more has to come.
pub(super) fn parse(input: &[u8]) -> Result<Option<(Request, usize)>, Wrong> {
    let mut room = EMPTY_ROOM;
    let Some(head) = Head::parse(input, &mut room)? else {
        return Ok(None);
    };
    let head_only = match head.method {
        "GET" => false,
        "HEAD" => true,
        _ => return Err(METHOD_NOT_ALLOWED),
    };
    let path = head.path.split(['?', '#']).next().unwrap_or_default();
    let name: Vec<u8> = percent_decode_str(path).collect();
    if name.contains(&0) {
        return Err((Status::BAD_REQUEST, "a name with a null byte\n"));
    }
    Ok(Some((Request { head_only, name }, head.length)))
}
