//! Status codes, and the heads of answers.

/// What is answered in place of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    BadRequest,
    Forbidden,
    NotFound,
    MethodNotAllowed,
    RequestTimeout,
    HeadTooLarge,
    InternalServerError,
    ServiceUnavailable,
}

impl Status {
    /// Code and reason.
    fn line(self) -> &'static str {
        match self {
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::MethodNotAllowed => "405 Method Not Allowed",
            Self::RequestTimeout => "408 Request Timeout",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::InternalServerError => "500 Internal Server Error",
            Self::ServiceUnavailable => "503 Service Unavailable",
        }
    }

    /// The body that goes with it, for people.
    pub(super) fn text(self) -> String {
        format!("{}\n", self.line())
    }
}

/// The head of an answer. Every connection has one request, so each says that it closes.
pub(super) struct Head(String);

impl Head {
    fn new(status: &str, bytes: u64, content_type: &str, more: &str) -> Self {
        // What a file is, is said by its name; a browser must not guess otherwise.
        Self(format!(
            "HTTP/1.1 {status}\r\nContent-Length: {bytes}\r\nContent-Type: {content_type}\r\n\
             X-Content-Type-Options: nosniff\r\n{more}Connection: close\r\n\r\n"
        ))
    }

    pub(super) fn of_file(bytes: u64, content_type: &str) -> Self {
        Self::new("200 OK", bytes, content_type, "")
    }

    pub(super) fn of_redirect(location: &str) -> Self {
        Self::new(
            "301 Moved Permanently",
            0,
            "text/plain",
            &format!("Location: {location}\r\n"),
        )
    }

    pub(super) fn of_status(status: Status) -> Self {
        let more = match status {
            Status::MethodNotAllowed => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        Self::new(
            status.line(),
            status.text().len() as u64,
            "text/plain; charset=utf-8",
            more,
        )
    }

    pub(super) fn bytes(&self) -> &str {
        &self.0
    }
}
