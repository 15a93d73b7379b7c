//! The rings that hold the jobs, and the word that says which jobs are shared.

use std::cell::Cell;
use std::ptr;

use crate::sync::modelled::{AtomicPtr, Ordering};

/// The number of bits of `public` below the tail.
pub(super) const TAIL_SHIFT: u32 = 24;

/// The most jobs that can be shared at a time: their number is in the lowest bits of `public`.
pub(super) const MOST_SHARED: u64 = CLAIM - 1;

/// The claim: the bit between the number of shared jobs and the tail. A thief sets this bit before
/// it exposes jobs.
const CLAIM: u64 = 1 << (TAIL_SHIFT - 1);

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Public(pub(super) u64);

impl Public {
    pub(super) fn count(self) -> u64 {
        self.0 & MOST_SHARED
    }

    /// Returns the tail as an index near `near`, because `public` has only the lower bits of the
    /// tail.
    #[allow(clippy::cast_possible_wrap, clippy::cast_sign_loss)]
    pub(super) fn tail(self, near: u64) -> u64 {
        let above = near.wrapping_sub(self.0 >> TAIL_SHIFT);
        // Sign-extend the lower bits of the difference.
        let above = (above << TAIL_SHIFT) as i64 >> TAIL_SHIFT;
        near.wrapping_sub(above as u64)
    }

    pub(super) fn split(self, near: u64) -> u64 {
        self.tail(near).wrapping_add(self.count())
    }

    /// Returns the value after a thread took the oldest shared job, which must exist.
    pub(super) fn without_oldest(self) -> Self {
        Self(self.0.wrapping_add(1 << TAIL_SHIFT) - 1)
    }

    /// Returns the value with a claim. The caller has seen that no job is shared.
    pub(super) fn claimed(self) -> Self {
        Self(self.0 | CLAIM)
    }

    pub(super) fn unclaimed_with(self, more: u64) -> Self {
        Self((self.0 & !CLAIM) + more)
    }
}

/// The words of one job, or of an earlier job that a thread has taken; null before the first job.
pub(super) struct Slot([AtomicPtr<()>; 2]);

pub(super) struct Ring {
    pub(super) slots: Box<[Slot]>,
    /// A list of the rings that were in use before, if thieves may still read them, or null. Only
    /// the owner uses this list.
    pub(super) outgrown: Cell<*mut Ring>,
    #[cfg(all(test, fork_loom))]
    pub(super) life: super::models::Life,
}

impl Ring {
    pub(super) fn leak(capacity: usize) -> *mut Self {
        Box::into_raw(Box::new(Self {
            slots: empty(capacity),
            outgrown: Cell::new(ptr::null_mut()),
            #[cfg(all(test, fork_loom))]
            life: super::models::Life::new(),
        }))
    }

    /// Frees a ring, and all rings in its list.
    ///
    /// # Safety
    ///
    /// The rings came from [`leak`](Self::leak), and no thread reads them any more.
    pub(super) unsafe fn free(mut ring: *mut Self) {
        while !ring.is_null() {
            // SAFETY: the caller upholds the contract of this function.
            let freed = unsafe { Box::from_raw(ring) };
            ring = freed.outgrown.get();
            // A model keeps the ring in memory, so that it can report a thread that still reads the
            // ring.
            #[cfg(all(test, fork_loom))]
            Box::leak(freed).life.end();
        }
    }

    /// Copies the slot at `index`, which may hold the job of that index, or of another one.
    ///
    /// # Safety
    ///
    /// The ring has not been freed.
    #[inline]
    pub(super) unsafe fn copy(ring: *const Self, index: u64) -> [*mut (); 2] {
        // SAFETY: the caller upholds the contract of this function.
        let ring = unsafe { &*ring };
        #[cfg(all(test, fork_loom))]
        ring.life.touch();
        ring.slot(index).read()
    }

    // The mask fits into a `usize`, so the cast of the index loses no bit that the mask keeps.
    #[allow(clippy::cast_possible_truncation)]
    #[inline]
    pub(super) fn slot(&self, index: u64) -> &Slot {
        &self.slots[index as usize & (self.slots.len() - 1)]
    }
}

/// Creates empty slots in zeroed memory from the allocator. No code writes a slot before its first
/// job, so only slots that have held jobs take pages.
#[cfg(not(fork_loom))]
fn empty(capacity: usize) -> Box<[Slot]> {
    const {
        assert!(size_of::<Slot>() == size_of::<[usize; 2]>());
        assert!(align_of::<Slot>() == align_of::<[usize; 2]>());
    }
    let zeros = vec![[0_usize; 2]; capacity].into_boxed_slice();
    // SAFETY: slots are pairs of pointers, with the size and alignment of pairs of `usize`. Zero is
    // the null pointer.
    unsafe { Box::from_raw(Box::into_raw(zeros) as *mut [Slot]) }
}

#[cfg(fork_loom)]
fn empty(capacity: usize) -> Box<[Slot]> {
    let null = || AtomicPtr::new(ptr::null_mut());
    (0..capacity).map(|_| Slot([null(), null()])).collect()
}

impl Slot {
    // Relaxed: `head` and `public` publish the contents of slots. A thief discards a copy that it
    // read while the owner wrote, because the tail has moved by then.
    #[inline]
    pub(super) fn write(&self, words: [*mut (); 2]) {
        self.0[0].store(words[0], Ordering::Relaxed);
        self.0[1].store(words[1], Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn read(&self) -> [*mut (); 2] {
        [
            self.0[0].load(Ordering::Relaxed),
            self.0[1].load(Ordering::Relaxed),
        ]
    }
}
