//! How a user thread waits for a file or a socket.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Instant;

use mio::event::Source;

use super::Current;
use super::files::{Direction, Outcome, Transfer};

/// A socket that was made known, and its number.
pub struct Known<S: Source> {
    socket: S,
    token: usize,
}

impl<S: Source> Known<S> {
    /// The socket.
    pub fn get(&self) -> &S {
        &self.socket
    }

    /// The socket, to be changed.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.socket
    }
}

impl Current<'_> {
    /// Reads or writes all of `buffer` at `offset` of `file`, while others go on; also gives the
    /// buffer back.
    ///
    /// # Errors
    /// Those of the kernel, and `UnexpectedEof` if the file ends first. The buffer is gone then.
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
        // The kernel may stop early, at a signal for example. Then the rest goes by a buffer of its
        // own.
        while done < length {
            let rest = buffer[done..].to_vec();
            let (count, rest) = self.transfer_once(direction, file, rest, offset + done as u64)?;
            buffer[done..].copy_from_slice(&rest);
            done += count;
        }
        Ok(buffer)
    }

    /// [`Current::transfer`] of as much as the kernel does at once, at least one byte.
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

    /// Makes a socket known, so that threads can wait for it. Closing it makes it unknown again.
    ///
    /// # Errors
    /// If the kernel has no room for it.
    ///
    /// # Panics
    /// If the threads were given no [`Sockets`](super::Sockets).
    pub fn know<S: Source>(&self, mut socket: S) -> io::Result<Known<S>> {
        let token = self.shared.sockets().register(&mut socket)?;
        Ok(Known { socket, token })
    }

    /// Waits until the socket may be ready, or a thread used the waker.
    ///
    /// # Errors
    /// `TimedOut` at `deadline`.
    ///
    /// # Panics
    /// If the threads were given no [`Sockets`](super::Sockets).
    pub fn wait_for<S: Source>(
        &self,
        socket: &Known<S>,
        deadline: Option<Instant>,
    ) -> io::Result<()> {
        if deadline.is_some_and(|it| it <= Instant::now()) {
            return Err(ErrorKind::TimedOut.into());
        }
        self.shared
            .sockets()
            .wake_when_ready(socket.token, self.number, deadline);
        self.block();
        Ok(())
    }

    /// Does `operation` again and again, waiting in between, until it no longer says that it would
    /// block.
    ///
    /// # Errors
    /// Those of `operation`, and `TimedOut` at `deadline`.
    ///
    /// # Panics
    /// As [`Current::wait_for`].
    pub fn until_done<S: Source, T>(
        &self,
        socket: &mut Known<S>,
        deadline: Instant,
        mut operation: impl FnMut(&mut S) -> io::Result<T>,
    ) -> io::Result<T> {
        loop {
            match operation(&mut socket.socket) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.wait_for(socket, Some(deadline))?;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }
}
