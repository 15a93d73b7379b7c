//! Waiting for sockets while other user threads go on.
//!
//! Sockets do not block; a thread that finds one not ready waits here until the kernel says that it
//! may be, or a tick has passed.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::Current;
use crate::net::{Stream, TICK};

/// A thread that waits for a socket.
pub(super) struct Waiter {
    thread: usize,
    socket: Rc<dyn AsFd>,
    flags: PollFlags,
    due: Instant,
}

/// Takes out the threads whose sockets may be ready or whose time is up; waits for the first of
/// them if `may_wait`.
///
/// # Panics
/// If the kernel refuses to say.
pub(super) fn take_ready(waiters: &mut Vec<Waiter>, may_wait: bool) -> Vec<usize> {
    let Some(first_due) = waiters.iter().map(|it| it.due).min() else {
        return Vec::new();
    };
    let left = first_due.saturating_duration_since(Instant::now());
    // Rounded up, or the last part of a millisecond would be spun through.
    let left = left.as_micros().div_ceil(1000);
    let timeout = if may_wait {
        PollTimeout::try_from(left).expect("ticks are short")
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
    /// Waits until the socket may be ready for these, but no longer than `limit`.
    pub fn wait_for(&self, socket: Rc<dyn AsFd>, flags: PollFlags, limit: Duration) {
        self.shared.waiters.borrow_mut().push(Waiter {
            thread: self.number,
            socket,
            flags,
            due: Instant::now() + limit,
        });
        self.block();
    }
}

/// A connection for whose client a user thread waits.
pub struct UserSocket<'a> {
    me: &'a Current<'a>,
    socket: Rc<TcpStream>,
}

impl<'a> UserSocket<'a> {
    /// Takes a connection over.
    ///
    /// # Errors
    /// If the socket cannot be made not to block.
    pub fn new(me: &'a Current<'a>, socket: TcpStream) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        Ok(Self {
            me,
            socket: Rc::new(socket),
        })
    }

    /// Tries, waits for a tick at most, and tries once more.
    fn twice<T>(
        &self,
        flags: PollFlags,
        mut operation: impl FnMut(&TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        match operation(&self.socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let socket: Rc<TcpStream> = Rc::clone(&self.socket);
                self.me.wait_for(socket, flags, TICK);
                operation(&self.socket)
            }
            outcome => outcome,
        }
    }
}

impl Read for UserSocket<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.twice(PollFlags::POLLIN, |mut socket| socket.read(buffer))
    }
}

impl Write for UserSocket<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.twice(PollFlags::POLLOUT, |mut socket| socket.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Stream for UserSocket<'_> {
    fn finish(&mut self) {
        // Refused if the client is gone already, which the next read tells as well.
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}
