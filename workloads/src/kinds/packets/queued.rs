//! The strategies of the 2021 study: one bounded queue per source, and workers that take packets
//! from queues. Each worker is one job until the dispatcher closes the queues, so the pool is only
//! a set of threads.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::sync::{Mutex, PoisonError};

use crossbeam_utils::{Backoff, CachePadded};
use rtrb::{Consumer, Producer, RingBuffer};

use super::dispatcher::{HandOn, Report, Stop, dispatch};
use super::locks::Lock;
use super::traffic::{Packet, Tally, Traffic};

type Ends = (Vec<Producer<Packet>>, Vec<Consumer<Packet>>);

fn queues(sources: usize, depth: usize) -> Ends {
    (0..sources).map(|_| RingBuffer::new(depth)).unzip()
}

/// Each queue has one worker and no lock. If there are fewer workers than queues, some workers
/// serve several queues.
pub(super) struct LockFree(Ends);

impl LockFree {
    pub(super) fn new(sources: usize, depth: usize) -> Self {
        Self(queues(sources, depth))
    }
}

impl HandOn for LockFree {
    fn run(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report {
        let (producers, mut consumers) = self.0;
        let workers = workers();
        if workers == 0 {
            return without_workers(traffic, stop, producers, |queue| {
                consumers[queue].pop().ok()
            });
        }
        let shares = deal(consumers.into_iter(), workers);
        with_workers(traffic, stop, producers, shares, |mut own, is_closed| {
            work_until_closed(is_closed, own.len(), |queue| own[queue].pop().ok())
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Serves {
    /// A worker serves its own queues, each under a lock.
    Own,
    /// A worker serves all queues: the worker tries a queue's lock, takes one packet, and goes to
    /// the next queue.
    Any,
}

pub(super) struct UnderLock<L> {
    producers: Vec<Producer<Packet>>,
    consumers: Vec<CachePadded<L>>,
    serves: Serves,
}

impl<L: Lock<Consumer<Packet>>> UnderLock<L> {
    pub(super) fn new(sources: usize, depth: usize, threads: usize, serves: Serves) -> Self {
        let (producers, consumers) = queues(sources, depth);
        let consumers = consumers.into_iter();
        Self {
            producers,
            consumers: consumers
                .map(|consumer| CachePadded::new(L::new(consumer, threads)))
                .collect(),
            serves,
        }
    }
}

impl<L: Lock<Consumer<Packet>>> HandOn for UnderLock<L> {
    fn run(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report {
        let Self {
            producers,
            consumers,
            serves,
        } = *self;
        let take = |from: &L| from.with(|queue| queue.pop().ok());
        // If another thread holds the lock, that thread takes a packet, or finds the queue empty.
        let try_take = |from: &L| from.try_with(|queue| queue.pop().ok()).flatten();
        let (workers, queues) = (workers(), consumers.len());
        if workers == 0 {
            return without_workers(traffic, stop, producers, |queue| take(&consumers[queue]));
        }
        if serves == Serves::Own {
            let shares = deal(consumers.iter(), workers);
            return with_workers(traffic, stop, producers, shares, |own, is_closed| {
                work_until_closed(is_closed, own.len(), |queue| take(own[queue]))
            });
        }
        let firsts = (0..workers).collect();
        with_workers(traffic, stop, producers, firsts, |first, is_closed| {
            work_until_closed(is_closed, queues, |queue| {
                try_take(&consumers[(first + queue) % queues])
            })
        })
    }
}

/// The number of the pool's threads other than the dispatcher.
fn workers() -> usize {
    rayon::current_num_threads() - 1
}

fn deal<Q>(queues: impl ExactSizeIterator<Item = Q>, workers: usize) -> Vec<Vec<Q>> {
    let mut shares = Vec::new();
    shares.resize_with(workers.min(queues.len()), Vec::new);
    let hands = shares.len();
    for (number, queue) in queues.enumerate() {
        shares[number % hands].push(queue);
    }
    shares
}

/// With one thread, the dispatcher processes one packet of a queue whenever that queue is full, and
/// all waiting packets at the end.
fn without_workers(
    traffic: &Traffic,
    stop: Stop,
    mut producers: Vec<Producer<Packet>>,
    mut take: impl FnMut(usize) -> Option<Packet>,
) -> Report {
    let mut done = Tally::default();
    let dispatched = dispatch(traffic, stop, |source, packet| {
        while producers[source].push(packet).is_err() {
            if let Some(waiting) = take(source) {
                done.process(waiting);
            }
        }
    });
    for queue in 0..producers.len() {
        while let Some(waiting) = take(queue) {
            done.process(waiting);
        }
    }
    Report { done, dispatched }
}

fn with_workers<S: Send>(
    traffic: &Traffic,
    stop: Stop,
    mut producers: Vec<Producer<Packet>>,
    shares: Vec<S>,
    work: impl Fn(S, &AtomicBool) -> Tally + Sync,
) -> Report {
    let is_closed = CachePadded::new(AtomicBool::new(false));
    let done = Mutex::new(Tally::default());
    let mut dispatched = 0;
    rayon::scope(|scope| {
        for share in shares {
            let (work, is_closed, done) = (&work, &is_closed, &done);
            scope.spawn(move |_| {
                let own = work(share, is_closed);
                done.lock().unwrap_or_else(PoisonError::into_inner).add(own);
            });
        }
        // The guard also closes the queues if the dispatcher panics; otherwise the workers would
        // wait for ever.
        let _close = CloseOnDrop(&is_closed);
        dispatched = dispatch(traffic, stop, |source, packet| {
            let backoff = Backoff::new();
            while producers[source].push(packet).is_err() {
                backoff.snooze();
            }
        });
    });
    Report {
        done: done.into_inner().unwrap_or_else(PoisonError::into_inner),
        dispatched,
    }
}

struct CloseOnDrop<'a>(&'a AtomicBool);

impl Drop for CloseOnDrop<'_> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with the Acquire in `work_until_closed`: a worker that sees the
        // queues closed also sees every packet in them.
        self.0.store(true, Release);
    }
}

/// Takes a packet from each queue in rotation. Ends after a round that found no packet and that
/// began after the dispatcher had closed the queues.
fn work_until_closed(
    is_closed: &AtomicBool,
    queues: usize,
    mut take: impl FnMut(usize) -> Option<Packet>,
) -> Tally {
    let mut done = Tally::default();
    let backoff = Backoff::new();
    loop {
        // ORDERING: Acquire, pairs with the Release in `CloseOnDrop`. The worker reads the flag
        // before the round: the dispatcher may add to a queue that the worker has already passed,
        // and then close the queues.
        let was_closed = is_closed.load(Acquire);
        let before = done.packets;
        for queue in 0..queues {
            if let Some(packet) = take(queue) {
                done.process(packet);
            }
        }
        if done.packets > before {
            backoff.reset();
        } else if was_closed {
            return done;
        } else {
            backoff.snooze();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_are_dealt_so_that_each_has_one_worker() {
        assert_eq!(deal(0..5, 2), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(deal(0..2, 5), [vec![0], vec![1]]);
    }
}
