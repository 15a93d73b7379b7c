//! What is kept about one pool while it runs: who did what how often, and what each worker does.

use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crossbeam_utils::CachePadded;

use super::counts::{EventCounts, KINDS};
use super::occupancy::Occupancy;
use super::timeline::{Track, WorkerState};
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, cell_of_thread, current_cpu};

/// What is recorded of one pool.
pub(crate) struct Records {
    workers: Box<[CachePadded<Record>]>,
    outside: CachePadded<Record>,
}

/// What one worker did, or all threads outside of the pool together.
pub(super) struct Record {
    counts: [AtomicU64; KINDS],
    /// The worker's index and the places of all; `None` of those outside, of whom several write at
    /// once.
    worker: Option<(usize, Arc<Occupancy>)>,
    /// Somebody woke this worker, and it has had no job since. Its own affair, and only atomic
    /// because the record is shared.
    was_woken: AtomicBool,
    /// Without use outside. A lock, though only the worker itself takes it but when a timeline
    /// begins or ends: these moments must not miss a change of state.
    pub(super) track: Mutex<Track>,
}

cell_of_thread! {
    /// The record of what this thread does now, or null.
    static HERE: Cell<*const Record> = ptr::null();
}

impl Records {
    pub(crate) fn new(workers: usize) -> Self {
        let record = |worker| {
            CachePadded::new(Record {
                counts: [const { AtomicU64::new(0) }; KINDS],
                worker,
                was_woken: AtomicBool::new(false),
                track: Mutex::new(Track::new()),
            })
        };
        let places = Arc::new(Occupancy::new(workers));
        let worker = |index| record(Some((index, Arc::clone(&places))));
        Self {
            workers: (0..workers).map(worker).collect(),
            outside: record(None),
        }
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
        self.workers[index].say_where();
        Here::begin(ptr::from_ref(&*self.workers[index]))
    }

    /// What the calling thread does is done to this pool: from outside, unless it is one of the
    /// pool's workers.
    pub(crate) fn visit(&self) -> Here<'_> {
        let now = HERE.get();
        let is_own = self.workers.as_ptr_range().contains(&now.cast());
        Here::begin(if is_own {
            now
        } else {
            ptr::addr_of!(*self.outside)
        })
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
        let before = HERE.get();
        HERE.set(record);
        Self {
            before,
            records: PhantomData,
        }
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
    // SAFETY: the pointer is null, or was set by a `Here` that borrows the records it leads into
    // and takes it away when dropped; the one that an adopted thread leaks belongs to a pool that
    // is leaked too. The reference does not leave `body`.
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
        if self.worker.is_none() {
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
        EventCounts {
            kinds: std::array::from_fn(|kind| self.count(kind)),
        }
    }

    /// Notes whether somebody woke this worker; returns what was noted before.
    pub(super) fn set_woken(&self, was_woken: bool) -> bool {
        let before = self.was_woken.load(Ordering::Relaxed);
        self.was_woken.store(was_woken, Ordering::Relaxed);
        before
    }

    /// The calling worker says which CPU it is on. Of those outside nobody keeps it.
    pub(super) fn say_where(&self) {
        if let Some(((worker, places), cpu)) = self.worker.as_ref().zip(current_cpu()) {
            places.enter(*worker, cpu);
        }
    }

    /// Whether the worker is stacked where it last said it is: see [`Occupancy::is_stacked`].
    pub(super) fn is_stacked(&self) -> bool {
        self.worker
            .as_ref()
            .is_some_and(|(worker, places)| places.is_stacked(*worker))
    }

    /// The calling worker is about to be on no CPU.
    pub(super) fn leave_cpu(&self) {
        if let Some((worker, places)) = &self.worker {
            places.leave(*worker);
        }
    }

    /// The worker is in `state` from now on.
    pub(super) fn enter(&self, state: WorkerState) {
        self.track.lock().enter(state);
    }
}
