//! A transfer between a file and a buffer, and the interface of every backend.

use std::fs::File;
use std::io;
use std::sync::Arc;

/// The direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file into the buffer.
    Read,
    /// From the buffer into the file.
    Write,
}

/// One transfer between a file and all of a buffer.
#[derive(Debug)]
pub(in super::super) struct Transfer {
    pub(in super::super) direction: Direction,
    pub(in super::super) file: Arc<File>,
    pub(in super::super) buffer: Vec<u8>,
    pub(in super::super) offset: u64,
}

/// A transfer that has ended.
pub(in super::super) struct Done {
    /// Number of the thread that waits for it.
    pub(in super::super) thread: usize,
    pub(in super::super) outcome: Outcome,
}

/// The number of transferred bytes, and the buffer.
pub(in super::super) struct Outcome {
    pub(in super::super) result: io::Result<usize>,
    pub(in super::super) buffer: Vec<u8>,
}

/// The backend that carries out transfers.
pub(in super::super) trait Backend: Send {
    /// Begins a transfer for a thread.
    fn submit(&mut self, thread: usize, transfer: Transfer) -> io::Result<()>;

    /// Returns one transfer that has ended. If there is none yet and `may_wait`, waits for one. The
    /// caller knows that a transfer is in flight.
    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<Done>>;
}
