//! Transfers by the kernel itself, through `io_uring`.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, Probe, opcode, types};
use slab::Slab;

use super::transfer::{Backend, Direction, Outcome, Transfer};

/// The most entries of a ring: a size that every kernel with `io_uring` allows.
const MOST_ENTRIES: usize = 4096;

pub(super) struct Ring {
    ring: IoUring,
    /// The transfers in flight, each with the number of bytes already transferred. The kernel
    /// reports a transfer by its key. A transfer's file and buffer must not change until the kernel
    /// has finished the transfer.
    flights: Slab<(Transfer, usize)>,
}

impl Ring {
    pub(super) fn new(transfers: usize) -> io::Result<Self> {
        let entries = transfers.clamp(1, MOST_ENTRIES).next_power_of_two();
        let ring = IoUring::new(u32::try_from(entries).expect("few"))?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let mut codes = [opcode::Read::CODE, opcode::Write::CODE].into_iter();
        if codes.all(|code| probe.is_supported(code)) {
            let flights = Slab::new();
            return Ok(Self { ring, flights });
        }
        let message = "this io_uring cannot read and write";
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    }

    fn begin(&mut self, mut transfer: Transfer, done: usize) -> io::Result<()> {
        let descriptor = types::Fd(transfer.file.as_raw_fd());
        let rest = &mut transfer.buffer[done..];
        // If the rest is longer than `u32::MAX`, `next_done` begins another transfer for the
        // remaining bytes.
        let length = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let offset = transfer.offset + done as u64;
        let entry = match transfer.direction {
            Direction::Read => opcode::Read::new(descriptor, rest.as_mut_ptr(), length)
                .offset(offset)
                .build(),
            Direction::Write => opcode::Write::new(descriptor, rest.as_ptr(), length)
                .offset(offset)
                .build(),
        };
        let number = self.flights.insert((transfer, done));
        let entry = entry.user_data(number as u64);
        // SAFETY: buffer and file are owned by `flights[number]`. No code touches this entry before
        // the kernel has reported the end of the transfer; then `ended` removes the entry. `drop`
        // waits for that report. Moving the transfer moves neither the file nor the buffer's bytes,
        // which are on the heap.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            self.flights.remove(number);
            return Err(io::Error::other(
                "more simultaneous transfers than the ring has entries",
            ));
        }
        // If this call fails, the next call submits the entry.
        let _ = self.enter(0);
        Ok(())
    }

    /// Submits the queued transfers to the kernel, and waits until `ended` transfers have ended.
    fn enter(&self, ended: usize) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(ended) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.map(drop),
            }
        }
    }

    fn ended(&mut self) -> Option<(Transfer, io::Result<usize>)> {
        let entry = self.ring.completion().next()?;
        let number =
            usize::try_from(entry.user_data()).expect("the kernel returns a number of `flights`");
        let (transfer, done) = self.flights.remove(number);
        let result = match usize::try_from(entry.result()) {
            Ok(0) if done < transfer.buffer.len() => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => Ok(done + count),
            Err(_) => Err(io::Error::from_raw_os_error(-entry.result())),
        };
        Some((transfer, result))
    }
}

impl Backend for Ring {
    fn submit(&mut self, transfer: Transfer) -> io::Result<()> {
        self.begin(transfer, 0)
    }

    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<(usize, Outcome)>> {
        loop {
            match self.ended() {
                // The kernel ended the transfer early, for example at a signal.
                Some((transfer, Ok(done))) if done < transfer.buffer.len() => {
                    self.begin(transfer, done)?;
                }
                Some((transfer, result)) => {
                    return Ok(Some((transfer.thread, result.map(|_| transfer.buffer))));
                }
                None if may_wait => self.enter(1)?,
                None => return Ok(None),
            }
        }
    }
}

impl Drop for Ring {
    /// Waits until the transfers in flight have ended: until then, the kernel may still write into
    /// the buffers.
    fn drop(&mut self) {
        while !self.flights.is_empty() {
            if self.ended().is_none() && self.enter(1).is_err() {
                // Leaks the buffers, because it is unknown when the kernel will finish.
                std::mem::forget(std::mem::take(&mut self.flights));
            }
        }
    }
}
