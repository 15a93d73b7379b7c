//! Waiting for sockets while other user threads go on.
//!
//! Sockets do not block. If a socket is not ready, its thread waits until the kernel says that the
//! socket may be ready, or until its time is up.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Current;

pub(super) struct Waiter {
    thread: usize,
    socket: Rc<dyn AsFd>,
    flags: PollFlags,
    due: Instant,
}

/// Removes and returns the threads whose sockets may be ready or whose time is up. Waits for the
/// first of them if `may_wait`.
pub(super) fn take_ready(waiters: &mut Vec<Waiter>, may_wait: bool) -> Vec<usize> {
    let Some(first_due) = waiters.iter().map(|it| it.due).min() else {
        return Vec::new();
    };
    let left = first_due.saturating_duration_since(Instant::now());
    // Rounded up: otherwise the scheduler would spin for the last fraction of a millisecond.
    let left = left.as_micros().div_ceil(1000);
    let timeout = if may_wait {
        PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX)
    } else {
        PollTimeout::ZERO
    };
    let mut asked: Vec<PollFd<'_>> = waiters
        .iter()
        .map(|it| PollFd::new(it.socket.as_fd(), it.flags))
        .collect();
    match poll(&mut asked, timeout) {
        Err(Errno::EINTR) => return Vec::new(),
        outcome => outcome.expect("a poll of our own"),
    };
    let now = Instant::now();
    let is_ready: Vec<bool> = asked.iter().map(|it| it.any() == Some(true)).collect();
    drop(asked);
    let mut is_ready = is_ready.into_iter();
    waiters
        .extract_if(.., |it| is_ready.next() == Some(true) || it.due <= now)
        .map(|it| it.thread)
        .collect()
}

impl Current<'_> {
    /// Waits until the socket may be ready for these events, or until `due`.
    pub(crate) fn wait_for(&self, socket: Rc<dyn AsFd>, flags: PollFlags, due: Instant) {
        self.shared.waiters.borrow_mut().push(Waiter {
            thread: self.number,
            socket,
            flags,
            due,
        });
        self.block();
    }
}

/// A connection that a user thread serves.
pub(crate) struct UserSocket<'a> {
    me: &'a Current<'a>,
    socket: Rc<TcpStream>,
    limit: Duration,
}

impl<'a> UserSocket<'a> {
    /// Makes `socket` non-blocking, and wraps it. Each read and write fails with `TimedOut` after
    /// `limit`.
    pub(crate) fn new(me: &'a Current<'a>, socket: TcpStream, limit: Duration) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        let socket = Rc::new(socket);
        Ok(Self { me, socket, limit })
    }

    pub(crate) fn stream(&self) -> &TcpStream {
        &self.socket
    }

    fn wait<T>(
        &self,
        flags: PollFlags,
        mut operation: impl FnMut(&TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        let due = Instant::now() + self.limit;
        loop {
            match operation(&self.socket) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if Instant::now() >= due {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    let socket: Rc<TcpStream> = Rc::clone(&self.socket);
                    self.me.wait_for(socket, flags, due);
                }
                outcome => return outcome,
            }
        }
    }
}

impl Read for UserSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait(PollFlags::POLLIN, |mut socket| socket.read(buffer))
    }
}

impl Write for UserSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait(PollFlags::POLLOUT, |mut socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
