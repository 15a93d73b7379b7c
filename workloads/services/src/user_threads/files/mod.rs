//! Reading and writing files while other user threads go on.
//!
//! A thread hands file and buffer over and blocks; the backend gives them back with the result. So
//! nothing that the kernel still writes to can go away with the stack of a thread.

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
