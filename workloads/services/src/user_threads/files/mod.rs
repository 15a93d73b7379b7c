//! Reading and writing files while other user threads go on.
//!
//! A thread hands its file and buffer to the backend and blocks; the backend returns the buffer
//! with the result. So if a thread's stack is freed, the kernel does not write to freed memory.

mod helpers;
#[cfg(test)]
mod tests;
mod uring;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use protocol::Refusal;

use super::Current;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    /// Transfers all of `buffer`, and blocks the OS thread.
    pub(crate) fn carry_out(self, file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Read => file.read_exact_at(buffer, offset),
            Self::Write => file.write_all_at(buffer, offset),
        }
    }
}

/// One transfer between a file and all of a buffer, for a user thread.
#[derive(Debug)]
struct Transfer {
    thread: usize,
    direction: Direction,
    file: Arc<File>,
    buffer: Vec<u8>,
    offset: u64,
}

/// The buffer of a transfer that has ended, or the error.
pub(super) type Outcome = io::Result<Vec<u8>>;

trait Backend: Send {
    fn submit(&mut self, transfer: Transfer) -> io::Result<()>;

    /// Returns one transfer that has ended, and its thread. If there is none yet and `may_wait`,
    /// waits for one. The caller knows that a transfer is in flight.
    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<(usize, Outcome)>>;
}

/// The backend of asynchronous transfers, with the number of transfers in flight.
pub(crate) struct Files {
    backend: Box<dyn Backend>,
    is_uring: bool,
    under_way: usize,
    most_under_way: usize,
}

impl Files {
    /// Creates the backend `name` (`auto`, `io-uring` or `threads`), for at most `transfers`
    /// simultaneous transfers. `auto` is `io_uring` if the kernel allows it to this process, and
    /// helper threads otherwise.
    pub(crate) fn new(name: &str, transfers: usize) -> Result<Self, Refusal> {
        let ring = match name {
            "threads" => None,
            _ => Some(uring::Ring::new(transfers)),
        };
        let (backend, is_uring): (Box<dyn Backend>, bool) = match ring {
            Some(Ok(ring)) => (Box::new(ring), true),
            Some(Err(error)) if name != "auto" => {
                return Err(Refusal::new(format!(
                    "parameter `backend` = `{name}`: this kernel gives the process no io_uring: \
                     {error}; ask for `threads`, or look at /proc/sys/kernel/io_uring_disabled"
                )));
            }
            _ => (Box::new(helpers::Helpers::start(transfers)), false),
        };
        Ok(Self {
            backend,
            is_uring,
            under_way: 0,
            most_under_way: 0,
        })
    }

    pub(crate) fn is_uring(&self) -> bool {
        self.is_uring
    }

    pub(crate) fn most_under_way(&self) -> usize {
        self.most_under_way
    }

    fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
        self.backend.submit(transfer)?;
        self.under_way += 1;
        self.most_under_way = self.most_under_way.max(self.under_way);
        Ok(())
    }

    pub(super) fn next_done(&mut self, may_wait: bool) -> io::Result<Option<(usize, Outcome)>> {
        if self.under_way == 0 {
            return Ok(None);
        }
        let done = self.backend.next_done(may_wait)?;
        self.under_way -= usize::from(done.is_some());
        Ok(done)
    }
}

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
            .expect("the threads were given files")
            .submit(transfer)?;
        self.block();
        let outcome = self.shared.outcomes.borrow_mut().remove(&self.number);
        outcome.expect("a thread that waits for a transfer is woken by its end")
    }
}
