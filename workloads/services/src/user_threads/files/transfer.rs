//! A transfer between a file and a buffer, and the interface of every backend.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

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
pub(in super::super) struct Transfer {
    pub(in super::super) thread: usize,
    pub(in super::super) direction: Direction,
    pub(in super::super) file: Arc<File>,
    pub(in super::super) buffer: Vec<u8>,
    pub(in super::super) offset: u64,
}

pub(in super::super) type Outcome = io::Result<Vec<u8>>;

pub(super) trait Backend: Send {
    fn submit(&mut self, transfer: Transfer) -> io::Result<()>;

    /// Returns the result of one transfer that has ended, and its thread. If no transfer has ended
    /// yet and `may_wait`, waits until one ends. The caller knows that a transfer is in flight.
    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<(usize, Outcome)>>;
}
