//! Reading and writing files while other user threads go on.
//!
//! A thread hands its file and buffer to the backend and blocks; the backend returns them with the
//! result. So if a thread's stack is freed, the kernel does not write to freed memory.

mod helpers;
#[cfg(test)]
mod tests;
mod transfer;
mod uring;

use std::io;

use protocol::Refusal;

use transfer::Backend;
pub use transfer::Direction;
pub(super) use transfer::{Done, Outcome, Transfer};

/// The backend of asynchronous transfers, with the number of transfers in flight.
pub struct Files {
    backend: Box<dyn Backend>,
    is_uring: bool,
    under_way: usize,
    most_under_way: usize,
}

impl Files {
    /// Creates the backend `name` (`auto`, `io-uring` or `threads`), for at most `transfers`
    /// simultaneous transfers. `auto` is `io_uring` if the kernel allows it to this process, and
    /// helper threads otherwise.
    ///
    /// # Errors
    /// If `name` is `io-uring`, and the kernel does not allow it.
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

    /// Returns whether transfers use `io_uring`.
    #[must_use]
    pub fn is_uring(&self) -> bool {
        self.is_uring
    }

    /// Returns the largest number of simultaneous transfers.
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
