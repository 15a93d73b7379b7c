//! Ways to hand packets from one dispatcher to the other threads of the pool.
//!
//! The workers of `lock-free` and `awesome` are jobs that stay on their thread until the dispatcher
//! closes, so these two use the pool as a mere set of threads. Only `pool` gives the scheduler
//! something to do.

use std::sync::atomic::{
    AtomicBool, AtomicU64, AtomicUsize,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Mutex, PoisonError, TryLockError};

use crossbeam_utils::{Backoff, CachePadded};
use rtrb::{Consumer, Producer, RingBuffer};

use super::dispatcher::{Stop, dispatch};
use super::traffic::{Packet, Tally, Traffic};

/// Who computes the checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The dispatcher itself.
    Serial,
    /// One worker per queue, without any lock; with fewer workers than queues, some serve several.
    LockFree,
    /// Any worker, any queue: try its lock, take one packet, move on.
    Awesome,
    /// Each packet is a job of the pool.
    Pool,
}

/// The dispatcher's and the workers' ends of one bounded queue per source.
pub(super) struct Queues {
    producers: Vec<Producer<Packet>>,
    consumers: Vec<Consumer<Packet>>,
}

impl Queues {
    pub(super) fn new(sources: usize, depth: usize) -> Self {
        let (producers, consumers) = (0..sources).map(|_| RingBuffer::new(depth)).unzip();
        Self { producers, consumers }
    }
}

/// What a run did: the work, and how many packets there were to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) done: Tally,
    pub(super) dispatched: u64,
}

/// The dispatcher does everything: the baseline of speed-up.
pub(super) fn serial(traffic: &Traffic, stop: Stop) -> Report {
    let mut done = Tally::default();
    let dispatched = dispatch(traffic, stop, |_, packet| done.process(packet));
    Report { done, dispatched }
}

/// Runs a strategy that moves packets through queues, on all threads of the current pool.
pub(super) fn through_queues(
    strategy: Strategy,
    traffic: &Traffic,
    stop: Stop,
    queues: Queues,
) -> Report {
    let workers = rayon::current_num_threads() - 1;
    match strategy {
        _ if workers == 0 => without_workers(traffic, stop, queues),
        Strategy::Awesome => awesome(traffic, stop, queues, workers),
        _ => lock_free(traffic, stop, queues, workers),
    }
}

/// One thread only: the dispatcher works off a queue whenever it is full, and all of them at the
/// end.
fn without_workers(traffic: &Traffic, stop: Stop, mut queues: Queues) -> Report {
    let mut done = Tally::default();
    let dispatched = dispatch(traffic, stop, |source, packet| {
        while queues.producers[source].push(packet).is_err() {
            if let Ok(waiting) = queues.consumers[source].pop() {
                done.process(waiting);
            }
        }
    });
    for consumer in &mut queues.consumers {
        while let Ok(waiting) = consumer.pop() {
            done.process(waiting);
        }
    }
    Report { done, dispatched }
}

fn lock_free(traffic: &Traffic, stop: Stop, queues: Queues, workers: usize) -> Report {
    let mut shares: Vec<Vec<Consumer<Packet>>> = Vec::new();
    shares.resize_with(workers.min(traffic.sources()), Vec::new);
    let shares_count = shares.len();
    for (source, consumer) in queues.consumers.into_iter().enumerate() {
        shares[source % shares_count].push(consumer);
    }
    with_workers(traffic, stop, queues.producers, shares, |mut consumers, is_closed| {
        work_until_closed(is_closed, consumers.len(), |queue| consumers[queue].pop().ok())
    })
}

fn awesome(traffic: &Traffic, stop: Stop, queues: Queues, workers: usize) -> Report {
    let consumers: Vec<_> = queues
        .consumers
        .into_iter()
        .map(|consumer| CachePadded::new(Mutex::new(consumer)))
        .collect();
    // Each worker begins at another queue, so that they do not all try the same locks at first.
    let first_queues: Vec<usize> = (0..workers).collect();
    with_workers(traffic, stop, queues.producers, first_queues, |first, is_closed| {
        work_until_closed(is_closed, consumers.len(), |queue| {
            match consumers[(first + queue) % consumers.len()].try_lock() {
                Ok(mut consumer) => consumer.pop().ok(),
                // Its holder either takes a packet, and then will look again, or finds it empty.
                Err(TryLockError::WouldBlock) => None,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner().pop().ok(),
            }
        })
    })
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
    Report { done: done.into_inner().unwrap_or_else(PoisonError::into_inner), dispatched }
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

/// Counters of the `pool` strategy, each on a cache line of its own.
pub(super) struct PoolCounters {
    /// Jobs that wait to be started, by source: the fill of its queue.
    waiting: Vec<CachePadded<AtomicUsize>>,
    /// Work done, by thread of the pool: packets and sum of checksums.
    done: Vec<CachePadded<(AtomicU64, AtomicU64)>>,
}

impl PoolCounters {
    pub(super) fn new(sources: usize, threads: usize) -> Self {
        Self {
            waiting: (0..sources).map(|_| CachePadded::default()).collect(),
            done: (0..threads).map(|_| CachePadded::default()).collect(),
        }
    }

    fn process(&self, source: usize, packet: Packet) {
        // Relaxed: a count of free places; the packet itself travels with the job.
        self.waiting[source].fetch_sub(1, Relaxed);
        let mut own = Tally::default();
        own.process(packet);
        let thread = rayon::current_thread_index().expect("jobs run on threads of the pool");
        let (packets, checksums) = &*self.done[thread];
        // Relaxed: sums, read after the scope has ended, which orders everything before it.
        packets.fetch_add(own.packets, Relaxed);
        checksums.fetch_add(own.checksums, Relaxed);
    }

    fn total(&self) -> Tally {
        let mut total = Tally::default();
        for line in &self.done {
            let (packets, checksums) = &**line;
            total.add(Tally { packets: packets.load(Relaxed), checksums: checksums.load(Relaxed) });
        }
        total
    }
}

/// Every packet is a job. While `depth` jobs of a source wait, its next packet waits too, and the
/// dispatcher works off a job itself, as a thread of a pool should rather than spin.
pub(super) fn pool(traffic: &Traffic, stop: Stop, depth: usize, counters: &PoolCounters) -> Report {
    let mut dispatched = 0;
    rayon::scope(|scope| {
        dispatched = dispatch(traffic, stop, |source, packet| {
            let waiting = &counters.waiting[source];
            // Relaxed: only the dispatcher counts up, so a stale value is too high: it waits a
            // moment more.
            while waiting.load(Relaxed) >= depth {
                if rayon::yield_now() != Some(rayon::Yield::Executed) {
                    // All jobs have been taken up, and the count will fall at once.
                    std::hint::spin_loop();
                }
            }
            waiting.fetch_add(1, Relaxed);
            scope.spawn(move |_| counters.process(source, packet));
        });
    });
    Report { done: counters.total(), dispatched }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::super::traffic::Generator;
    use super::*;

    /// Runs a strategy as the workload does, on a pool of its own.
    fn run(
        strategy: Strategy,
        threads: usize,
        traffic: &Traffic,
        depth: usize,
        stop: Stop,
    ) -> Report {
        let pool_of_threads = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool_of_threads.install(|| match strategy {
            Strategy::Serial => serial(traffic, stop),
            Strategy::Pool => {
                pool(traffic, stop, depth, &PoolCounters::new(traffic.sources(), threads))
            }
            queued => through_queues(queued, traffic, stop, Queues::new(traffic.sources(), depth)),
        })
    }

    #[test]
    fn no_packet_is_lost_or_done_twice_whatever_the_shape() {
        for generator in [Generator::Uniform, Generator::Exponential] {
            for sources in [1, 2, 5] {
                let traffic = Traffic::new(9, sources, generator, 20);
                let expected = serial(&traffic, Stop::AfterPackets(60));
                for strategy in [Strategy::LockFree, Strategy::Awesome, Strategy::Pool] {
                    for (threads, depth) in [(1, 1), (1, 4), (2, 1), (3, 8), (6, 2)] {
                        let report =
                            run(strategy, threads, &traffic, depth, Stop::AfterPackets(60));
                        assert_eq!(report, expected, "{strategy:?} {threads} {depth} {sources}");
                    }
                }
            }
        }
    }

    #[test]
    fn queues_stay_bounded() {
        let queues = Queues::new(2, 3);
        let mut producers = queues.producers;
        let packet = Traffic::new(1, 1, Generator::Uniform, 5).packet(0, 0);
        for producer in &mut producers {
            assert_eq!((0..10).filter(|_| producer.push(packet).is_ok()).count(), 3);
        }
    }

    #[test]
    fn never_more_jobs_of_a_source_wait_than_its_queue_is_deep() {
        let (sources, depth) = (3, 2);
        let traffic = Traffic::new(4, sources, Generator::Uniform, 2_000);
        let counters = PoolCounters::new(sources, 2);
        let pool_of_threads = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        // Only the dispatcher adds, so the fill that it leaves behind is the highest there is.
        pool_of_threads.install(|| {
            rayon::scope(|scope| {
                scope.spawn(|_| {
                    pool(&traffic, Stop::AfterPackets(200), depth, &counters);
                });
                while counters.total().packets < 600 {
                    assert!(counters.waiting.iter().all(|fill| fill.load(Relaxed) <= depth));
                }
            });
        });
        assert!(counters.waiting.iter().all(|fill| fill.load(Relaxed) == 0));
    }
}
