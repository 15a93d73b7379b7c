//! Transfers by helper threads, which block in the user threads' place.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::{Backend, Direction, Done, Outcome, Transfer};

/// More helpers than this do not make a disk faster. A guess.
const MOST_HELPERS: usize = 16;

/// Threads that wait for transfers to make.
pub(super) struct Helpers {
    /// `None` only while it is being dropped.
    to_do: Option<Sender<(usize, Transfer)>>,
    done: Receiver<Done>,
    threads: Vec<JoinHandle<()>>,
}

impl Helpers {
    /// One for each of the `transfers` that may be under way at a time, within reason.
    pub(super) fn start(transfers: usize) -> Self {
        let (to_do, inbox) = channel::<(usize, Transfer)>();
        let (outbox, done) = channel();
        let inbox = Arc::new(Mutex::new(inbox));
        let threads = (0..transfers.clamp(1, MOST_HELPERS))
            .map(|_| {
                let (inbox, outbox) = (Arc::clone(&inbox), outbox.clone());
                thread::spawn(move || help(&inbox, &outbox))
            })
            .collect();
        Self { to_do: Some(to_do), done, threads }
    }
}

fn help(inbox: &Mutex<Receiver<(usize, Transfer)>>, outbox: &Sender<Done>) {
    loop {
        let next = inbox.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok((thread, mut transfer)) = next else { return };
        let Transfer { direction, file, buffer, offset } = &mut transfer;
        let result = match direction {
            Direction::Read => file.read_at(buffer, *offset),
            Direction::Write => file.write_at(buffer, *offset),
        };
        let outcome = Outcome { result, buffer: transfer.buffer };
        if outbox.send(Done { thread, outcome }).is_err() {
            return;
        }
    }
}

impl Backend for Helpers {
    fn submit(&mut self, thread: usize, transfer: Transfer) -> io::Result<()> {
        let to_do = self.to_do.as_ref().expect("there until it is dropped");
        to_do
            .send((thread, transfer))
            .map_err(|_| io::Error::other("all helper threads have ended"))
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
        drop(self.to_do.take());
        for thread in self.threads.drain(..) {
            // A helper that panicked has said so already.
            let _ = thread.join();
        }
    }
}
