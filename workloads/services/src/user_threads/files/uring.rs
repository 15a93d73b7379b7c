//! Transfers by the kernel itself, through `io_uring`.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;

use io_uring::{IoUring, Probe, opcode, types};

use super::transfer::{Backend, Direction, Done, Outcome, Transfer};

/// Most places of a ring: what any kernel that has rings allows.
const MOST_ENTRIES: usize = 4096;

/// A ring, and the transfers on which the kernel works.
pub(super) struct Ring {
    ring: IoUring,
    /// By the number that the kernel knows a transfer by; `None` where none is under way.
    flights: Vec<Option<Flight>>,
}

/// The state of a transfer, which must stay as it is until the kernel is done with it.
struct Flight {
    thread: usize,
    buffer: Vec<u8>,
    /// Keeps the descriptor open: its number could be another file's otherwise.
    _file: Arc<File>,
}

impl Ring {
    /// A ring for so many transfers at a time.
    ///
    /// # Errors
    /// If the kernel has none for this process, or none that reads and writes.
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

    /// A number for one more transfer.
    fn vacancy(&mut self) -> usize {
        self.flights
            .iter()
            .position(Option::is_none)
            .unwrap_or_else(|| {
                self.flights.push(None);
                self.flights.len() - 1
            })
    }

    /// Submits the queued transfers to the kernel, and waits until so many have ended.
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
        // A longer buffer is transferred in several goes.
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
                "more transfers at a time than the ring has places",
            ));
        }
        // The kernel takes the rest of the entries with the next call; if it never does, waiting
        // for them is an error.
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
    /// The kernel may still write into buffers, so they cannot go before it has finished.
    fn drop(&mut self) {
        while self.flights.iter().any(Option::is_some) {
            if self.ended().is_none() && self.enter(1).is_err() {
                // It is not known when the kernel will be done: the buffers stay for good.
                std::mem::forget(std::mem::take(&mut self.flights));
            }
        }
    }
}
