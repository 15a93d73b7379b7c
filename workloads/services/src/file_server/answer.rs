//! The heads of answers, and the answers in place of a file.

use std::io::Write as _;

use crate::http::{Status, Wrong};

pub(super) const FORBIDDEN: Wrong = (Status(403, "Forbidden"), "");
pub(super) const NOT_FOUND: Wrong = (Status::NOT_FOUND, "");
pub(super) const METHOD_NOT_ALLOWED: Wrong = (Status::METHOD_NOT_ALLOWED, "expected GET or HEAD\n");
pub(super) const INTERNAL_SERVER_ERROR: Wrong = (Status(500, "Internal Server Error"), "");

/// Appends a head. Every connection has one request, so each says that it closes.
fn head(status: Status, bytes: u64, content_type: &str, more: &str, output: &mut Vec<u8>) {
    let Status(number, reason) = status;
    // A file's name gives its type; a browser must not guess another.
    write!(
        output,
        "HTTP/1.1 {number} {reason}\r\nContent-Length: {bytes}\r\nContent-Type: {content_type}\r\n\
         X-Content-Type-Options: nosniff\r\n{more}Connection: close\r\n\r\n"
    )
    .expect("memory takes everything");
}

/// Appends the head before a file.
pub(super) fn file(bytes: u64, content_type: &str, output: &mut Vec<u8>) {
    head(Status::OK, bytes, content_type, "", output);
}

/// Appends the answer that leads to another name.
pub(super) fn redirect(location: &str, output: &mut Vec<u8>) {
    let more = format!("Location: {location}\r\n");
    head(
        Status(301, "Moved Permanently"),
        0,
        "text/plain",
        &more,
        output,
    );
}

/// Appends the answer that there is none, with the reason for people unless it is `head_only`.
pub(super) fn wrong((status, detail): Wrong, head_only: bool, output: &mut Vec<u8>) {
    let body = format!("{} {}\n{detail}", status.0, status.1);
    let more = if status == Status::METHOD_NOT_ALLOWED {
        "Allow: GET, HEAD\r\n"
    } else {
        ""
    };
    let content_type = "text/plain; charset=utf-8";
    head(status, body.len() as u64, content_type, more, output);
    if !head_only {
        output.extend_from_slice(body.as_bytes());
    }
}
