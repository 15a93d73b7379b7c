//! Transfers by helper threads: these OS threads block, while the user threads run.

use std::io;
use std::thread::{self, JoinHandle};

use crossbeam_channel::{Receiver, Sender, unbounded};

use super::transfer::{Backend, Outcome, Transfer};

/// More helpers than this do not make a disk faster. A guess.
const MOST_HELPERS: usize = 16;

pub(super) struct Helpers {
    /// `None` only while these helpers are being dropped: the closed channel ends their threads.
    to_do: Option<Sender<Transfer>>,
    done: Receiver<(usize, Outcome)>,
    threads: Vec<JoinHandle<()>>,
}

impl Helpers {
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

impl Backend for Helpers {
    fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
        let to_do = self
            .to_do
            .as_ref()
            .expect("the channel exists until the helpers are dropped");
        to_do.send(transfer).map_err(io::Error::other)
    }

    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<(usize, Outcome)>> {
        if may_wait {
            return self.done.recv().map(Some).map_err(io::Error::other);
        }
        Ok(self.done.try_recv().ok())
    }
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
