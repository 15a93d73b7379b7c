//! Reads and writes files while other user threads run.
//!
//! A user thread hands its file and buffer to helper threads and blocks; a helper returns the
//! buffer with the result. Helpers are OS threads, which block while the user threads run.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};

/// More helpers than this do not make a disk faster. A guess.
const MOST_HELPERS: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Read,
    Write,
}

impl Direction {
    pub(crate) fn carry_out(self, file: &File, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        match self {
            Self::Read => file.read_exact_at(buffer, offset),
            Self::Write => file.write_all_at(buffer, offset),
        }
    }
}

#[derive(Debug)]
pub(super) struct Transfer {
    pub(super) thread: usize,
    pub(super) direction: Direction,
    pub(super) file: Arc<File>,
    pub(super) buffer: Vec<u8>,
    pub(super) offset: u64,
}

pub(super) type Outcome = io::Result<Vec<u8>>;

pub(crate) struct Files {
    /// `None` only while this value is being dropped: the closed channel ends the helpers.
    to_do: Option<Sender<Transfer>>,
    done: Receiver<(usize, Outcome)>,
    helpers: Vec<JoinHandle<()>>,
    under_way: usize,
    most_under_way: usize,
}

impl Files {
    /// Starts the helpers for at most `transfers` simultaneous transfers.
    pub(crate) fn start(transfers: usize) -> Self {
        let (to_do, inbox) = unbounded();
        let (outbox, done) = unbounded();
        let helpers = (0..transfers.clamp(1, MOST_HELPERS))
            .map(|_| {
                let (inbox, outbox) = (inbox.clone(), outbox.clone());
                thread::spawn(move || help(&inbox, &outbox))
            })
            .collect();
        Self {
            to_do: Some(to_do),
            done,
            helpers,
            under_way: 0,
            most_under_way: 0,
        }
    }

    pub(crate) fn most_under_way(&self) -> usize {
        self.most_under_way
    }

    pub(super) fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
        let to_do = self
            .to_do
            .as_ref()
            .expect("the channel exists until the helpers are dropped");
        to_do.send(transfer).map_err(io::Error::other)?;
        self.under_way += 1;
        self.most_under_way = self.most_under_way.max(self.under_way);
        Ok(())
    }

    /// Returns the result of one transfer that has ended, and its thread. If no transfer has ended
    /// yet, one is in flight and `may_wait`, waits until it ends.
    pub(super) fn next_done(&mut self, may_wait: bool) -> io::Result<Option<(usize, Outcome)>> {
        if self.under_way == 0 {
            return Ok(None);
        }
        let done = if may_wait {
            Some(self.done.recv().map_err(io::Error::other)?)
        } else {
            self.done.try_recv().ok()
        };
        self.under_way -= usize::from(done.is_some());
        Ok(done)
    }
}

fn help(inbox: &Receiver<Transfer>, outbox: &Sender<(usize, Outcome)>) {
    for transfer in inbox {
        let Transfer {
            thread,
            direction,
            file,
            mut buffer,
            offset,
        } = transfer;
        let result = direction.carry_out(&file, &mut buffer, offset);
        // Sending fails if no thread waits for the transfer any more.
        let _ = outbox.send((thread, result.map(|()| buffer)));
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        self.to_do = None;
        for helper in self.helpers.drain(..) {
            // A helper that panicked has already printed its panic.
            let _ = helper.join();
        }
    }
}
