//! The study's strategies: one bounded queue per source, and workers that take packets from queues.

use std::sync::atomic::{
    AtomicBool,
    Ordering::{Acquire, Release},
};
use std::sync::{Mutex, PoisonError};

use crossbeam_utils::{Backoff, CachePadded};
use rtrb::{Consumer, Producer, RingBuffer};

use super::super::dispatcher::{Report, Stop, dispatch};
use super::super::locks::{Lock, Locked};
use super::super::traffic::{Packet, Tally, Traffic};

/// The dispatcher's and the workers' ends of one bounded queue per source.
pub(in super::super) struct Queues {
    producers: Vec<Producer<Packet>>,
    consumers: Vec<Consumer<Packet>>,
}

impl Queues {
    pub(super) fn new(sources: usize, depth: usize) -> Self {
        let (producers, consumers) = (0..sources).map(|_| RingBuffer::new(depth)).unzip();
        Self {
            producers,
            consumers,
        }
    }
}

/// One worker per queue, without any lock.
pub(super) fn lock_free(traffic: &Traffic, stop: Stop, queues: Queues) -> Report {
    let Queues {
        producers,
        mut consumers,
    } = queues;
    let workers = workers();
    if workers == 0 {
        return without_workers(traffic, stop, producers, |queue| {
            consumers[queue].pop().ok()
        });
    }
    with_workers(
        traffic,
        stop,
        producers,
        deal(consumers.into_iter(), workers),
        |mut own, is_closed| work_until_closed(is_closed, own.len(), |queue| own[queue].pop().ok()),
    )
}

/// Queues whose far ends are under a lock of some kind.
pub(in super::super) trait LockedQueues: Send {
    /// One worker per queue, which takes packets under that queue's lock.
    fn home_queue(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report;

    /// Any worker, any queue: try its lock, take one packet, move on.
    fn awesome(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report;
}

/// The queues under locks of the kind `L`.
pub(super) struct UnderLock<L> {
    producers: Vec<Producer<Packet>>,
    consumers: Vec<CachePadded<Locked<Consumer<Packet>, L>>>,
}

impl<L: Lock> UnderLock<L> {
    pub(super) fn new(queues: Queues, threads: usize) -> Self {
        let consumers = queues.consumers.into_iter();
        Self {
            producers: queues.producers,
            consumers: consumers
                .map(|consumer| CachePadded::new(Locked::new(consumer, threads)))
                .collect(),
        }
    }
}

impl<L: Lock> LockedQueues for UnderLock<L> {
    fn home_queue(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report {
        let Self {
            producers,
            consumers,
        } = *self;
        let take = |from: &Locked<Consumer<Packet>, L>| from.with(|queue| queue.pop().ok());
        let workers = workers();
        if workers == 0 {
            return without_workers(traffic, stop, producers, |queue| take(&consumers[queue]));
        }
        let shares = deal(consumers.iter(), workers);
        with_workers(traffic, stop, producers, shares, |own, is_closed| {
            work_until_closed(is_closed, own.len(), |queue| take(own[queue]))
        })
    }

    fn awesome(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report {
        let Self {
            producers,
            consumers,
        } = *self;
        // A worker that finds the lock taken moves on: its holder either takes a packet, and then
        // will look again, or finds the queue empty.
        let try_take = |queue: usize| {
            consumers[queue]
                .try_with(|queue| queue.pop().ok())
                .flatten()
        };
        let workers = workers();
        if workers == 0 {
            return without_workers(traffic, stop, producers, try_take);
        }
        // Each worker begins at another queue, so that they do not all try the same locks at first.
        let first_queues = (0..workers).collect();
        with_workers(
            traffic,
            stop,
            producers,
            first_queues,
            |first, is_closed| {
                let queues = consumers.len();
                work_until_closed(is_closed, queues, |queue| {
                    try_take((first + queue) % queues)
                })
            },
        )
    }
}

/// Threads of the pool beside the dispatcher's.
fn workers() -> usize {
    rayon::current_num_threads() - 1
}

/// Deals queues to workers in turn; with more workers than queues, some get none and are left out.
fn deal<Q>(queues: impl ExactSizeIterator<Item = Q>, workers: usize) -> Vec<Vec<Q>> {
    let mut shares = Vec::new();
    shares.resize_with(workers.min(queues.len()), Vec::new);
    let hands = shares.len();
    for (number, queue) in queues.enumerate() {
        shares[number % hands].push(queue);
    }
    shares
}

/// One thread only: the dispatcher works off a queue whenever it is full, and all of them at the
/// end.
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

/// Dispatches on this thread while one worker for each of `shares` runs on other threads.
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
        // Raised on unwinding too: otherwise the workers would wait for ever.
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
        // queues closed also sees every packet in them; otherwise it could leave some behind.
        self.0.store(true, Release);
    }
}

/// A worker: takes a packet from each queue in turn, and leaves after a round without any
/// that began when the dispatcher had closed.
fn work_until_closed(
    is_closed: &AtomicBool,
    queues: usize,
    mut take: impl FnMut(usize) -> Option<Packet>,
) -> Tally {
    let mut done = Tally::default();
    let backoff = Backoff::new();
    loop {
        // ORDERING: Acquire, pairs with the Release in `CloseOnDrop`; see there. Read before the
        // round: packets may come in, and the dispatcher close, behind the worker's back.
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
    use super::super::super::traffic::Generator;
    use super::*;

    #[test]
    fn queues_stay_bounded() {
        let mut queues = Queues::new(2, 3);
        let packet = Traffic::new(1, 1, Generator::Uniform, 5).packet(0, 0);
        for producer in &mut queues.producers {
            assert_eq!((0..10).filter(|_| producer.push(packet).is_ok()).count(), 3);
        }
    }

    #[test]
    fn queues_give_every_packet_once_and_in_order_at_any_depth() {
        let traffic = Traffic::new(3, 1, Generator::Uniform, 5);
        let count = if cfg!(miri) { 50 } else { 20_000 };
        for depth in [1, 2, 32] {
            let Queues {
                mut producers,
                mut consumers,
            } = Queues::new(1, depth);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for index in 0..count {
                        while producers[0].push(traffic.packet(0, index)).is_err() {
                            std::thread::yield_now();
                        }
                    }
                });
                for index in 0..count {
                    let packet = loop {
                        match consumers[0].pop() {
                            Ok(packet) => break packet,
                            Err(_) => std::thread::yield_now(),
                        }
                    };
                    assert_eq!(packet, traffic.packet(0, index), "depth {depth}");
                }
            });
            assert!(consumers[0].pop().is_err(), "depth {depth}");
        }
    }

    #[test]
    fn queues_are_dealt_so_that_each_has_one_worker() {
        assert_eq!(deal(0..5, 2), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(deal(0..2, 5), [vec![0], vec![1]]);
    }
}
