//! Reads and writes files while other user threads run.
//!
//! A thread hands its file and buffer to the backend and blocks; the backend returns the buffer
//! with the result. The stack holds no buffer during a transfer, so the kernel never writes to a
//! freed stack.

mod helpers;
#[cfg(test)]
mod tests;
mod transfer;
mod uring;

use std::io;

use protocol::Refusal;

use transfer::Backend;
pub(crate) use transfer::Direction;
pub(super) use transfer::{Outcome, Transfer};

pub(crate) struct Files {
    backend: Box<dyn Backend>,
    is_uring: bool,
    under_way: usize,
    most_under_way: usize,
}

impl Files {
    /// Creates the backend `name` (`auto`, `io-uring` or `threads`), for at most `transfers`
    /// simultaneous transfers. `auto` is `io_uring` if the kernel allows this process to use it,
    /// and helper threads otherwise.
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

    pub(super) fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
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
