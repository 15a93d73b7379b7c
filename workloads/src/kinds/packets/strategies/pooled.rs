//! Strategies that make packets into jobs of the pool under test: what the study lacked.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crossbeam_utils::CachePadded;

use super::super::dispatcher::{Report, Stop, dispatch};
use super::super::traffic::{Packet, Tally, Traffic};

/// Counters of a run, each on a cache line of its own.
pub(in super::super) struct PoolCounters {
    /// Packets in jobs that wait to be started, by source: the fill of its queue.
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

    /// Runs a job: its packets no longer wait.
    fn process(&self, source: usize, packets: &[Packet]) {
        // Relaxed: a count of free places; the packets themselves travel with the job.
        self.waiting[source].fetch_sub(packets.len(), Relaxed);
        let mut own = Tally::default();
        for &packet in packets {
            own.process(packet);
        }
        let thread = rayon::current_thread_index().expect("jobs run on threads of the pool");
        let (packets, checksums) = &*self.done[thread];
        // Relaxed: sums, read after the scope has ended, which orders everything before it.
        packets.fetch_add(own.packets, Relaxed);
        checksums.fetch_add(own.checksums, Relaxed);
    }

    /// Waits until so few packets of the source wait, and works off jobs meanwhile, as a thread of
    /// a pool should rather than spin.
    fn wait_until_below(&self, source: usize, limit: usize) {
        // Relaxed: only the dispatcher counts up, so a stale value is too high: it waits a moment
        // more.
        while self.waiting[source].load(Relaxed) >= limit {
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
                // All jobs have been taken up, and the count will fall at once.
                spin_loop();
            }
        }
    }

    fn total(&self) -> Tally {
        let mut total = Tally::default();
        for line in &self.done {
            let (packets, checksums) = &**line;
            total.add(Tally {
                packets: packets.load(Relaxed),
                checksums: checksums.load(Relaxed),
            });
        }
        total
    }
}

/// Every packet is a job. While `depth` jobs of a source wait, its next packet waits too.
pub(super) fn pool(traffic: &Traffic, stop: Stop, depth: usize, counters: &PoolCounters) -> Report {
    let mut dispatched = 0;
    rayon::scope(|scope| {
        dispatched = dispatch(traffic, stop, |source, packet| {
            counters.wait_until_below(source, depth);
            counters.waiting[source].fetch_add(1, Relaxed);
            scope.spawn(move |_| counters.process(source, &[packet]));
        });
    });
    Report {
        done: counters.total(),
        dispatched,
    }
}

/// A source's packets are collected until they fill half its queue, and then are one job: so the
/// other half can be worked off meanwhile.
pub(super) fn pool_batch(
    traffic: &Traffic,
    stop: Stop,
    depth: usize,
    counters: &PoolCounters,
) -> Report {
    let size = depth.div_ceil(2);
    let mut batches = vec![Vec::with_capacity(size); traffic.sources()];
    let mut dispatched = 0;
    rayon::scope(|scope| {
        let send = |source: usize, batch: Vec<Packet>| {
            counters.waiting[source].fetch_add(batch.len(), Relaxed);
            scope.spawn(move |_| counters.process(source, &batch));
        };
        dispatched = dispatch(traffic, stop, |source, packet| {
            let batch: &mut Vec<Packet> = &mut batches[source];
            // The collected packets have places in the queue like those in jobs.
            counters.wait_until_below(source, depth - batch.len());
            batch.push(packet);
            if batch.len() == size {
                send(source, std::mem::replace(batch, Vec::with_capacity(size)));
            }
        });
        for (source, batch) in batches.into_iter().enumerate() {
            if !batch.is_empty() {
                send(source, batch);
            }
        }
    });
    Report {
        done: counters.total(),
        dispatched,
    }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::super::super::traffic::Generator;
    use super::*;

    type Run = fn(&Traffic, Stop, usize, &PoolCounters) -> Report;

    /// Watches the fill of the queues while the dispatcher, who alone adds, works on another
    /// thread.
    fn stays_bounded(run: Run, depth: usize) {
        let sources = 3;
        let traffic = Traffic::new(4, sources, Generator::Uniform, 2_000);
        let counters = PoolCounters::new(sources, 2);
        let pool_of_threads = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        pool_of_threads.install(|| {
            rayon::scope(|scope| {
                scope.spawn(|_| {
                    run(&traffic, Stop::AfterPackets(200), depth, &counters);
                });
                while counters.total().packets < 600 {
                    assert!(
                        counters
                            .waiting
                            .iter()
                            .all(|fill| fill.load(Relaxed) <= depth)
                    );
                }
            });
        });
        assert!(counters.waiting.iter().all(|fill| fill.load(Relaxed) == 0));
    }

    #[test]
    fn never_more_jobs_of_a_source_wait_than_its_queue_is_deep() {
        stays_bounded(pool, 2);
    }

    #[test]
    fn never_more_packets_wait_in_batches_than_the_queue_is_deep() {
        stays_bounded(pool_batch, 1);
        stays_bounded(pool_batch, 5);
    }
}
