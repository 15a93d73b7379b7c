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
    // Where jobs are private at first, there is another deque for that.
    #[allow(dead_code)]
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Deque, Injector, Steal};
    use manycore::{FrequencyMode, Machine, thread};

    /// What a step gave, of this deque or of the published one.
    #[derive(Debug, PartialEq, Eq)]
    enum Answer {
        Job(Option<u32>),
        Stolen(Option<u32>),
        Length(usize),
        IsEmpty(bool),
    }

    fn stolen<T>(steal: crossbeam_deque::Steal<T>) -> Option<T> {
        steal.success()
    }

    fn taken<T>(steal: Steal<T>) -> Option<T> {
        match steal {
            Steal::Success(job) => Some(job),
            Steal::Empty => None,
            Steal::Retry => panic!("nobody else is here"),
        }
    }

    #[test]
    fn a_deque_answers_as_the_published_one_does() {
        for (seed, is_fifo) in (0..200_u64).flat_map(|seed| [(seed, false), (seed, true)]) {
            let mut random = fastrand::Rng::with_seed(seed);
            let ours = if is_fifo { Deque::new_fifo() } else { Deque::new_lifo() };
            let theirs = if is_fifo {
                crossbeam_deque::Worker::new_fifo()
            } else {
                crossbeam_deque::Worker::new_lifo()
            };
            // Some runs push more than they take, so that the ring grows.
            let pushes = random.u32(3..8);
            for job in 0..500 {
                let step = random.u32(0..10);
                let (our, their) = if step < pushes {
                    ours.push(job);
                    theirs.push(job);
                    (Answer::Length(ours.len()), Answer::Length(theirs.len()))
                } else if step < 9 {
                    (Answer::Job(ours.pop()), Answer::Job(theirs.pop()))
                } else if step == 9 && random.bool() {
                    (Answer::IsEmpty(ours.is_empty()), Answer::IsEmpty(theirs.is_empty()))
                } else {
                    let our = taken(ours.stealer().steal());
                    (Answer::Stolen(our), Answer::Stolen(stolen(theirs.stealer().steal())))
                };
                assert_eq!(our, their, "seed {seed}, fifo {is_fifo}, step {job}");
            }
        }
    }

    #[test]
    fn a_queue_answers_as_the_published_one_does() {
        for seed in 0..100_u64 {
            let mut random = fastrand::Rng::with_seed(seed);
            let (ours, theirs) = (Injector::new(), crossbeam_deque::Injector::new());
            for job in 0..500 {
                if random.u32(0..5) < 3 {
                    ours.push(job);
                    theirs.push(job);
                } else {
                    assert_eq!(taken(ours.steal()), stolen(theirs.steal()), "seed {seed}");
                }
                assert_eq!((ours.len(), ours.is_empty()), (theirs.len(), theirs.is_empty()));
            }
        }
    }

    /// A machine on which steps of different cores fall between each other.
    fn machine(cores: usize) -> Machine {
        let mut machine = Machine::free(cores);
        machine.prices.hit = 1_000;
        machine.prices.transfer = [0, 20_000, 20_000, 20_000];
        machine.prices.occupancy = 0.5;
        machine
    }

    fn simulate<R: 'static>(cores: usize, seed: u64, main: impl FnOnce() -> R + 'static) -> R {
        manycore::run(&machine(cores), FrequencyMode::Fixed, seed, main).unwrap().result
    }

    #[test]
    fn every_job_is_taken_once_by_its_owner_or_one_of_the_thieves() {
        for (seed, is_fifo) in (0..20_u64).flat_map(|seed| [(seed, false), (seed, true)]) {
            let mut all = simulate(6, seed, move || {
                let deque = if is_fifo { Deque::new_fifo() } else { Deque::new_lifo() };
                let is_over = Arc::new(manycore::atomic::AtomicBool::new(false));
                let thief = |_| {
                    let (stealer, is_over) = (deque.stealer(), Arc::clone(&is_over));
                    thread::spawn(move || {
                        let mut jobs = Vec::new();
                        loop {
                            match stealer.steal() {
                                Steal::Success(job) => jobs.push(job),
                                Steal::Retry => {}
                                Steal::Empty if is_over.load(super::Ordering::Acquire) => {
                                    break jobs;
                                }
                                Steal::Empty => manycore::spin_loop(),
                            }
                            manycore::work(manycore::random() % 30_000);
                        }
                    })
                };
                let thieves: Vec<_> = (0..5).map(thief).collect();
                let mut jobs = Vec::new();
                for job in 0..1000 {
                    deque.push(job);
                    manycore::work(manycore::random() % 10_000);
                    if manycore::random() % 3 == 0 {
                        jobs.extend(deque.pop());
                    }
                }
                while let Some(job) = deque.pop() {
                    jobs.push(job);
                }
                is_over.store(true, super::Ordering::Release);
                let stolen: Vec<Vec<i32>> =
                    thieves.into_iter().map(|thief| thief.join().unwrap()).collect();
                assert!(stolen.iter().any(|jobs| !jobs.is_empty()));
                jobs.into_iter().chain(stolen.into_iter().flatten()).collect::<Vec<i32>>()
            });
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..1000), "seed {seed}, fifo {is_fifo}: {all:?}");
        }
    }

    #[test]
    fn every_job_from_outside_is_taken_once() {
        for seed in 0..20 {
            let mut all = simulate(6, seed, || {
                let queue = Arc::new(Injector::new());
                let put = |from: i32| {
                    let queue = Arc::clone(&queue);
                    thread::spawn(move || (0..200).for_each(|i| queue.push(from * 200 + i)))
                };
                let producers: Vec<_> = (0..3).map(put).collect();
                let take = |_| {
                    let queue = Arc::clone(&queue);
                    thread::spawn(move || {
                        let mut jobs = Vec::new();
                        while jobs.len() < 200 {
                            if let Steal::Success(job) = queue.steal() {
                                jobs.push(job);
                            }
                        }
                        jobs
                    })
                };
                let consumers: Vec<_> = (0..3).map(take).collect();
                producers.into_iter().for_each(|it| it.join().unwrap());
                consumers.into_iter().flat_map(|it| it.join().unwrap()).collect::<Vec<_>>()
            });
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..600), "seed {seed}: {all:?}");
        }
    }

    #[test]
    fn jobs_that_nobody_took_are_dropped() {
        let counted = Arc::new(());
        let (deque, queue) = (Deque::new_lifo(), Injector::new());
        for _ in 0..200 {
            deque.push(Arc::clone(&counted));
            queue.push(Arc::clone(&counted));
        }
        drop((deque.pop(), queue.steal()));
        assert_eq!(Arc::strong_count(&counted), 1 + 2 * 199);
        drop((deque, queue));
        assert_eq!(Arc::strong_count(&counted), 1);
    }
}
