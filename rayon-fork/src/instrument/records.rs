//! What is kept about one pool while it runs: who did what how often, and what each worker does.

use std::cell::Cell;
use std::marker::PhantomData;
use std::ptr;

use crossbeam_utils::CachePadded;

use super::counts::{EventCounts, KINDS};
use super::timeline::{Track, WorkerState};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering};

/// What is recorded of one pool.
pub(crate) struct Records {
    workers: Box<[CachePadded<Record>]>,
    outside: CachePadded<Record>,
}

/// What one worker did, or all threads outside of the pool together.
pub(super) struct Record {
    counts: [AtomicU64; KINDS],
    /// Several threads write at once: those outside.
    is_shared: bool,
    /// Somebody woke this worker, and it has had no job since. Its own affair, and only atomic
    /// because the record is shared.
    was_woken: AtomicBool,
    /// Without use outside. A lock, though only the worker itself takes it but when a timeline
    /// begins or ends: these moments must not miss a change of state.
    pub(super) track: Mutex<Track>,
}

thread_local! {
    /// The record of what this thread does now, or null.
    static HERE: Cell<*const Record> = const { Cell::new(ptr::null()) };
}

impl Records {
    pub(crate) fn new(workers: usize) -> Self {
        let record = |is_shared| {
            CachePadded::new(Record {
                counts: [const { AtomicU64::new(0) }; KINDS],
                is_shared,
                was_woken: AtomicBool::new(false),
                track: Mutex::new(Track::new()),
            })
        };
        Self { workers: (0..workers).map(|_| record(false)).collect(), outside: record(true) }
    }

    /// By worker.
    pub(super) fn workers(&self) -> impl ExactSizeIterator<Item = &Record> {
        self.workers.iter().map(|record| &**record)
    }

    pub(super) fn outside(&self) -> &Record {
        &self.outside
    }

    /// What the calling thread does is the doing of this pool's worker `index`.
    pub(crate) fn occupy(&self, index: usize) -> Here<'_> {
        Here::begin(ptr::from_ref(&*self.workers[index]))
    }

    /// What the calling thread does is done to this pool: from outside, unless it is one of the
    /// pool's workers.
    pub(crate) fn visit(&self) -> Here<'_> {
        let now = HERE.get();
        let is_own = self.workers.as_ptr_range().contains(&now.cast());
        Here::begin(if is_own { now } else { ptr::addr_of!(*self.outside) })
    }
}

/// Says to whom the calling thread's doings are ascribed, until it is dropped.
///
/// Never leaked, unless the records are never freed: [`with_record`] relies on it.
pub(crate) struct Here<'r> {
    before: *const Record,
    records: PhantomData<&'r Records>,
}

impl Here<'_> {
    fn begin(record: *const Record) -> Self {
        Self { before: HERE.replace(record), records: PhantomData }
    }
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        HERE.set(self.before);
    }
}

/// Calls `body` with the record of what this thread does now. A thread that has nothing to do with
/// any pool has none.
#[inline]
pub(super) fn with_record(body: impl FnOnce(&Record)) {
    // SAFETY: the pointer is null, or was set by a `Here` that borrows the records it leads into and
    // takes it away when dropped; the one that an adopted thread leaks belongs to a pool that is
    // leaked too. The reference does not leave `body`.
    if let Some(record) = unsafe { HERE.get().as_ref() } {
        body(record);
    }
}

impl Record {
    /// One more of kind `kind`.
    // Relaxed, as all that is recorded: nobody acts on it.
    #[inline]
    pub(super) fn add_one(&self, kind: usize) {
        let count = &self.counts[kind];
        if self.is_shared {
            count.fetch_add(1, Ordering::Relaxed);
        } else {
            // Not in one step: nobody else writes.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
    }

    /// How many of kind `kind` so far.
    pub(super) fn count(&self, kind: usize) -> u64 {
        self.counts[kind].load(Ordering::Relaxed)
    }

    /// All counts, each of some moment during the call.
    pub(super) fn counts(&self) -> EventCounts {
        EventCounts { kinds: std::array::from_fn(|kind| self.count(kind)) }
    }

    /// Notes whether somebody woke this worker; returns what was noted before.
    pub(super) fn set_woken(&self, was_woken: bool) -> bool {
        let before = self.was_woken.load(Ordering::Relaxed);
        self.was_woken.store(was_woken, Ordering::Relaxed);
        before
    }

    /// The worker is in `state` from now on.
    pub(super) fn enter(&self, state: WorkerState) {
        self.track.lock().enter(state);
    }
}
