//! How a user thread waits for a file or a socket.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::poll::PollFlags;

use super::Current;
use super::files::{Direction, Transfer};
use super::sockets::Waiter;

impl Current<'_> {
    /// Reads or writes all of `buffer` at `offset` of `file`, while other threads run. Returns the
    /// buffer, too.
    pub(crate) fn transfer(
        &self,
        direction: Direction,
        file: &Arc<File>,
        buffer: Vec<u8>,
        offset: u64,
    ) -> io::Result<Vec<u8>> {
        let transfer = Transfer {
            thread: self.number,
            direction,
            file: Arc::clone(file),
            buffer,
            offset,
        };
        self.shared
            .files
            .borrow_mut()
            .as_mut()
            .expect("these user threads have helpers for files")
            .submit(transfer)?;
        self.block();
        let outcome = self.shared.outcomes.borrow_mut().remove(&self.number);
        outcome.expect("a thread that waits for a transfer is woken by its end")
    }

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

pub(crate) struct UserSocket<'a> {
    me: &'a Current<'a>,
    socket: Rc<TcpStream>,
    limit: Duration,
}

impl<'a> UserSocket<'a> {
    /// Each read and write fails with `TimedOut` after `limit`.
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
