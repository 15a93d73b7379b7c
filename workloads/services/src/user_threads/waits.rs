//! How a user thread waits for a file or a socket.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;

use super::Current;
use super::files::{Direction, Outcome, Transfer};
use super::sockets::Waiter;
use crate::net::{Stream, TICK};

impl Current<'_> {
    /// Reads or writes all of `buffer` at `offset` of `file`, while other threads run. Returns the
    /// buffer, too.
    ///
    /// # Errors
    /// Those of the kernel, and `UnexpectedEof` if the file ends first. Then the buffer is lost.
    ///
    /// # Panics
    /// If the threads were given no [`Files`](super::Files).
    pub fn transfer(
        &self,
        direction: Direction,
        file: &Arc<File>,
        buffer: Vec<u8>,
        offset: u64,
    ) -> io::Result<Vec<u8>> {
        let length = buffer.len();
        let (count, mut buffer) = self.transfer_once(direction, file, buffer, offset)?;
        let mut done = count;
        // The kernel may stop early, for example at a signal. Then the rest needs another transfer
        // with a separate buffer.
        while done < length {
            let rest = buffer[done..].to_vec();
            let (count, rest) = self.transfer_once(direction, file, rest, offset + done as u64)?;
            buffer[done..].copy_from_slice(&rest);
            done += count;
        }
        Ok(buffer)
    }

    /// Like [`Current::transfer`], but stops after one, possibly short, transfer. Returns a count
    /// of 0 only for an empty buffer.
    fn transfer_once(
        &self,
        direction: Direction,
        file: &Arc<File>,
        buffer: Vec<u8>,
        offset: u64,
    ) -> io::Result<(usize, Vec<u8>)> {
        if buffer.is_empty() {
            return Ok((0, buffer));
        }
        let transfer = Transfer {
            direction,
            file: Arc::clone(file),
            buffer,
            offset,
        };
        let outcome = self.await_transfer(transfer)?;
        match outcome.result? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            count => Ok((count, outcome.buffer)),
        }
    }

    fn await_transfer(&self, transfer: Transfer) -> io::Result<Outcome> {
        self.shared
            .files
            .borrow_mut()
            .as_mut()
            .expect("the threads were given files")
            .submit(self.number, transfer)?;
        self.block();
        let outcome = self.shared.outcomes.borrow_mut().remove(&self.number);
        Ok(outcome.expect("a thread that waits for a transfer is woken by its end"))
    }
}

impl Current<'_> {
    /// Waits until the socket may be ready for these events, but no longer than `limit`.
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

/// A connection that a user thread serves.
pub struct UserSocket<'a> {
    me: &'a Current<'a>,
    socket: Rc<TcpStream>,
}

impl<'a> UserSocket<'a> {
    /// Makes `socket` non-blocking, and wraps it.
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

    /// Tries `operation`, waits for at most a tick, and tries once more.
    fn twice<T>(
        &self,
        flags: PollFlags,
        mut operation: impl FnMut(&TcpStream) -> io::Result<T>,
    ) -> io::Result<T> {
        match operation(&self.socket) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
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
        // This fails if the client has gone already, which the next read reports, too.
        let _ = self.socket.shutdown(Shutdown::Write);
    }
}
