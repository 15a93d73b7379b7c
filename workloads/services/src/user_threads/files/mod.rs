//! Reading and writing files while other user threads go on.
//!
//! A thread hands file and buffer over and blocks; the backend gives them back with the result. So
//! nothing that the kernel still writes to can go away with the stack of a thread.

mod helpers;
#[cfg(test)]
mod tests;
mod uring;

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use protocol::Refusal;

use super::Current;

/// Asynchronous transfers, and how many are under way.
pub struct Files {
    backend: Box<dyn Backend>,
    is_uring: bool,
    under_way: usize,
    most_under_way: usize,
}

impl Files {
    /// The backend called `name` (`auto`, `io-uring` or `threads`), for at most `transfers` at a
    /// time. `auto` is `io_uring` if the kernel lets this process have it, and helper threads
    /// otherwise.
    ///
    /// # Errors
    /// If `io_uring` is asked for by name and cannot be had.
    pub fn new(name: &str, transfers: usize) -> Result<Self, Refusal> {
        let with = |backend: Box<dyn Backend>, is_uring| Self {
            backend,
            is_uring,
            under_way: 0,
            most_under_way: 0,
        };
        let helpers = || with(Box::new(helpers::Helpers::start(transfers)), false);
        if name == "threads" {
            return Ok(helpers());
        }
        match uring::Ring::new(transfers) {
            Ok(ring) => Ok(with(Box::new(ring), true)),
            Err(_) if name == "auto" => Ok(helpers()),
            Err(error) => Err(Refusal::new(format!(
                "parameter `backend` = `{name}`: this kernel gives the process no io_uring: {error}; \
                 ask for `threads`, or look at /proc/sys/kernel/io_uring_disabled"
            ))),
        }
    }

    /// Whether transfers go through `io_uring`.
    #[must_use]
    pub fn is_uring(&self) -> bool {
        self.is_uring
    }

    /// The most transfers that were under way at a time.
    #[must_use]
    pub fn most_under_way(&self) -> usize {
        self.most_under_way
    }

    pub(super) fn are_idle(&self) -> bool {
        self.under_way == 0
    }

    pub(super) fn submit(&mut self, thread: usize, transfer: Transfer) -> io::Result<()> {
        self.backend.submit(thread, transfer)?;
        self.under_way += 1;
        self.most_under_way = self.most_under_way.max(self.under_way);
        Ok(())
    }

    pub(super) fn next_done(&mut self, may_wait: bool) -> io::Result<Option<Done>> {
        if self.are_idle() {
            return Ok(None);
        }
        let done = self.backend.next_done(may_wait)?;
        self.under_way -= usize::from(done.is_some());
        Ok(done)
    }
}

/// Which way a transfer goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file into the buffer.
    Read,
    /// From the buffer into the file.
    Write,
}

/// One transfer between a file and all of a buffer.
#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) direction: Direction,
    pub(super) file: Arc<File>,
    pub(super) buffer: Vec<u8>,
    pub(super) offset: u64,
}

/// A transfer that has ended.
pub(super) struct Done {
    /// Number of the thread that waits for it.
    pub(super) thread: usize,
    pub(super) outcome: Outcome,
}

/// How many bytes were transferred, and the buffer.
pub(super) struct Outcome {
    pub(super) result: io::Result<usize>,
    pub(super) buffer: Vec<u8>,
}

/// The backend that carries out transfers.
pub(super) trait Backend: Send {
    /// Begins a transfer for a thread.
    fn submit(&mut self, thread: usize, transfer: Transfer) -> io::Result<()>;

    /// One transfer that has ended; waits for it if there is none yet and `may_wait`. The caller
    /// knows that something is under way.
    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<Done>>;
}

impl Current<'_> {
    /// Reads or writes all of `buffer` at `offset` of `file`, while others go on; also gives the
    /// buffer back.
    ///
    /// # Errors
    /// Those of the kernel, and `UnexpectedEof` if the file ends first. The buffer is gone then.
    ///
    /// # Panics
    /// If the threads were given no [`Files`].
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
}
