//! An HTTP server of files, on user-level threads, after a student project.
//!
//! One user-level thread accepts connections and starts a user-level thread for each, which answers
//! one request. The threads wait for sockets and files without blocking the OS thread. So a client
//! that does not send or read delays no other client. `folder.rs` opens only files below the root.

mod folder;
#[cfg(test)]
mod tests;

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;
use percent_encoding::percent_decode_str;
use protocol::Refusal;

use crate::http::{EMPTY_ROOM, Head, MAX_HEAD, Status, Wrong};
use crate::user_threads::{Condvar, Current, Direction, Files, Mutex, UserSocket, UserThreads};
use folder::Folder;

/// The limit of open connections. Each has two file descriptors, and processes usually have 1024.
const CONNECTIONS: usize = 256;

/// The time limit for each read and write of a client.
const LIMIT: Duration = Duration::from_secs(10);

/// The pause after the kernel could not accept a connection, or had no memory for a thread. A guess.
const AFTER_TROUBLE: Duration = Duration::from_millis(10);

/// The limit for the input that the server drops after its answer, in bytes.
const LINGER_BYTES: u64 = 1 << 20;

/// The bytes of a file that are read and sent at a time.
const PIECE_BYTES: u64 = 64 * 1024;

/// The quantum of a user-level thread, from the project's document. It hardly ever ends, because a
/// thread gives up the OS thread when it waits.
const QUANTUM: Duration = Duration::from_millis(10);

/// A server that is bound to its port and has not begun.
pub(crate) struct FileServer {
    listener: TcpListener,
    folder: Folder,
    files: Files,
    connections: usize,
}

impl FileServer {
    /// Binds a server of the files below `root` to this port of 127.0.0.1; 0 is any free port.
    ///
    /// # Errors
    /// If `root` is no directory or the port is taken.
    pub(crate) fn bind(root: &Path, port: u16) -> Result<Self, Refusal> {
        let folder = Folder::open(root)
            .map_err(|error| Refusal::new(format!("--root {}: {error}", root.display())))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .and_then(|it| it.set_nonblocking(true).map(|()| it))
            .map_err(|error| {
                Refusal::new(format!(
                    "--port {port}: {error}; choose another one, or 0 for any"
                ))
            })?;
        Ok(Self {
            listener,
            folder,
            files: Files::new("auto", CONNECTIONS)?,
            connections: CONNECTIONS,
        })
    }

    /// Returns the address on which it listens.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until the process ends.
    ///
    /// # Errors
    /// If there is no memory for its threads.
    ///
    /// # Panics
    /// If the threads wait for each other, which they never do.
    pub(crate) fn run(self) -> io::Result<()> {
        let mut threads = UserThreads::new(QUANTUM);
        threads.set_files(self.files);
        let (listener, folder) = (Rc::new(self.listener), Rc::new(self.folder));
        let room = Rc::new(Semaphore {
            free: Mutex::new(self.connections),
            has_free: Condvar::new(),
        });
        threads.spawn(move |me| accept_all(me, &listener, &folder, &room))?;
        threads.run().expect("all wait for clients and transfers");
        Ok(())
    }
}

/// Starts a thread for every connection.
fn accept_all(
    me: &Current<'_>,
    listener: &Rc<TcpListener>,
    folder: &Rc<Folder>,
    room: &Rc<Semaphore>,
) {
    loop {
        room.take(me);
        let accepted = listener.accept().and_then(|(stream, _)| {
            let (room, folder) = (Rc::clone(room), Rc::clone(folder));
            me.spawn(move |me| {
                // A client that went away or took too long gets no more.
                let _ = attend(me, stream, &folder);
                room.give(me);
            })
        });
        if let Err(error) = accepted {
            room.give(me);
            let (flags, limit) = match error.kind() {
                io::ErrorKind::WouldBlock => (PollFlags::POLLIN, LIMIT),
                _ => (PollFlags::empty(), AFTER_TROUBLE),
            };
            let socket: Rc<TcpListener> = Rc::clone(listener);
            me.wait_for(socket, flags, Instant::now() + limit);
        }
    }
}

/// A counting semaphore for user-level threads.
struct Semaphore {
    free: Mutex<usize>,
    has_free: Condvar,
}

impl Semaphore {
    fn take(&self, me: &Current<'_>) {
        let free = self.free.lock(me);
        *self.has_free.wait_while(free, |free| *free == 0) -= 1;
    }

    fn give(&self, me: &Current<'_>) {
        *self.free.lock(me) += 1;
        self.has_free.notify_one(me);
    }
}

/// Answers the request of a client.
fn attend(me: &Current<'_>, stream: TcpStream, folder: &Folder) -> io::Result<()> {
    let mut socket = UserSocket::new(me, stream, LIMIT)?;
    let mut input = Vec::new();
    let request = loop {
        if let Some(request) = parse(&input).transpose() {
            break request;
        }
        let length = input.len();
        input.resize(MAX_HEAD, 0);
        let count = socket.read(&mut input[length..])?;
        input.truncate(length + count);
        if count == 0 {
            return Ok(());
        }
    };
    match request.and_then(|name| folder.find(&name)) {
        Ok((file, bytes)) => {
            socket.write_all(head(Status::OK, bytes).as_bytes())?;
            let file = Arc::new(file);
            let mut offset = 0;
            while offset < bytes {
                let length = PIECE_BYTES.min(bytes - offset);
                let room = vec![0; usize::try_from(length).expect("a piece is small")];
                socket.write_all(&me.transfer(Direction::Read, &file, room, offset)?)?;
                offset += length;
            }
        }
        Err((status, detail)) => {
            let body = format!("{} {}\n{detail}", status.0, status.1);
            let head = head(status, body.len() as u64);
            socket.write_all(format!("{head}{body}").as_bytes())?;
        }
    }
    // If the server closed the socket at once, a reset could destroy the answer on its way.
    socket.stream().shutdown(Shutdown::Write)?;
    io::copy(&mut socket.take(LINGER_BYTES), &mut io::sink()).map(drop)
}

/// Returns the decoded name in the request that `input` begins with, which may still be harmful;
/// `None` if the request is not complete.
fn parse(input: &[u8]) -> Result<Option<Vec<u8>>, Wrong> {
    let mut room = EMPTY_ROOM;
    let Some(head) = Head::parse(input, &mut room)? else {
        return Ok(None);
    };
    let path = head.path.split(['?', '#']).next().unwrap_or_default();
    let name: Vec<u8> = percent_decode_str(path).collect();
    match head.method {
        _ if name.contains(&0) => Err((Status::BAD_REQUEST, "a name with a null byte\n")),
        "GET" => Ok(Some(name)),
        _ => Err((Status::NOT_IMPLEMENTED, "expected GET\n")),
    }
}

/// Returns the head of an answer, after which the server closes the connection.
fn head(status: Status, bytes: u64) -> String {
    let Status(number, reason) = status;
    format!("HTTP/1.1 {number} {reason}\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n")
}
