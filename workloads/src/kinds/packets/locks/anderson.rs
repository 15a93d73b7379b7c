//! The array lock of Anderson (1990): a thread that comes draws a number and waits at the place of
//! that number. Each place is on a cache line of its own. A thread that leaves opens the next
//! place.
//!
//! There are at least as many places as threads, so no two threads wait at the same one. As tickets
//! are served in turn, `t` and `t + places` can only be out together with all tickets between them,
//! and those are more than there are threads.

use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use super::Lock;
use super::sync::{AtomicBool, AtomicUsize, Patience};

/// Places in a ring, of which at most one is open.
pub(in super::super) struct Anderson {
    next_ticket: CachePadded<AtomicUsize>,
    is_open: Box<[CachePadded<AtomicBool>]>,
}

// SAFETY: at first the place of ticket 0 is open and no other. A thread enters at its own open
// place, which it shuts, and opens the next when it leaves: so at most one place is open, and none
// while a thread is inside. Two threads never have the same place (file header), if no more threads
// use the lock than it was made for, which is the caller's promise to `new`. An open place cannot
// be a stale sight of an earlier round: see the orderings in `hold`.
unsafe impl Lock for Anderson {
    fn new(threads: usize) -> Self {
        // A power of two, so that the places go on in turn when the tickets wrap around.
        let places = threads.max(1).next_power_of_two();
        let is_open = (0..places).map(|place| CachePadded::new(AtomicBool::new(place == 0)));
        Self {
            next_ticket: CachePadded::new(AtomicUsize::new(0)),
            is_open: is_open.collect(),
        }
    }

    fn hold<R>(&self, section: impl FnOnce() -> R) -> R {
        // ORDERING: AcqRel. Since the ticket one round before ours, some thread has drawn twice,
        // and between the two it was inside, hence after the shutting of our place in that round.
        // Through the chain of drawings we see that, and cannot mistake the earlier opening for
        // ours.
        let ticket = self.next_ticket.fetch_add(1, AcqRel);
        let patience = Patience::new();
        // ORDERING: Acquire, pairs with the Release in `Held::drop`: we see what the holder before
        // us wrote inside.
        while !self.place(ticket).load(Acquire) {
            patience.wait();
        }
        let _held = Held::new(self, ticket);
        section()
    }

    fn try_hold<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        // ORDERING: Acquire, as the drawing in `hold`: the shutting in the round before is seen.
        let ticket = self.next_ticket.load(Acquire);
        // ORDERING: Acquire, as in the loop of `hold`.
        if !self.place(ticket).load(Acquire) {
            return None;
        }
        // The place was open and is the next drawer's. If that is still us, no thread came in
        // between. ORDERING: AcqRel as in `hold`; on failure nothing is read, so Relaxed.
        self.next_ticket
            .compare_exchange(ticket, ticket.wrapping_add(1), AcqRel, Relaxed)
            .ok()?;
        let _held = Held::new(self, ticket);
        Some(section())
    }
}

impl Anderson {
    fn place(&self, ticket: usize) -> &AtomicBool {
        &self.is_open[ticket & (self.is_open.len() - 1)]
    }
}

/// Lets go when it is dropped, by a panic too.
struct Held<'a> {
    lock: &'a Anderson,
    ticket: usize,
}

impl<'a> Held<'a> {
    /// Shuts the place for the round to come.
    fn new(lock: &'a Anderson, ticket: usize) -> Self {
        // Relaxed: the next thread at this place synchronises through the chain of drawings (see
        // `hold`).
        lock.place(ticket).store(false, Relaxed);
        Self { lock, ticket }
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with the Acquire of the thread that waits there: it sees what we
        // wrote inside.
        self.lock
            .place(self.ticket.wrapping_add(1))
            .store(true, Release);
    }
}

#[cfg(test)]
impl super::FirstComeFirstServed for Anderson {
    fn last_comer(&self) -> Option<usize> {
        // ORDERING: Acquire, so that the test which sees a thread come also knows it came after
        // those before.
        let last = self.next_ticket.load(Acquire);
        Some(last)
    }
}
