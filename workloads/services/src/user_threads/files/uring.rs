//! Transfers by the kernel itself, through `io_uring`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::{IoUring, Probe, opcode, types};

use super::transfer::{Backend, Direction, Done, Outcome, Transfer};

/// The most entries of a ring: a size that every kernel with `io_uring` allows.
const MOST_ENTRIES: usize = 4096;

/// A ring, and the transfers in flight.
pub(super) struct Ring {
    ring: IoUring,
    /// Transfers by the number that identifies them to the kernel; `None` for free numbers.
    flights: Vec<Option<Flight>>,
}

/// The state of a transfer, which must not change until the kernel has finished the transfer.
struct Flight {
    thread: usize,
    buffer: Vec<u8>,
    /// Keeps the descriptor open: its number could be another file's otherwise.
    _file: Arc<File>,
}

impl Ring {
    /// Creates a ring for this many simultaneous transfers.
    ///
    /// # Errors
    /// If the kernel does not allow `io_uring` to this process, or its version cannot read and
    /// write.
    pub(super) fn new(transfers: usize) -> io::Result<Self> {
        let entries = transfers.clamp(1, MOST_ENTRIES).next_power_of_two();
        let ring = IoUring::new(u32::try_from(entries).expect("few"))?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        if [opcode::Read::CODE, opcode::Write::CODE]
            .iter()
            .all(|code| probe.is_supported(*code))
        {
            Ok(Self {
                ring,
                flights: Vec::new(),
            })
        } else {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "this io_uring cannot read and write",
            ))
        }
    }

    /// Returns a free number for one more transfer.
    fn vacancy(&mut self) -> usize {
        self.flights
            .iter()
            .position(Option::is_none)
            .unwrap_or_else(|| {
                self.flights.push(None);
                self.flights.len() - 1
            })
    }

    /// Submits the queued transfers to the kernel, and waits until this many have ended.
    fn enter(&self, ended: usize) -> io::Result<()> {
        loop {
            match self.ring.submit_and_wait(ended) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome.map(drop),
            }
        }
    }

    fn ended(&mut self) -> Option<Done> {
        let entry = self.ring.completion().next()?;
        let number = usize::try_from(entry.user_data()).expect("a number that we gave");
        let Flight { thread, buffer, .. } =
            self.flights[number].take().expect("a transfer ends once");
        let result = usize::try_from(entry.result())
            .map_err(|_| io::Error::from_raw_os_error(-entry.result()));
        Some(Done {
            thread,
            outcome: Outcome { result, buffer },
        })
    }
}

impl Backend for Ring {
    fn submit(&mut self, thread: usize, transfer: Transfer) -> io::Result<()> {
        let Transfer {
            direction,
            file,
            mut buffer,
            offset,
        } = transfer;
        let number = self.vacancy();
        let descriptor = types::Fd(file.as_raw_fd());
        // A longer buffer needs several transfers.
        let length = u32::try_from(buffer.len()).unwrap_or(u32::MAX);
        let entry = match direction {
            Direction::Read => opcode::Read::new(descriptor, buffer.as_mut_ptr(), length)
                .offset(offset)
                .build(),
            Direction::Write => opcode::Write::new(descriptor, buffer.as_ptr(), length)
                .offset(offset)
                .build(),
        };
        self.flights[number] = Some(Flight {
            thread,
            buffer,
            _file: file,
        });
        let entry = entry.user_data(number as u64);
        // SAFETY: buffer and file are owned by `flights[number]`, which no code touches before the
        // kernel has reported the end of this transfer: `ended` takes it out then, and `drop`
        // waits. Moving the flight moves neither the file nor the buffer's bytes, which are on the
        // heap.
        let pushed = unsafe { self.ring.submission().push(&entry) };
        if pushed.is_err() {
            self.flights[number] = None;
            return Err(io::Error::other(
                "more simultaneous transfers than the ring has entries",
            ));
        }
        // The kernel takes the remaining entries with the next call. If it never takes them,
        // waiting for them is an error.
        let _ = self.enter(0);
        Ok(())
    }

    fn next_done(&mut self, may_wait: bool) -> io::Result<Option<Done>> {
        if let Some(done) = self.ended() {
            return Ok(Some(done));
        }
        if may_wait {
            self.enter(1)?;
        }
        Ok(self.ended())
    }
}

impl Drop for Ring {
    /// The kernel may still write into buffers, so they must live until it has finished.
    fn drop(&mut self) {
        while self.flights.iter().any(Option::is_some) {
            if self.ended().is_none() && self.enter(1).is_err() {
                // It is unknown when the kernel will finish, so the buffers are leaked.
                std::mem::forget(std::mem::take(&mut self.flights));
            }
        }
    }
}
