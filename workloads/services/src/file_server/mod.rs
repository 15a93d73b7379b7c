//! An HTTP server of files, on user-level threads, after a student project.
//!
//! One thread accepts connections and gives each a thread of its own, which reads one request and
//! sends the file by asynchronous transfers. So a client that sends or takes nothing keeps no other
//! client waiting: its thread holds no scarce resource while it waits for the client. Files:
//! `request.rs` parses the request and its name, `folder.rs` opens nothing outside the root,
//! `answer.rs` writes heads.

mod answer;
mod folder;
mod request;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mio::Waker;
use mio::net::{TcpListener, TcpStream};
use nix::sys::resource::{Resource, getrlimit};

use crate::http::{Status, Wrong};
use crate::user_threads::{Condvar, Current, Direction, Files, Known, Mutex, Sockets, UserThreads};
use folder::{Folder, Found};
use protocol::Refusal;
use request::Request;

/// Most connections at a time; more wait in the kernel's queue.
const MAX_CONNECTIONS: u64 = 1024;

/// Descriptors of each connection: its socket and its file.
const DESCRIPTORS_EACH: u64 = 2;

/// Descriptors of everything else in the process: standard streams, the listener, the poll, the
/// transfers.
const OTHER_DESCRIPTORS: u64 = 32;

/// Pieces of files that are read at a time. The disk is waited for, and no client.
const TRANSFERS: usize = 32;

/// For a whole request to come, for each piece of the answer to be taken, and for all answers that
/// are on their way when the server is stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// For the client to close after its answer.
const LINGER: Duration = Duration::from_millis(500);

/// A thread gives up the OS thread when it waits, so this hardly ever ends a turn. The document's.
const QUANTUM: Duration = Duration::from_millis(10);

/// The bytes that the server reads and drops after a client's request, so that the client can read
/// the answer before a reset destroys it. A client that sends more is cut off.
const FAREWELL_BYTES: usize = 1 << 20;

/// The pause after the kernel could not accept a connection; a guess.
const AFTER_TROUBLE: Duration = Duration::from_millis(10);

/// Bytes of a file that are read and sent at a time.
const PIECE_BYTES: u64 = 64 * 1024;

/// A server that is bound to its port and has not begun.
pub struct FileServer {
    listener: TcpListener,
    folder: Folder,
    files: Files,
    sockets: Sockets,
    stop: Stop,
}

/// Ends a server, from any thread.
#[derive(Clone)]
pub struct Stop {
    /// When it was asked to end.
    asked: Arc<OnceLock<Instant>>,
    waker: Arc<Waker>,
}

impl Stop {
    /// Takes no more connections, and ends when those that have asked for something have been
    /// answered, for which they have ten seconds. Clients that are still asking are sent away.
    pub fn stop(&self) {
        // The first call counts.
        let _ = self.asked.set(Instant::now());
        if let Err(error) = self.waker.wake() {
            eprintln!("warning: the file server cannot be woken: {error}");
        }
    }

    fn is_asked(&self) -> bool {
        self.asked.get().is_some()
    }

    /// When it becomes too late for the client's next move.
    fn deadline(&self) -> Instant {
        self.asked.get().copied().unwrap_or_else(Instant::now) + PATIENCE
    }
}

impl FileServer {
    /// Serves the files below `root` on this port of 127.0.0.1; 0 is any free one.
    ///
    /// # Errors
    /// If `root` is no directory or the port is taken.
    pub fn bind(root: &Path, port: u16) -> Result<Self, Refusal> {
        let folder = Folder::open(root)
            .map_err(|error| Refusal::new(format!("--root {}: {error}", root.display())))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).map_err(|error| {
            Refusal::new(format!(
                "--port {port}: {error}; choose another one, or 0 for any"
            ))
        })?;
        let no_sockets = |error| Refusal::new(format!("sockets cannot be waited for: {error}"));
        let (sockets, waker) = Sockets::new().map_err(no_sockets)?;
        let stop = Stop {
            asked: Arc::default(),
            waker,
        };
        Ok(Self {
            listener,
            folder,
            files: Files::new("auto", TRANSFERS)?,
            sockets,
            stop,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Returns the handle that stops it.
    #[must_use]
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Serves until it is stopped; returns how many connections there were.
    ///
    /// # Errors
    /// If there is no memory for its threads, or its port is lost.
    ///
    /// # Panics
    /// If the threads wait for each other, which they never do.
    pub fn run(self) -> io::Result<u64> {
        let Self {
            listener,
            folder,
            files,
            sockets,
            stop,
        } = self;
        let mut threads = UserThreads::new(QUANTUM);
        threads.set_files(files);
        threads.set_sockets(sockets);
        let outcome = Rc::new(Cell::new(Ok(0)));
        let accepted = Rc::clone(&outcome);
        threads.spawn(move |me| accepted.set(accept(me, listener, folder, &stop)))?;
        threads
            .run()
            .expect("all wait for clients and transfers, which end");
        outcome.replace(Ok(0))
    }
}

/// Gives every connection a thread until the server is stopped; returns how many there were.
fn accept(me: &Current<'_>, listener: TcpListener, folder: Folder, stop: &Stop) -> io::Result<u64> {
    let listener = me.know(listener)?;
    let house = Rc::new(House {
        folder,
        connections: Places::new(most_connections()),
        transfers: Places::new(TRANSFERS),
        stop: stop.clone(),
    });
    let mut accepted = 0;
    house.connections.take(me);
    while !stop.is_asked() {
        match listener.get().accept() {
            Ok((connection, _)) => {
                accepted += 1;
                let guest_of = Rc::clone(&house);
                let visit = move |me: &Current<'_>| {
                    // The client is gone, or too slow, so no report is sent.
                    let _ =
                        Visit::begin(me, connection, &guest_of).and_then(|mut visit| visit.run());
                    guest_of.connections.give(me);
                };
                if me.spawn(visit).is_ok() {
                    house.connections.take(me);
                } else {
                    // No memory for a stack: the client sees a closed connection.
                    me.wait_for(&listener, Some(Instant::now() + AFTER_TROUBLE))?;
                }
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => me.wait_for(&listener, None)?,
                // The client went away before it was accepted.
                ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                // No descriptors or memory left, most likely: another client must leave first.
                _ => me.wait_for(&listener, Some(Instant::now() + AFTER_TROUBLE))?,
            },
        }
    }
    Ok(accepted)
}

/// As many as may be, and as there are descriptors for.
fn most_connections() -> usize {
    // A kernel that does not tell does not limit.
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(u64::MAX, |(limit, _)| limit);
    let room = limit.saturating_sub(OTHER_DESCRIPTORS) / DESCRIPTORS_EACH;
    usize::try_from(room.clamp(1, MAX_CONNECTIONS)).expect("a small number")
}

/// The state that all connections share.
struct House {
    folder: Folder,
    connections: Places,
    transfers: Places,
    stop: Stop,
}

/// Something that so many may have at a time; others wait.
struct Places {
    free: Mutex<usize>,
    has_free: Condvar,
}

impl Places {
    fn new(count: usize) -> Self {
        Self {
            free: Mutex::new(count),
            has_free: Condvar::new(),
        }
    }

    fn take(&self, me: &Current<'_>) {
        *self
            .has_free
            .wait_while(self.free.lock(me), |free| *free == 0) -= 1;
    }

    fn give(&self, me: &Current<'_>) {
        *self.free.lock(me) += 1;
        self.has_free.notify_one(me);
    }
}

/// A client with its one request.
struct Visit<'a> {
    me: &'a Current<'a>,
    connection: Known<TcpStream>,
    house: &'a House,
}

impl<'a> Visit<'a> {
    fn begin(me: &'a Current<'a>, connection: TcpStream, house: &'a House) -> io::Result<Self> {
        Ok(Self {
            me,
            connection: me.know(connection)?,
            house,
        })
    }

    /// Reads the request and answers it.
    fn run(&mut self) -> io::Result<()> {
        let (head_only, found) = match self.read_request()? {
            Err(wrong) => (false, Found::Nothing(wrong)),
            Ok(request) => (request.head_only, self.house.folder.find(&request.name)),
        };
        let mut head = Vec::new();
        match found {
            Found::Nothing(wrong) => answer::wrong(wrong, head_only, &mut head),
            Found::Elsewhere(location) => answer::redirect(&location, &mut head),
            Found::File {
                file,
                bytes,
                content_type,
            } => {
                answer::file(bytes, content_type, &mut head);
                if !head_only {
                    self.send(&head)?;
                    head.clear();
                    self.send_file(&Arc::new(file), bytes)?;
                }
            }
        }
        self.send(&head)?;
        self.finish()
    }

    /// Reads the request. When the server is stopped, connections without a request, as browsers
    /// keep some, are closed. A client that is still sending its request is told that there will be
    /// no answer.
    fn read_request(&mut self) -> io::Result<Result<Request, Wrong>> {
        let deadline = self.house.stop.deadline();
        let mut head = Vec::new();
        let mut piece = [0; 2048];
        loop {
            match self.connection.get_mut().read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => head.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(error) if self.house.stop.is_asked() => {
                    let wrong = Err((Status::UNAVAILABLE, "the server ends\n"));
                    return if head.is_empty() {
                        Err(error)
                    } else {
                        Ok(wrong)
                    };
                }
                Err(_) => {
                    if self.me.wait_for(&self.connection, Some(deadline)).is_err() {
                        return Ok(Err((Status::REQUEST_TIMEOUT, "")));
                    }
                    continue;
                }
            }
            match request::parse(&head) {
                Ok(None) => {}
                Ok(Some((request, _))) => return Ok(Ok(request)),
                Err(wrong) => return Ok(Err(wrong)),
            }
        }
    }

    /// Sends all of it, for which the client has so long, however little it takes at a time.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let deadline = self.house.stop.deadline();
        if deadline <= Instant::now() {
            // The server was stopped, and this client could go on taking for ever.
            return Err(ErrorKind::TimedOut.into());
        }
        let mut left = bytes;
        while !left.is_empty() {
            let write = |socket: &mut TcpStream| socket.write(left);
            match self.me.until_done(&mut self.connection, deadline, write)? {
                0 => return Err(ErrorKind::WriteZero.into()),
                count => left = &left[count..],
            }
        }
        Ok(())
    }

    fn send_file(&mut self, file: &Arc<std::fs::File>, bytes: u64) -> io::Result<()> {
        let mut offset = 0;
        while offset < bytes {
            let length =
                usize::try_from(PIECE_BYTES.min(bytes - offset)).expect("a piece is small");
            self.house.transfers.take(self.me);
            let piece = self
                .me
                .transfer(Direction::Read, file, vec![0; length], offset);
            self.house.transfers.give(self.me);
            self.send(&piece?)?;
            offset += length as u64;
        }
        Ok(())
    }

    /// Ends the answer, and takes what the client still sends: closing before would destroy the
    /// answer on its way.
    fn finish(&mut self) -> io::Result<()> {
        self.connection.get().shutdown(std::net::Shutdown::Write)?;
        let deadline = Instant::now() + LINGER;
        let mut rest = [0; 2048];
        let mut taken = 0;
        while taken <= FAREWELL_BYTES {
            let read = |socket: &mut TcpStream| socket.read(&mut rest);
            match self.me.until_done(&mut self.connection, deadline, read)? {
                0 => break,
                count => taken += count,
            }
        }
        Ok(())
    }
}
