//! An HTTP server of files, on user-level threads. A student project is the model.
//!
//! One user-level thread accepts connections. For each connection it starts another user-level
//! thread, which answers one request. The threads wait for sockets and files without blocking the
//! OS thread. So a client that does not send or read delays no other client.

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use nix::poll::PollFlags;
use percent_encoding::percent_decode_str;
use protocol::Refusal;

use crate::http::{EMPTY_ROOM, Head, MAX_HEAD, Status, Wrong};
use crate::user_threads::{Current, Direction, Files, UserSocket, UserThreads};

/// The most files that the server reads at a time. Processes usually have 1024 file descriptors,
/// and each connection has one for its socket and one for its file.
const TRANSFERS: usize = 1024;

const LIMIT: Duration = Duration::from_secs(10);

/// The pause before the server accepts again, if the process has no descriptor or no memory left. A
/// guess.
const PAUSE: Duration = Duration::from_millis(10);

/// The most input that the server drops after an answer, in bytes.
const LINGER_BYTES: u64 = 1 << 20;

/// How many bytes of a file the server reads and sends at a time.
const PIECE_BYTES: u64 = 64 * 1024;

/// The time slice of a user-level thread, as in the student project. A thread hardly ever uses up
/// its time slice, because it gives up the OS thread when it waits.
const QUANTUM: Duration = Duration::from_millis(10);

pub(crate) struct FileServer {
    listener: TcpListener,
    root: File,
    files: Files,
}

impl FileServer {
    /// Binds a server of the files below `root` to `port` of 127.0.0.1; port 0 is any free port.
    pub(crate) fn bind(root: &Path, port: u16) -> Result<Self, Refusal> {
        let folder = File::open(root)
            .and_then(|folder| open_below(&folder, b"./").map(|_| folder))
            .map_err(|error| Refusal::new(format!("--root {}: {error}", root.display())))?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .and_then(|it| it.set_nonblocking(true).map(|()| it))
            .map_err(|error| {
                Refusal::new(format!(
                    "--port {port}: {error}; choose another port, or 0 for any free one"
                ))
            })?;
        Ok(Self {
            listener,
            root: folder,
            files: Files::start(TRANSFERS),
        })
    }

    pub(crate) fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    pub(crate) fn run(self) -> io::Result<()> {
        let mut threads = UserThreads::new(QUANTUM, Some(self.files));
        let (listener, root) = (Rc::new(self.listener), Rc::new(self.root));
        threads.spawn(move |me| accept_all(me, &listener, &root))?;
        threads.run();
        Ok(())
    }
}

/// Accepts connections for ever. If the process has no descriptor left, clients wait in the
/// kernel's queue.
fn accept_all(me: &Current<'_>, listener: &Rc<TcpListener>, root: &Rc<File>) {
    loop {
        let accepted = listener.accept().and_then(|(stream, _)| {
            let root = Rc::clone(root);
            me.spawn(move |me| {
                // An error means that the client went away or took too long.
                let _ = attend(me, stream, &root);
            })
        });
        if let Err(error) = accepted {
            let (flags, limit) = match error.kind() {
                io::ErrorKind::WouldBlock => (PollFlags::POLLIN, LIMIT),
                _ => (PollFlags::empty(), PAUSE),
            };
            let socket: Rc<TcpListener> = Rc::clone(listener);
            me.wait_for(socket, flags, Instant::now() + limit);
        }
    }
}

fn attend(me: &Current<'_>, stream: TcpStream, root: &File) -> io::Result<()> {
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
    match request.and_then(|name| find(root, &name)) {
        Ok((file, bytes)) => {
            socket.write_all(head(Status::OK, bytes).as_bytes())?;
            let file = Arc::new(file);
            let mut offset = 0;
            while offset < bytes {
                let length = PIECE_BYTES.min(bytes - offset);
                let buffer = vec![0; usize::try_from(length).expect("a piece is small")];
                let piece = me.transfer(Direction::Read, &file, buffer, offset)?;
                socket.write_all(&piece)?;
                offset += length;
            }
        }
        Err((status, detail)) => {
            let head = head(status, detail.len() as u64);
            socket.write_all(format!("{head}{detail}").as_bytes())?;
        }
    }
    // If the server closed the socket at once, a reset could destroy the answer on its way.
    socket.stream().shutdown(Shutdown::Write)?;
    io::copy(&mut socket.take(LINGER_BYTES), &mut io::sink()).map(drop)
}

/// Returns the decoded name of the file in a request; `None` if the request is not complete. The
/// name may lead out of the root.
fn parse(input: &[u8]) -> Result<Option<Vec<u8>>, Wrong> {
    let mut room = EMPTY_ROOM;
    let Some(head) = Head::parse(input, &mut room)? else {
        return Ok(None);
    };
    if head.method != "GET" {
        return Err((Status::NOT_IMPLEMENTED, "expected GET\n"));
    }
    let path = head.path.split(['?', '#']).next().unwrap_or_default();
    Ok(Some(percent_decode_str(path).collect()))
}

fn find(root: &File, name: &[u8]) -> Result<(File, u64), Wrong> {
    open_below(root, name)
        .and_then(|file| file.metadata().map(|it| (file, it)))
        .ok()
        .filter(|(_, metadata)| metadata.is_file())
        .map(|(file, metadata)| (file, metadata.len()))
        .ok_or((Status::NOT_FOUND, "this file cannot be served\n"))
}

/// Opens file `name` below `root`. The kernel refuses every name that leads out of the root by
/// `..`, an absolute name or a symbolic link, even if files change meanwhile.
fn open_below(root: &File, name: &[u8]) -> io::Result<File> {
    // Without O_NONBLOCK, opening a pipe would wait for its other end.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NONBLOCK | OFlag::O_NOCTTY;
    let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
    let how = OpenHow::new().flags(flags).resolve(resolve);
    Ok(openat2(root, OsStr::from_bytes(name), how)?.into())
}

fn head(status: Status, bytes: u64) -> String {
    let Status(number, reason) = status;
    format!("HTTP/1.1 {number} {reason}\r\nContent-Length: {bytes}\r\nConnection: close\r\n\r\n")
}
