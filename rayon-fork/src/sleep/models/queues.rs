//! A deque and an injector that loom can see into, with the orderings of crossbeam-deque 0.8. Slots
//! need no storage: the jobs are known beforehand, and pushing the n-th job makes it visible. The
//! owner's pop is left out, because an owner that comes back would rescue a lost job.

use crate::sync::modelled::{AtomicUsize, Ordering, fence};

pub(super) struct Deque<J> {
    front: AtomicUsize,
    back: AtomicUsize,
    jobs: Vec<J>,
}

impl<J: Copy> Deque<J> {
    pub(super) fn new(jobs: Vec<J>) -> Self {
        Self {
            front: AtomicUsize::new(0),
            back: AtomicUsize::new(0),
            jobs,
        }
    }

    /// Returns whether no job is ever pushed. Searching an unused deque would only add states.
    pub(super) fn is_unused(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn job(&self, number: usize) -> J {
        self.jobs[number]
    }

    pub(super) fn is_empty(&self) -> bool {
        let back = self.back.load(Ordering::Relaxed);
        // ORDERING: SeqCst, as crossbeam-deque does.
        self.front.load(Ordering::SeqCst) >= back
    }

    pub(super) fn push(&self) {
        let back = self.back.load(Ordering::Relaxed);
        // ORDERING: as crossbeam-deque does. Nothing orders the store before the owner's next
        // loads. The models examine what follows from this missing order.
        let _front = self.front.load(Ordering::Acquire);
        fence(Ordering::Release);
        self.back.store(back + 1, Ordering::Relaxed);
    }

    pub(super) fn looks_empty(&self) -> bool {
        // ORDERING: Acquire, SeqCst fence, Acquire, as crossbeam-deque does.
        let front = self.front.load(Ordering::Acquire);
        fence(Ordering::SeqCst);
        self.back.load(Ordering::Acquire) <= front
    }

    pub(super) fn steal(&self) -> Option<J> {
        loop {
            // ORDERING: as crossbeam-deque does; the fence stands for pinning the epoch.
            let front = self.front.load(Ordering::Acquire);
            fence(Ordering::SeqCst);
            if self.back.load(Ordering::Acquire) <= front {
                return None;
            }
            let taken =
                self.front
                    .compare_exchange(front, front + 1, Ordering::SeqCst, Ordering::Relaxed);
            if taken.is_ok() {
                return Some(self.jobs[front]);
            }
        }
    }
}

pub(super) struct Injector<J> {
    head: AtomicUsize,
    tail: AtomicUsize,
    jobs: Vec<J>,
}

impl<J: Copy> Injector<J> {
    /// The first `waiting` of `jobs` wait from the start.
    pub(super) fn new(jobs: Vec<J>, waiting: usize) -> Self {
        Self {
            head: AtomicUsize::new(0),
            tail: AtomicUsize::new(waiting),
            jobs,
        }
    }

    pub(super) fn is_unused(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        // ORDERING: SeqCst, as crossbeam-deque does.
        self.head.load(Ordering::SeqCst) >= self.tail.load(Ordering::SeqCst)
    }

    /// Injects the next job. Only one thread at a time may call this.
    pub(super) fn push(&self) {
        let tail = self.tail.load(Ordering::Acquire);
        // ORDERING: SeqCst, as crossbeam-deque does.
        let pushed =
            self.tail
                .compare_exchange(tail, tail + 1, Ordering::SeqCst, Ordering::Acquire);
        assert!(pushed.is_ok(), "one thread at a time");
    }

    pub(super) fn steal(&self) -> Option<J> {
        loop {
            // ORDERING: as crossbeam-deque does.
            let head = self.head.load(Ordering::Acquire);
            fence(Ordering::SeqCst);
            if self.tail.load(Ordering::Relaxed) <= head {
                return None;
            }
            let taken =
                self.head
                    .compare_exchange(head, head + 1, Ordering::SeqCst, Ordering::Acquire);
            if taken.is_ok() {
                return Some(self.jobs[head]);
            }
        }
    }
}
