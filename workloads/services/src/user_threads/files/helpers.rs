//! Transfers by helper threads, which block in the user threads' place.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

use super::transfer::{Backend, Direction, Done, Outcome, Transfer};
use crate::queue::{LockFree, TaskQueue};

/// More helpers than this do not make a disk faster. A guess.
const MOST_HELPERS: usize = 16;

/// Transfers that helpers wait for, each with the number of its user thread. A channel of the
/// standard library has one receiver: under a lock for many of them, each transfer would wake two
/// helpers.
type Inbox = LockFree<(usize, Transfer)>;

/// Threads that wait for transfers to make.
pub(super) struct Helpers {
    to_do: Arc<Inbox>,
    done: Receiver<Done>,
    threads: Vec<JoinHandle<()>>,
}

impl Helpers {
    /// One for each of the `transfers` that may be under way at a time, within reason.
    pub(super) fn start(transfers: usize) -> Self {
        let to_do = Arc::new(Inbox::new(None));
        let (outbox, done) = channel();
        let threads = (0..transfers.clamp(1, MOST_HELPERS))
            .map(|_| {
                let (inbox, outbox) = (Arc::clone(&to_do), outbox.clone());
                thread::spawn(move || help(&inbox, &outbox))
            })
            .collect();
        Self {
            to_do,
            done,
            threads,
        }
    }
}

fn help(inbox: &Inbox, outbox: &Sender<Done>) {
    while let Some((thread, mut transfer)) = inbox.pop() {
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
        self.to_do.push((thread, transfer));
        Ok(())
    }

    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<Done>> {
        let gone = || io::Error::other("all helper threads have ended");
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

impl Drop for Helpers {
    fn drop(&mut self) {
        self.to_do.close();
        for thread in self.threads.drain(..) {
            // A helper that panicked has said so already.
            let _ = thread.join();
        }
    }
}
