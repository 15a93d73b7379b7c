//! The queue lock of Mellor-Crummey and Scott (1991): each thread that waits spins on a node of its
//! own, and the threads are served in the order in which they came.
//!
//! `tail` points to the node of the last comer, or nowhere if the lock is free. A comer swaps
//! itself in, and, if another thread was there, links itself behind and waits. A thread that leaves
//! wakes its successor.
//!
//! | word | written by | waited for by |
//! |---|---|---|
//! | `tail` | every comer; who leaves last | nobody |
//! | `next` of a node | the successor, once | the node's owner when it leaves |
//! | `must_wait` of a node | the predecessor, once | the node's owner |

use std::ptr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use crossbeam_utils::CachePadded;

use super::Lock;
use super::sync::{AtomicBool, AtomicPtr, Patience};

/// A place in the queue, on the stack of the thread that owns it.
struct Node {
    next: AtomicPtr<CachePadded<Node>>,
    must_wait: AtomicBool,
}

impl Node {
    fn new() -> CachePadded<Self> {
        CachePadded::new(Self {
            next: AtomicPtr::new(ptr::null_mut()),
            must_wait: AtomicBool::new(true),
        })
    }
}

/// Points to the last comer's node; null while the lock is free.
pub(in super::super) struct Mcs {
    tail: CachePadded<AtomicPtr<CachePadded<Node>>>,
}

// SAFETY: a thread enters when its swap (or exchange) found no predecessor, or when its
// predecessor, leaving, told its node. A node has one successor, since each swap returns a
// different tail. So the right to be inside is passed from one thread to one other, or the exchange
// in `Held::drop` gives it back while no thread waits. Each of these steps is a Release that the
// next holder acquires.
unsafe impl Lock for Mcs {
    fn new(_: usize) -> Self {
        Self {
            tail: CachePadded::new(AtomicPtr::new(ptr::null_mut())),
        }
    }

    fn hold<R>(&self, section: impl FnOnce() -> R) -> R {
        let node = Node::new();
        let own = ptr::from_ref(&node).cast_mut();
        // ORDERING: AcqRel. Acquire pairs with the Release of `Held::drop`'s exchange, if the lock
        // was free: we see what its last holder wrote. It also pairs with the Release here in the
        // swap of our predecessor, so that we see its node initialised before we write into it.
        let predecessor = self.tail.swap(own, AcqRel);
        if !predecessor.is_null() {
            // SAFETY: the predecessor's node lives until its owner has left. The owner waits for
            // the link that we are about to write: its exchange of `tail` fails, since we replaced
            // it.
            let predecessor = unsafe { &*predecessor };
            // ORDERING: Release, pairs with the Acquire loads in `Held::drop`: a thread that finds
            // our node there finds it initialised.
            predecessor.next.store(own, Release);
            let patience = Patience::new();
            // ORDERING: Acquire, pairs with the Release store in `Held::drop`: we see what our
            // predecessor wrote inside.
            while node.must_wait.load(Acquire) {
                patience.wait();
            }
        }
        let _held = Held {
            lock: self,
            node: &node,
        };
        section()
    }

    fn try_hold<R>(&self, section: impl FnOnce() -> R) -> Option<R> {
        let node = Node::new();
        let own = ptr::from_ref(&node).cast_mut();
        // ORDERING: AcqRel as in `hold`. On failure nothing is read, so Relaxed.
        self.tail
            .compare_exchange(ptr::null_mut(), own, AcqRel, Relaxed)
            .ok()?;
        let _held = Held {
            lock: self,
            node: &node,
        };
        Some(section())
    }
}

/// Lets go when it is dropped, by a panic too.
struct Held<'a> {
    lock: &'a Mcs,
    node: &'a CachePadded<Node>,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // ORDERING: Acquire, pairs with the Release store of the link in `hold`; see there.
        let mut successor = self.node.next.load(Acquire);
        if successor.is_null() {
            let own = ptr::from_ref(self.node).cast_mut();
            // ORDERING: Release, pairs with the Acquire of the next comer's swap: it sees what we
            // wrote inside. On failure nothing is read, so Relaxed.
            if self
                .lock
                .tail
                .compare_exchange(own, ptr::null_mut(), Release, Relaxed)
                .is_ok()
            {
                return;
            }
            // A thread came in between, and is about to link itself behind us.
            let patience = Patience::new();
            while successor.is_null() {
                patience.wait();
                // ORDERING: Acquire, as above.
                successor = self.node.next.load(Acquire);
            }
        }
        // SAFETY: the successor's node lives while it waits, and it waits until the store below,
        // after which we do not touch it.
        let successor = unsafe { &*successor };
        // ORDERING: Release, pairs with the Acquire of the successor's loop: it sees what we wrote.
        successor.must_wait.store(false, Release);
    }
}

#[cfg(test)]
impl super::FirstComeFirstServed for Mcs {
    fn last_comer(&self) -> Option<usize> {
        // ORDERING: Acquire, so that the test which sees a thread come also knows it came after
        // those before.
        let last = self.tail.load(Acquire);
        (!last.is_null()).then_some(last as usize)
    }
}
