//! An HTTP server of files, on user-level threads, after a student project.
//!
//! One user-level thread accepts connections and starts a user-level thread for each, by the loops
//! of `crate::net`. That thread answers one request by asynchronous transfers. So a client that
//! does not send or read delays no other client. `folder.rs` opens only files below the root.

mod folder;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use nix::poll::PollFlags;
use nix::sys::resource::{Resource, getrlimit};
use percent_encoding::percent_decode_str;
use protocol::Refusal;

use crate::http::{EMPTY_ROOM, Head, Status, Wrong, refused};
use crate::net::{
    self, Counts, End, Limits, Output, Parsed, Protocol, Refused, Then, accept, converse,
};
use crate::user_threads::{Condvar, Current, Direction, Files, Mutex, UserSocket, UserThreads};
use folder::{Folder, Found};

/// The file descriptors of each connection: its socket and its file.
const DESCRIPTORS_EACH: u64 = 2;

/// The file descriptors of all other parts of the process: standard streams, the listener, the
/// transfers.
const OTHER_DESCRIPTORS: u64 = 32;

/// The number of pieces of files that are read at a time. Reads wait for the disk, never for a
/// client.
const TRANSFERS: usize = 32;

/// The bytes of a file that are read and sent at a time.
const PIECE_BYTES: u64 = 64 * 1024;

/// The quantum of a user-level thread, from the project's document. It hardly ever ends, because a
/// thread gives up the OS thread when it waits.
const QUANTUM: Duration = Duration::from_millis(10);

/// A server that is bound to its port and has not begun.
pub struct FileServer {
    listener: Rc<TcpListener>,
    folder: Folder,
    files: Files,
    stop: Stop,
}

/// Ends a server, from any thread.
#[derive(Clone)]
pub struct Stop(net::Stop);

impl Stop {
    /// Accepts no more connections. The server ends when it has answered all complete requests, at
    /// most ten seconds later. Clients with incomplete requests get an error.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl FileServer {
    /// Binds a server of the files below `root` to this port of 127.0.0.1; 0 is any free port.
    ///
    /// # Errors
    /// If `root` is no directory or the port is taken.
    pub fn bind(root: &Path, port: u16) -> Result<Self, Refusal> {
        let folder = Folder::open(root)
            .map_err(|error| Refusal::new(format!("--root {}: {error}", root.display())))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let bind = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok((net::Stop::new(&listener)?, listener))
        };
        let (stop, listener) = bind().map_err(|error: io::Error| {
            Refusal::new(format!(
                "--port {port}: {error}; choose another one, or 0 for any"
            ))
        })?;
        Ok(Self {
            listener: Rc::new(listener),
            folder,
            files: Files::new("auto", TRANSFERS)?,
            stop: Stop(stop),
        })
    }

    /// Returns the address on which it listens.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the handle that stops it.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until it is stopped; returns how its connections ended.
    ///
    /// # Errors
    /// If there is no memory for its threads.
    ///
    /// # Panics
    /// If the threads wait for each other, which they never do.
    pub fn run(self) -> io::Result<String> {
        let mut threads = UserThreads::new(QUANTUM);
        threads.set_files(self.files);
        let shared = Rc::new(Shared {
            folder: self.folder,
            connections: Semaphore::new(most_connections()),
            transfers: Semaphore::new(TRANSFERS),
            stop: self.stop.0,
            counts: RefCell::default(),
        });
        let counted = Rc::clone(&shared);
        let listener = self.listener;
        threads.spawn(move |me| accept_all(me, &listener, &shared))?;
        threads
            .run()
            .expect("all wait for clients and transfers, which end");
        Ok(counted.counts.borrow().to_string())
    }
}

/// Starts a thread for every connection until the server is stopped.
fn accept_all(me: &Current<'_>, listener: &Rc<TcpListener>, shared: &Rc<Shared>) {
    let pause = |trouble: Option<Duration>| {
        let limit = trouble.unwrap_or(net::TICK);
        let flags = match trouble {
            Some(_) => PollFlags::empty(),
            None => PollFlags::POLLIN,
        };
        let socket: Rc<TcpListener> = Rc::clone(listener);
        me.wait_for(socket, flags, limit);
        Ok(())
    };
    let hand = |stream| {
        shared.connections.take(me);
        let own = Rc::clone(shared);
        let serve = move |me: &Current<'_>| {
            let end = match UserSocket::new(me, stream) {
                Ok(mut socket) => own.attend(me, &mut socket),
                Err(_) => End::Vanished,
            };
            own.counts.borrow_mut().count(end);
            own.connections.give(me);
        };
        // Without memory for a stack the client sees a closed connection.
        me.spawn(serve).inspect_err(|_| shared.connections.give(me))
    };
    accept(listener, &shared.stop, pause, hand).expect("a pause cannot fail");
}

/// Returns the limit of connections, from the maximum and the number of file descriptors.
fn most_connections() -> usize {
    // If the kernel reports no limit, there is none.
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(limit, _)| limit);
    let room = limit.saturating_sub(OTHER_DESCRIPTORS) / DESCRIPTORS_EACH;
    let room = usize::try_from(room).unwrap_or(usize::MAX);
    room.clamp(1, Limits::DEFAULT.connections)
}

/// The state that all connections share.
struct Shared {
    folder: Folder,
    connections: Semaphore,
    transfers: Semaphore,
    stop: net::Stop,
    counts: RefCell<Counts>,
}

/// A counting semaphore for user-level threads.
struct Semaphore {
    free: Mutex<usize>,
    has_free: Condvar,
}

impl Semaphore {
    fn new(count: usize) -> Self {
        Self {
            free: Mutex::new(count),
            has_free: Condvar::new(),
        }
    }

    fn take(&self, me: &Current<'_>) {
        let free = self.free.lock(me);
        *self.has_free.wait_while(free, |free| *free == 0) -= 1;
    }

    fn give(&self, me: &Current<'_>) {
        *self.free.lock(me) += 1;
        self.has_free.notify_one(me);
    }
}

impl Shared {
    fn attend(&self, me: &Current<'_>, socket: &mut UserSocket<'_>) -> End {
        let limits = Limits {
            idle: Limits::DEFAULT.request,
            ..Limits::DEFAULT
        };
        converse(socket, &Http, &limits, &self.stop, |request, _, output| {
            self.answer(me, request, output)?;
            Ok(Then::Close)
        })
    }

    fn answer(
        &self,
        me: &Current<'_>,
        request: Request,
        output: &mut Output<'_>,
    ) -> io::Result<()> {
        let found = request.and_then(|name| self.folder.find(&name));
        let Found {
            file,
            bytes,
            content_type,
        } = match found {
            Ok(found) => found,
            Err(wrong) => return output.send(&refusal(wrong)),
        };
        output.send(head(Status::OK, bytes, content_type, "").as_bytes())?;
        let file = Arc::new(file);
        let mut offset = 0;
        while offset < bytes {
            let length = PIECE_BYTES.min(bytes - offset);
            let room = vec![0; usize::try_from(length).expect("a piece is small")];
            self.transfers.take(me);
            let piece = me.transfer(Direction::Read, &file, room, offset);
            self.transfers.give(me);
            output.send(&piece?)?;
            offset += length;
        }
        Ok(())
    }
}

/// The decoded name below the root, which may still be harmful; or the error for the client.
type Request = Result<Vec<u8>, Wrong>;

/// The requests for files.
struct Http;

impl Protocol for Http {
    type Request = Request;

    fn parse(&self, input: &[u8]) -> Parsed<Request> {
        match parse(input) {
            Ok(None) => Parsed::Incomplete {
                interim_response: None,
            },
            Ok(Some((request, length))) => Parsed::Whole { request, length },
            Err(wrong) => Parsed::Wrong {
                answer: refusal(wrong),
            },
        }
    }

    fn refuse(&self, why: Refused) -> Vec<u8> {
        refusal(refused(why))
    }
}

/// Returns the request in `input`, and its length in bytes; `None` if it is not complete.
fn parse(input: &[u8]) -> Result<Option<(Request, usize)>, Wrong> {
    let mut room = EMPTY_ROOM;
    let Some(head) = Head::parse(input, &mut room)? else {
        return Ok(None);
    };
    let path = head.path.split(['?', '#']).next().unwrap_or_default();
    let name: Vec<u8> = percent_decode_str(path).collect();
    let request = match head.method {
        _ if name.contains(&0) => Err((Status::BAD_REQUEST, "a name with a null byte\n")),
        "GET" => Ok(name),
        _ => Err((Status::METHOD_NOT_ALLOWED, "expected GET\n")),
    };
    Ok(Some((request, head.length)))
}

/// Returns the head of an answer. Every connection has one request, so each answer says that the
/// server closes the connection.
fn head(status: Status, bytes: u64, content_type: &str, more: &str) -> String {
    let Status(number, reason) = status;
    // The file's name determines its type. The browser must not guess another type.
    format!(
        "HTTP/1.1 {number} {reason}\r\nContent-Length: {bytes}\r\nContent-Type: {content_type}\r\n\
         X-Content-Type-Options: nosniff\r\n{more}Connection: close\r\n\r\n"
    )
}

/// Returns the answer that has an error in place of a file.
fn refusal((status, detail): Wrong) -> Vec<u8> {
    let body = format!("{} {}\n{detail}", status.0, status.1);
    let more = if status == Status::METHOD_NOT_ALLOWED {
        "Allow: GET\r\n"
    } else {
        ""
    };
    let content_type = "text/plain; charset=utf-8";
    (head(status, body.len() as u64, content_type, more) + &body).into_bytes()
}
