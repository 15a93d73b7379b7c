//! Counts what threads do, for each worker of a pool and for all other threads together.

use std::marker::PhantomData;
use std::ptr;

use crossbeam_utils::CachePadded;

use super::{Event, Word};
use crate::sync::{AtomicBool, AtomicU64, Ordering, cell_of_thread};

/// The kinds of accesses to one word, by number.
const LOADS: usize = 0;
const RMWS: usize = 1;
const CAS_FAILURES: usize = 2;

/// The number of kinds of accesses to a word.
pub(crate) const ACCESSES: usize = 3;

/// The number of kinds of events: first the scheduler's, then each word's accesses.
pub(crate) const KINDS: usize = Event::NAMES.len() + Word::ALL.len() * ACCESSES;

/// Returns the number of the event "`access` to `word`".
const fn kind_of_access(word: Word, access: usize) -> usize {
    Event::NAMES.len() + word as usize * ACCESSES + access
}

/// Counts `event` for the calling thread.
#[inline]
pub(crate) fn count(event: Event) {
    with_record(|record| record.add_one(event as usize));
}

/// Counts `event` for the calling thread if it happened.
#[inline]
pub(crate) fn count_if(happened: bool, event: Event) {
    if happened {
        count(event);
    }
}

/// The calling thread loaded that word.
#[inline]
pub(crate) fn loaded(word: Word) {
    with_record(|record| record.add_one(kind_of_access(word, LOADS)));
}

/// The calling thread added to that word or subtracted from it.
#[inline]
pub(crate) fn changed(word: Word) {
    with_record(|record| record.add_one(kind_of_access(word, RMWS)));
}

/// The calling thread tried to exchange the value of that word.
#[inline]
pub(crate) fn tried_to_exchange(word: Word, succeeded: bool) {
    with_record(|record| {
        record.add_one(kind_of_access(word, RMWS));
        if !succeeded {
            record.add_one(kind_of_access(word, CAS_FAILURES));
        }
    });
}

/// The calling worker has work again.
#[inline]
pub(crate) fn end_search() {
    with_record(|record| _ = record.set_woken(false));
}

/// The calling worker became sleepy.
#[inline]
pub(crate) fn become_sleepy() {
    with_record(|record| {
        if record.set_woken(false) {
            record.add_one(Event::SpuriousWake as usize);
        }
    });
}

/// The calling worker was woken, perhaps before it had blocked.
#[inline]
pub(crate) fn claimed() {
    with_record(|record| _ = record.set_woken(true));
}

/// The counts of one pool.
pub(crate) struct Records {
    workers: Box<[CachePadded<Record>]>,
    outside: CachePadded<Record>,
}

/// The counts of one worker, or of all external threads together.
pub(crate) struct Record {
    counts: [AtomicU64; KINDS],
    /// Whether this is the record of a worker, which only that worker writes. Several external
    /// threads write their common record at once.
    is_of_worker: bool,
    /// Whether a thread woke this worker, and it has had no job since. Only the worker itself uses
    /// this; it is atomic only because the record is shared.
    was_woken: AtomicBool,
}

cell_of_thread! {
    /// The record to which this thread counts now, or null.
    static HERE: Cell<*const Record> = ptr::null();
}

impl Records {
    pub(crate) fn new(workers: usize) -> Self {
        let record = |is_of_worker| {
            CachePadded::new(Record {
                counts: [const { AtomicU64::new(0) }; KINDS],
                is_of_worker,
                was_woken: AtomicBool::new(false),
            })
        };
        Self {
            workers: (0..workers).map(|_| record(true)).collect(),
            outside: record(false),
        }
    }

    /// By worker.
    pub(crate) fn workers(&self) -> impl ExactSizeIterator<Item = &Record> {
        self.workers.iter().map(|record| &**record)
    }

    pub(crate) fn outside(&self) -> &Record {
        &self.outside
    }

    /// Counts the calling thread's events as those of this pool's worker `index`.
    pub(crate) fn occupy(&self, index: usize) -> Here<'_> {
        Here::begin(ptr::from_ref(&*self.workers[index]))
    }

    /// Counts the calling thread's events for this pool: as those of an external thread, unless it
    /// is one of the pool's workers.
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

/// Says to which record the calling thread's events belong, until it is dropped.
///
/// It is never leaked, unless the records are never freed: [`with_record`] relies on it.
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

/// Calls `body` with the record to which this thread counts now. A thread that has nothing to do
/// with any pool has no record.
#[inline]
fn with_record(body: impl FnOnce(&Record)) {
    // SAFETY: the pointer is null, or was set by a `Here`. That borrows the records into which the
    // pointer leads, and removes it when dropped. The `Here` that an adopted thread leaks belongs
    // to a pool that is leaked too. The reference does not leave `body`.
    if let Some(record) = unsafe { HERE.get().as_ref() } {
        body(record);
    }
}

impl Record {
    /// Adds one to the count of kind `kind`.
    // Relaxed, as all counts: no thread acts on them.
    #[inline]
    fn add_one(&self, kind: usize) {
        let count = &self.counts[kind];
        if self.is_of_worker {
            // Not in one step, because no other thread writes.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Returns the count of kind `kind` so far.
    fn count(&self, kind: usize) -> u64 {
        self.counts[kind].load(Ordering::Relaxed)
    }

    /// Returns all counts, each of some moment during the call.
    pub(crate) fn counts(&self) -> [u64; KINDS] {
        std::array::from_fn(|kind| self.count(kind))
    }

    /// Stores whether a thread woke this worker, and returns the former value.
    fn set_woken(&self, was_woken: bool) -> bool {
        let before = self.was_woken.load(Ordering::Relaxed);
        self.was_woken.store(was_woken, Ordering::Relaxed);
        before
    }
}
