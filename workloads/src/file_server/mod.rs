//! An HTTP server of files, on user-level threads, after a student project.
//!
//! One thread accepts connections and puts them into a bounded buffer; handlers take them out, read one
//! request each and send the file by asynchronous transfers. Files: `request.rs` says what was asked
//! for and under which name, `folder.rs` opens nothing outside the root, `answer.rs` writes heads.

mod answer;
mod folder;
mod request;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mio::Waker;
use mio::net::{TcpListener, TcpStream};

use crate::user_threads::{Condvar, Current, Direction, Files, Known, Mutex, Sockets, UserThreads};
use crate::workload::Refusal;
use answer::{Head, Status};
use folder::{Folder, Found};
use request::{MAX_HEAD_BYTES, Method, Parsed};

/// Handlers, so as many connections at a time. A browser opens six.
const HANDLERS: usize = 32;

/// Connections that wait for a handler. More wait in the kernel's queue.
const WAITING_CONNECTIONS: usize = 64;

/// For a whole request to come, for each piece of the answer to be taken, and for all that is open when the
/// server is stopped.
const PATIENCE: Duration = Duration::from_secs(10);

/// For the client to close after its answer.
const LINGER: Duration = Duration::from_secs(1);

/// A handler gives up the OS thread when it waits, so this hardly ever ends a turn. The document's.
const QUANTUM: Duration = Duration::from_millis(10);

/// Bytes that a client still says after its request, which are read and dropped, so that it can read
/// its answer before a reset throws that away; after that it is cut off.
const FAREWELL_BYTES: usize = 1 << 20;

/// Until the door is tried again when the kernel could not let anybody in; a guess.
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
    /// Takes no more connections, and ends when those that have asked for something have been answered,
    /// for which they have ten seconds.
    pub fn stop(&self) {
        // Whoever was first has said it.
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
    /// Serves what is below `root` on this port of 127.0.0.1; 0 is any free one.
    ///
    /// # Errors
    /// If `root` is no directory or the port is taken.
    pub fn bind(root: &Path, port: u16) -> Result<Self, Refusal> {
        let folder = Folder::open(root)
            .map_err(|error| Refusal::new(format!("--root {}: {error}", root.display())))?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let listener = TcpListener::bind(address).map_err(|error| {
            Refusal::new(format!("--port {port}: {error}; choose another one, or 0 for any"))
        })?;
        let no_sockets = |error| Refusal::new(format!("sockets cannot be waited for: {error}"));
        let (sockets, waker) = Sockets::new().map_err(no_sockets)?;
        let stop = Stop { asked: Arc::default(), waker };
        Ok(Self { listener, folder, files: Files::new("auto", HANDLERS)?, sockets, stop })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// If the kernel does not say.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// What ends it.
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
        let Self { listener, folder, files, sockets, stop } = self;
        let mut threads = UserThreads::new(QUANTUM);
        threads.set_files(files);
        threads.set_sockets(sockets);
        let queue = Rc::new(Queue::default());
        let folder = Rc::new(folder);
        for _ in 0..HANDLERS {
            let (queue, folder, stop) = (Rc::clone(&queue), Rc::clone(&folder), stop.clone());
            threads.spawn(move |me| {
                while let Some(connection) = queue.take(me) {
                    // Whoever asked is gone, or too slow; there is nobody to tell.
                    let _ = Visit::begin(me, connection, &stop)
                        .and_then(|mut visit| visit.run(&folder));
                }
            })?;
        }
        let outcome = Rc::new(std::cell::Cell::new(Ok(0)));
        let accepted = Rc::clone(&outcome);
        threads.spawn(move |me| {
            accepted.set(accept(me, listener, &queue, &stop));
            queue.close(me);
        })?;
        threads.run().expect("handlers wait for the acceptor, which waits for nobody but clients");
        outcome.replace(Ok(0))
    }
}

/// Puts every connection into the queue until the server is stopped; returns how many there were.
fn accept(me: &Current<'_>, listener: TcpListener, queue: &Queue, stop: &Stop) -> io::Result<u64> {
    let listener = me.know(listener)?;
    let mut accepted = 0;
    while !stop.is_asked() {
        match listener.get().accept() {
            Ok((connection, _)) => {
                accepted += 1;
                queue.put(me, connection);
            }
            Err(error) => match error.kind() {
                ErrorKind::WouldBlock => me.wait_for(&listener, None)?,
                // The client went away before it was accepted.
                ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                // No descriptors or memory left, most likely: somebody must leave first.
                _ => me.wait_for(&listener, Some(Instant::now() + AFTER_TROUBLE))?,
            },
        }
    }
    Ok(accepted)
}

/// Accepted connections: a bounded buffer.
#[derive(Default)]
struct Queue {
    /// The connections, and whether more may come.
    state: Mutex<(VecDeque<TcpStream>, bool)>,
    has_room: Condvar,
    has_some: Condvar,
}

impl Queue {
    fn put(&self, me: &Current<'_>, connection: TcpStream) {
        let is_full = |(waiting, _): &(VecDeque<_>, bool)| waiting.len() >= WAITING_CONNECTIONS;
        self.has_room.wait_while(self.state.lock(me), is_full).0.push_back(connection);
        self.has_some.notify_one(me);
    }

    fn take(&self, me: &Current<'_>) -> Option<TcpStream> {
        let is_pending = |(waiting, closed): &(VecDeque<_>, bool)| waiting.is_empty() && !closed;
        let connection = self.has_some.wait_while(self.state.lock(me), is_pending).0.pop_front();
        self.has_room.notify_one(me);
        connection
    }

    fn close(&self, me: &Current<'_>) {
        self.state.lock(me).1 = true;
        self.has_some.notify_all(me);
    }
}

/// A client with its one request.
struct Visit<'a> {
    me: &'a Current<'a>,
    connection: Known<TcpStream>,
    stop: &'a Stop,
}

impl<'a> Visit<'a> {
    fn begin(me: &'a Current<'a>, connection: TcpStream, stop: &'a Stop) -> io::Result<Self> {
        Ok(Self { me, connection: me.know(connection)?, stop })
    }

    /// Reads the request and answers it.
    fn run(&mut self, folder: &Folder) -> io::Result<()> {
        let (head_only, found) = match self.read_request()? {
            Parsed::Wrong(status) => (false, Found::Nothing(status)),
            Parsed::Request { method, name } => (method == Method::Head, folder.find(&name)),
        };
        match found {
            Found::Nothing(status) => {
                let text = status.text();
                self.send(Head::of_status(status).bytes().as_bytes())?;
                if !head_only {
                    self.send(text.as_bytes())?;
                }
            }
            Found::Elsewhere(location) => {
                self.send(Head::of_redirect(&location).bytes().as_bytes())?;
            }
            Found::File { file, bytes, content_type } => {
                self.send(Head::of_file(bytes, content_type).bytes().as_bytes())?;
                if !head_only {
                    self.send_file(&Arc::new(file), bytes)?;
                }
            }
        }
        self.finish()
    }

    /// A client that has asked for nothing when the server is stopped, as browsers keep some, is let go.
    fn read_request(&mut self) -> io::Result<Parsed> {
        let deadline = self.stop.deadline();
        let mut head = Vec::new();
        let mut piece = [0; 2048];
        loop {
            match self.connection.get_mut().read(&mut piece) {
                Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
                Ok(count) => head.extend_from_slice(&piece[..count]),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                Err(error) if head.is_empty() && self.stop.is_asked() => return Err(error),
                Err(_) => {
                    if self.me.wait_for(&self.connection, Some(deadline)).is_err() {
                        return Ok(Parsed::Wrong(Status::RequestTimeout));
                    }
                    continue;
                }
            }
            if let Some(parsed) = request::parse(&head) {
                return Ok(parsed);
            }
            if head.len() > MAX_HEAD_BYTES {
                return Ok(Parsed::Wrong(Status::HeadTooLarge));
            }
        }
    }

    /// Sends all of it, for which the client has so long, however little it takes at a time.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        let deadline = self.stop.deadline();
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
            let piece = self.me.transfer(Direction::Read, file, vec![0; length], offset)?;
            self.send(&piece)?;
            offset += length as u64;
        }
        Ok(())
    }

    /// Ends the answer, and takes what the client still sends: closing before would destroy the answer on
    /// its way.
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
