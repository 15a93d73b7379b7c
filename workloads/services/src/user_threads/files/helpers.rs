//! Transfers by helper threads: these OS threads block, and the user threads go on.

use std::io;
use std::os::unix::fs::FileExt;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};

use super::transfer::{Backend, Direction, Done, Outcome, Transfer};

/// More helpers than this do not make a disk faster. A guess.
const MOST_HELPERS: usize = 16;

/// Helper threads, which wait for transfers. Each transfer has the number of its user thread.
pub(super) struct Helpers {
    /// `None` only while it is being dropped, which ends the helpers.
    to_do: Option<Sender<(usize, Transfer)>>,
    done: Receiver<Done>,
    threads: Vec<JoinHandle<()>>,
}

impl Helpers {
    /// Starts one helper for each of the `transfers` simultaneous transfers, up to the maximum.
    pub(super) fn start(transfers: usize) -> Self {
        let (to_do, inbox) = unbounded();
        let (outbox, done) = unbounded();
        let threads = (0..transfers.clamp(1, MOST_HELPERS))
            .map(|_| {
                let (inbox, outbox) = (inbox.clone(), outbox.clone());
                thread::spawn(move || help(&inbox, &outbox))
            })
            .collect();
        Self {
            to_do: Some(to_do),
            done,
            threads,
        }
    }
}

fn help(inbox: &Receiver<(usize, Transfer)>, outbox: &Sender<Done>) {
    for (thread, mut transfer) in inbox {
        let Transfer {
            direction,
            file,
            buffer,
            offset,
        } = &mut transfer;
        let result = match direction {
            Direction::Read => file.read_at(buffer, *offset),
            Direction::Write => file.write_at(buffer, *offset),
        };
        let outcome = Outcome {
            result,
            buffer: transfer.buffer,
        };
        if outbox.send(Done { thread, outcome }).is_err() {
            return;
        }
    }
}

impl Backend for Helpers {
    fn submit(&mut self, thread: usize, transfer: Transfer) -> io::Result<()> {
        let to_do = self.to_do.as_ref().expect("there until it is dropped");
        to_do.send((thread, transfer)).map_err(|_| gone())
    }

    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<Done>> {
        if may_wait {
            return self.done.recv().map(Some).map_err(|_| gone());
        }
        match self.done.try_recv() {
            Ok(done) => Ok(Some(done)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(gone()),
        }
    }
}

fn gone() -> io::Error {
    io::Error::other("all helper threads have ended")
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.to_do = None;
        for thread in self.threads.drain(..) {
            // A helper that panicked has already printed its panic.
            let _ = thread.join();
        }
    }
}
