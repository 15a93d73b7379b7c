//! A work-stealing deque and a queue for threads outside, on a simulated machine.
//!
//! They answer as those of `crossbeam-deque` 0.8 do, and make the accesses that their documentation and the
//! literature describe, so that each is priced:
//!
//! * The deque is that of D. Chase and Y. Lev ("Dynamic circular work-stealing deque", SPAA 2005) with the orderings of
//!   N. M. Lê et al. ("Correct and efficient work-stealing for weak memory models", PPoPP 2013). Its two ends share a
//!   line of their own, and a thief enters an epoch first: a store and a fence on a line of its own, and a look at the
//!   global epoch.
//! * The queue is a list of blocks of slots with an index at each end, each index on a line of its own.
//!
//! What is left out: a deque never shrinks, and epochs do not advance.
//!
//! All cores are one thread of the host, so what is not an atomic here needs no protection of its own: nothing else
//! runs between two accesses to atomics.

use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use crossbeam_utils::CachePadded;
use manycore::atomic::{AtomicIsize, AtomicPtr, AtomicUsize, Ordering, fence};

/// Jobs for which a deque has room at first.
const FIRST_CAPACITY: usize = 64;

/// Slots of a block.
const BLOCK: usize = 63;

/// What came of an attempt to take a job from somebody else.
pub(crate) enum Steal<T> {
    /// There was none.
    Empty,
    /// This one.
    Success(T),
    /// Others were there at the same time; ask again.
    Retry,
}

/// A ring of slots.
struct Buffer<T> {
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
}

impl<T> Buffer<T> {
    fn new(capacity: usize) -> Self {
        Self { slots: (0..capacity).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect() }
    }

    #[track_caller]
    fn slot(&self, index: isize, is_written: bool) -> *mut MaybeUninit<T> {
        // The capacity is a power of two, so that indices may wrap around.
        #[allow(clippy::cast_sign_loss)]
        let slot = self.slots[index as usize & (self.slots.len() - 1)].get();
        manycore::touch(slot as usize, size_of::<T>(), is_written);
        slot
    }
}

/// The two ends, which share a line, and the ring.
struct Inner<T> {
    front: AtomicIsize,
    back: AtomicIsize,
    buffer: CachePadded<AtomicPtr<Buffer<T>>>,
    /// Rings that were too small: a thief may still read one.
    outgrown: UnsafeCell<Vec<*mut Buffer<T>>>,
}

// SAFETY: jobs go from one thread to another, never to two. The rest is atomics, and the list of outgrown rings, which
// the owner alone touches.
unsafe impl<T: Send> Send for Inner<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Inner<T> {}

impl<T> Drop for Inner<T> {
    fn drop(&mut self) {
        let (front, back) = (*self.front.get_mut(), *self.back.get_mut());
        // SAFETY: nobody else has the deque any more. Between its ends there are jobs; the rings came from boxes.
        unsafe {
            let buffer = Box::from_raw(*self.buffer.get_mut());
            for index in front..back {
                buffer.slot(index, false).read().assume_init_drop();
            }
            for outgrown in self.outgrown.get_mut().drain(..) {
                drop(Box::from_raw(outgrown));
            }
        }
    }
}

/// The owner's end.
pub(crate) struct Deque<T> {
    inner: Arc<CachePadded<Inner<T>>>,
    /// The owner's copy of the ring's place.
    buffer: Cell<*mut Buffer<T>>,
    is_fifo: bool,
}

// SAFETY: it is moved to its owner's thread before it is used.
unsafe impl<T: Send> Send for Deque<T> {}

/// The thieves' end.
pub(crate) struct Stealer<T> {
    inner: Arc<CachePadded<Inner<T>>>,
}

impl<T> Deque<T> {
    fn new(is_fifo: bool) -> Self {
        let buffer = Box::into_raw(Box::new(Buffer::new(FIRST_CAPACITY)));
        let inner = Inner {
            front: AtomicIsize::new(0),
            back: AtomicIsize::new(0),
            buffer: CachePadded::new(AtomicPtr::new(buffer)),
            outgrown: UnsafeCell::default(),
        };
        Self { inner: Arc::new(CachePadded::new(inner)), buffer: Cell::new(buffer), is_fifo }
    }

    /// A deque whose owner takes the newest job first.
    pub(crate) fn new_lifo() -> Self {
        Self::new(false)
    }

    /// A deque whose owner takes the oldest job first.
    pub(crate) fn new_fifo() -> Self {
        Self::new(true)
    }

    /// An end for thieves.
    pub(crate) fn stealer(&self) -> Stealer<T> {
        Stealer { inner: Arc::clone(&self.inner) }
    }

    /// Puts a job in.
    #[track_caller]
    pub(crate) fn push(&self, job: T) {
        let back = self.inner.back.load(Ordering::Relaxed);
        let front = self.inner.front.load(Ordering::Acquire);
        // SAFETY: the owner's copy is the ring in use.
        let mut buffer = unsafe { &*self.buffer.get() };
        if back - front >= isize::try_from(buffer.slots.len()).expect("a ring fits the memory") {
            self.grow(front, back);
            // SAFETY: as above.
            buffer = unsafe { &*self.buffer.get() };
        }
        // SAFETY: the slot is free: the ring has room, and thieves take what lies before the back.
        unsafe { buffer.slot(back, true).write(MaybeUninit::new(job)) };
        self.inner.back.store(back + 1, Ordering::Release);
    }

    fn grow(&self, front: isize, back: isize) {
        let old = self.buffer.get();
        // SAFETY: the owner's copy is the ring in use, and only the owner replaces it.
        let new = unsafe {
            let new = Buffer::new(2 * (&(*old).slots).len());
            for index in front..back {
                new.slot(index, true).write((*old).slot(index, false).read());
            }
            Box::into_raw(Box::new(new))
        };
        self.buffer.set(new);
        self.inner.buffer.store(new, Ordering::Release);
        // SAFETY: the owner alone touches the list.
        unsafe { (*self.inner.outgrown.get()).push(old) };
    }

    /// Takes a job from the owner's end.
    #[track_caller]
    pub(crate) fn pop(&self) -> Option<T> {
        let back = self.inner.back.load(Ordering::Relaxed);
        let front = self.inner.front.load(Ordering::Relaxed);
        if back - front <= 0 {
            return None;
        }
        if self.is_fifo { self.pop_oldest() } else { self.pop_newest(back - 1) }
    }

    #[track_caller]
    fn pop_oldest(&self) -> Option<T> {
        let front = self.inner.front.fetch_add(1, Ordering::SeqCst);
        let back = self.inner.back.load(Ordering::Relaxed);
        if back - front <= 0 {
            self.inner.front.store(front, Ordering::Relaxed);
            return None;
        }
        // SAFETY: the step of the front made the job ours.
        Some(unsafe { (*self.buffer.get()).slot(front, false).read().assume_init() })
    }

    #[track_caller]
    fn pop_newest(&self, back: isize) -> Option<T> {
        self.inner.back.store(back, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let front = self.inner.front.load(Ordering::Relaxed);
        if back < front {
            self.inner.back.store(back + 1, Ordering::Relaxed);
            return None;
        }
        // SAFETY: the slot was written. If a thief has taken this last job, the copy is not looked at.
        let job = unsafe { (*self.buffer.get()).slot(back, false).read() };
        if back == front {
            let is_ours = self.step_front(front);
            self.inner.back.store(back + 1, Ordering::Relaxed);
            if !is_ours {
                return None;
            }
        }
        // SAFETY: the job is ours: thieves see the new back, or the step of the front was ours.
        Some(unsafe { job.assume_init() })
    }

    #[track_caller]
    fn step_front(&self, front: isize) -> bool {
        self.inner
            .front
            .compare_exchange(front, front + 1, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }

    /// Whether no job is in it.
    #[track_caller]
    pub(crate) fn is_empty(&self) -> bool {
        let back = self.inner.back.load(Ordering::Relaxed);
        let front = self.inner.front.load(Ordering::SeqCst);
        back - front <= 0
    }

    /// How many jobs are in it.
    pub(crate) fn len(&self) -> usize {
        self.inner.len()
    }
}

impl<T> Inner<T> {
    fn len(&self) -> usize {
        let back = self.back.load(Ordering::Relaxed);
        let front = self.front.load(Ordering::Relaxed);
        usize::try_from(back - front).unwrap_or(0)
    }
}

/// A thread's part in epochs: a line of its own.
fn enter_epoch() {
    static GLOBAL_EPOCH: CachePadded<AtomicUsize> = CachePadded::new(AtomicUsize::new(0));
    manycore::core_local!(
        static EPOCH: CachePadded<AtomicUsize> = CachePadded::new(AtomicUsize::new(0))
    );
    let epoch = GLOBAL_EPOCH.load(Ordering::Relaxed);
    EPOCH.with(|own| own.store(epoch, Ordering::Relaxed));
    fence(Ordering::SeqCst);
}

impl<T> Stealer<T> {
    /// Takes the oldest job.
    #[track_caller]
    pub(crate) fn steal(&self) -> Steal<T> {
        let front = self.inner.front.load(Ordering::Acquire);
        enter_epoch();
        let back = self.inner.back.load(Ordering::Acquire);
        if back - front <= 0 {
            return Steal::Empty;
        }
        let buffer = self.inner.buffer.load(Ordering::Acquire);
        // SAFETY: rings stay until the deque ends. What is read here is looked at only if the front is still the
        // same, and as long as it is, its slot is not written again: the ring counts as full from the front.
        let job = unsafe { (*buffer).slot(front, false).read() };
        let stepped = self.inner.front.compare_exchange(
            front,
            front + 1,
            Ordering::SeqCst,
            Ordering::Relaxed,
        );
        match stepped {
            // SAFETY: the step of the front made the job ours.
            Ok(_) => Steal::Success(unsafe { job.assume_init() }),
            Err(_) => Steal::Retry,
        }
    }

    /// Whether no job is in it.
    #[track_caller]
    pub(crate) fn is_empty(&self) -> bool {
        let front = self.inner.front.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        let back = self.inner.back.load(Ordering::Acquire);
        back - front <= 0
    }

    /// How many jobs are in it.
    pub(crate) fn len(&self) -> usize {
        self.inner.len()
    }
}

/// One place of a block.
struct Slot<T> {
    job: UnsafeCell<MaybeUninit<T>>,
    /// 1 once the job is there.
    state: AtomicUsize,
}

/// A queue into which any thread puts jobs and from which any takes them, oldest first.
pub(crate) struct Injector<T> {
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    /// Kept until the queue ends: those that were used up cost memory of the host alone.
    blocks: UnsafeCell<Vec<Box<Block<T>>>>,
}

/// Begins a line, so that which slots share one does not depend on the host.
#[repr(align(128))]
struct Block<T>([Slot<T>; BLOCK]);

// SAFETY: jobs go from one thread to another. The blocks are touched between two accesses to atomics only.
unsafe impl<T: Send> Send for Injector<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Injector<T> {}

impl<T> Injector<T> {
    /// An empty queue.
    pub(crate) fn new() -> Self {
        Self {
            head: CachePadded::new(AtomicUsize::new(0)),
            tail: CachePadded::new(AtomicUsize::new(0)),
            blocks: UnsafeCell::new(Vec::new()),
        }
    }

    /// The slot `index`, which is between the ends, or the next behind them.
    fn slot(&self, index: usize) -> *const Slot<T> {
        // The host's own doing: a list of blocks is not what is simulated, and nobody else comes here meanwhile.
        manycore::on_host(|| {
            // SAFETY: as said above.
            let blocks = unsafe { &mut *self.blocks.get() };
            while index / BLOCK >= blocks.len() {
                blocks.push(Box::new(Block(std::array::from_fn(|_| Slot {
                    job: UnsafeCell::new(MaybeUninit::uninit()),
                    state: AtomicUsize::new(0),
                }))));
            }
            ptr::addr_of!(blocks[index / BLOCK].0[index % BLOCK])
        })
    }

    /// Puts a job in.
    #[track_caller]
    pub(crate) fn push(&self, job: T) {
        let mut tail = self.tail.load(Ordering::Acquire);
        while let Err(now) =
            self.tail.compare_exchange_weak(tail, tail + 1, Ordering::SeqCst, Ordering::Acquire)
        {
            tail = now;
            manycore::spin_loop();
        }
        // SAFETY: the step of the tail made the slot ours, and its block stays until the job was taken.
        unsafe {
            let slot = self.slot(tail);
            manycore::touch((*slot).job.get() as usize, size_of::<T>(), true);
            (*slot).job.get().write(MaybeUninit::new(job));
            (*slot).state.fetch_or(1, Ordering::Release);
        }
    }

    /// Takes the oldest job.
    #[track_caller]
    pub(crate) fn steal(&self) -> Steal<T> {
        let head = self.head.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        if head == self.tail.load(Ordering::Relaxed) {
            return Steal::Empty;
        }
        let stepped =
            self.head.compare_exchange_weak(head, head + 1, Ordering::SeqCst, Ordering::Acquire);
        if stepped.is_err() {
            return Steal::Retry;
        }
        // SAFETY: the step of the head made the job ours; its block stays until we have taken it.
        unsafe {
            let slot = self.slot(head);
            while (*slot).state.load(Ordering::Acquire) == 0 {
                manycore::spin_loop();
            }
            manycore::touch((*slot).job.get() as usize, size_of::<T>(), false);
            Steal::Success(ptr::read((*slot).job.get()).assume_init())
        }
    }

    /// Whether no job is in it.
    #[track_caller]
    pub(crate) fn is_empty(&self) -> bool {
        let head = self.head.load(Ordering::SeqCst);
        head == self.tail.load(Ordering::SeqCst)
    }

    /// How many jobs are in it.
    pub(crate) fn len(&self) -> usize {
        self.tail.load(Ordering::SeqCst) - self.head.load(Ordering::SeqCst)
    }
}

impl<T> Drop for Injector<T> {
    fn drop(&mut self) {
        for index in *self.head.get_mut()..*self.tail.get_mut() {
            let slot = self.slot(index);
            // SAFETY: nobody else has the queue any more; between its ends there are jobs.
            unsafe { (*(*slot).job.get()).assume_init_drop() };
        }
    }
}
