//! Counts what threads do, for each worker of a pool and for all other threads together.

use std::marker::PhantomData;
use std::ptr;

use crossbeam_utils::CachePadded;

use super::{Event, Word};
use crate::sync::{AtomicBool, AtomicU64, Ordering, cell_of_thread};

const LOADS: usize = 0;
const RMWS: usize = 1;
const CAS_FAILURES: usize = 2;

pub(crate) const ACCESSES: usize = 3;

pub(crate) const KINDS: usize = Event::NAMES.len() + Word::ALL.len() * ACCESSES;

const fn kind_of_access(word: Word, access: usize) -> usize {
    Event::NAMES.len() + word as usize * ACCESSES + access
}

#[inline]
pub(crate) fn count(event: Event) {
    with_record(|record| record.add_one(event as usize));
}

#[inline]
pub(crate) fn count_if(happened: bool, event: Event) {
    if happened {
        count(event);
    }
}

#[inline]
pub(crate) fn loaded(word: Word) {
    with_record(|record| record.add_one(kind_of_access(word, LOADS)));
}

#[inline]
pub(crate) fn changed(word: Word) {
    with_record(|record| record.add_one(kind_of_access(word, RMWS)));
}

#[inline]
pub(crate) fn tried_to_exchange(word: Word, succeeded: bool) {
    with_record(|record| {
        record.add_one(kind_of_access(word, RMWS));
        if !succeeded {
            record.add_one(kind_of_access(word, CAS_FAILURES));
        }
    });
}

#[inline]
pub(crate) fn end_search() {
    with_record(|record| _ = record.set_woken(false));
}

#[inline]
pub(crate) fn become_sleepy() {
    with_record(|record| {
        if record.set_woken(false) {
            record.add_one(Event::SpuriousWake as usize);
        }
    });
}

/// Call this when another thread has woken the calling worker, perhaps before the worker blocked.
#[inline]
pub(crate) fn claimed() {
    with_record(|record| _ = record.set_woken(true));
}

pub(crate) struct Records {
    workers: Box<[CachePadded<Record>]>,
    outside: CachePadded<Record>,
}

pub(crate) struct Record {
    counts: [AtomicU64; KINDS],
    /// Whether only one thread, a worker, writes the record.
    is_of_worker: bool,
    /// Whether a thread woke this worker, and the worker has neither ended its search nor become
    /// sleepy since. Only the worker itself accesses this flag.
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

    pub(crate) fn workers(&self) -> impl ExactSizeIterator<Item = &Record> {
        self.workers.iter().map(|record| &**record)
    }

    pub(crate) fn outside(&self) -> &Record {
        &self.outside
    }

    pub(crate) fn occupy(&self, index: usize) -> Here<'_> {
        Here::begin(ptr::from_ref(&*self.workers[index]))
    }

    /// Counts the calling thread's events for this pool. A thread that is not one of the pool's
    /// workers counts as an external thread.
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

/// Until this value is dropped, the thread that created it counts its events to one record. A
/// `Here` may be leaked only if the records are never freed.
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

#[inline]
fn with_record(body: impl FnOnce(&Record)) {
    // SAFETY: the pointer is null, or a `Here` has set it. A `Here` borrows the records into which
    // the pointer leads, and its drop removes the pointer. An adopted thread leaks its `Here`, and
    // its pool is leaked too. The reference does not leave `body`.
    if let Some(record) = unsafe { HERE.get().as_ref() } {
        body(record);
    }
}

impl Record {
    /// The accesses are relaxed, because no thread acts on counts.
    #[inline]
    fn add_one(&self, kind: usize) {
        let count = &self.counts[kind];
        if self.is_of_worker {
            // No other thread writes this record.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn count(&self, kind: usize) -> u64 {
        self.counts[kind].load(Ordering::Relaxed)
    }

    pub(crate) fn counts(&self) -> [u64; KINDS] {
        std::array::from_fn(|kind| self.count(kind))
    }

    fn set_woken(&self, was_woken: bool) -> bool {
        let before = self.was_woken.load(Ordering::Relaxed);
        self.was_woken.store(was_woken, Ordering::Relaxed);
        before
    }
}
