//! A client that waits for each answer, with one connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::ops::Range;
use std::time::Duration;

use super::http::Method;
use crate::http::MAX_HEAD;

/// Longer than any answer takes; a guess. A server that hangs is then an error, not a hang.
const PATIENCE: Duration = Duration::from_secs(30);

/// Headers that an answer has at most.
const MAX_HEADERS: usize = 16;

/// See the file's header.
pub(crate) struct Client {
    stream: TcpStream,
    address: SocketAddr,
    input: Vec<u8>,
    output: Vec<u8>,
}

/// An answer, whose body is the client's until the next one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    /// The entity tag without its quotation marks.
    pub(crate) tag: Option<String>,
    pub(crate) body: &'a [u8],
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    /// If no server answers there.
    pub(crate) fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(Self {
            stream,
            address,
            input: Vec::new(),
            output: Vec::new(),
        })
    }

    /// Asks and waits for the answer.
    ///
    /// # Errors
    /// If the connection ends or what comes is no answer.
    pub(crate) fn ask(&mut self, method: Method, key: &str, body: &[u8]) -> io::Result<Answer<'_>> {
        self.output.clear();
        write!(
            self.output,
            "{method} /{key} HTTP/1.1\r\nHost: {}\r\n",
            self.address
        )?;
        if method == Method::Post {
            write!(self.output, "Content-Length: {}\r\n", body.len())?;
        }
        self.output.extend_from_slice(b"\r\n");
        self.output.extend_from_slice(body);
        self.stream.write_all(&self.output)?;
        self.read_answer()
    }

    /// Reads the next answer.
    ///
    /// # Errors
    /// As [`Client::ask`].
    pub(crate) fn read_answer(&mut self) -> io::Result<Answer<'_>> {
        self.input.clear();
        let Whole { status, tag, body } = loop {
            if let Some(found) = whole(&self.input)? {
                break found;
            }
            let length = self.input.len();
            self.input.resize(length + MAX_HEAD, 0);
            let count = self.stream.read(&mut self.input[length..])?;
            self.input.truncate(length + count);
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        };
        if body.end < self.input.len() {
            return Err(wrong("more came than one answer"));
        }
        Ok(Answer {
            status,
            tag,
            body: &self.input[body],
        })
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}

/// A whole answer within the input.
struct Whole {
    status: u16,
    tag: Option<String>,
    body: Range<usize>,
}

/// The answer in `input` once all of it is there.
fn whole(input: &[u8]) -> io::Result<Option<Whole>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut head = httparse::Response::new(&mut headers);
    let begin = match head.parse(input) {
        Ok(httparse::Status::Complete(bytes)) => bytes,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(wrong(&error.to_string())),
    };
    let field = |name: &str| {
        let header = head
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name))?;
        str::from_utf8(header.value).ok()
    };
    let status = head.code.expect("a complete head has a status");
    let length: usize = match field("content-length") {
        Some(digits) => digits
            .parse()
            .map_err(|_| wrong("Content-Length is no number"))?,
        None if status == 204 => 0,
        None => return Err(wrong("an answer without Content-Length")),
    };
    let tag = field("etag").map(|tag| tag.trim_matches('"').to_owned());
    let body = begin..begin + length;
    Ok((input.len() >= body.end).then_some(Whole { status, tag, body }))
}
