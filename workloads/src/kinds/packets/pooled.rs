//! Strategies in which packets are jobs of the pool under test. The 2021 study had no such
//! strategies.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use crossbeam_utils::CachePadded;

use super::dispatcher::{HandOn, Report, Stop, dispatch};
use super::traffic::{Packet, Tally, Traffic};

struct PoolCounters {
    /// For each source, the number of packets in jobs that have not started.
    waiting: Vec<CachePadded<AtomicUsize>>,
    /// For each thread of the pool, the two numbers of a [`Tally`].
    done: Vec<CachePadded<(AtomicU64, AtomicU64)>>,
}

impl PoolCounters {
    fn new(sources: usize, threads: usize) -> Self {
        Self {
            waiting: (0..sources).map(|_| CachePadded::default()).collect(),
            done: (0..threads).map(|_| CachePadded::default()).collect(),
        }
    }

    fn process(&self, source: usize, packets: &[Packet]) {
        // Relaxed: the count orders no other data, as the job carries its packets.
        self.waiting[source].fetch_sub(packets.len(), Relaxed);
        let mut own = Tally::default();
        for &packet in packets {
            own.process(packet);
        }
        let thread = rayon::current_thread_index().expect("jobs run on threads of the pool");
        let (packets, checksums) = &*self.done[thread];
        // Relaxed: the counters are read after the scope has ended.
        packets.fetch_add(own.packets, Relaxed);
        checksums.fetch_add(own.checksums, Relaxed);
    }

    fn wait_until_below(&self, source: usize, limit: usize) {
        // Relaxed: only the dispatcher counts up, so a stale value is too high and prolongs the
        // wait.
        while self.waiting[source].load(Relaxed) >= limit {
            if rayon::yield_now() != Some(rayon::Yield::Executed) {
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

/// Collects `size` packets of a source into one job. While `depth` packets of a source wait, the
/// dispatcher runs jobs instead of adding the source's next packet.
pub(super) struct Pooled {
    depth: usize,
    size: usize,
    counters: PoolCounters,
}

impl Pooled {
    pub(super) fn single(sources: usize, depth: usize, threads: usize) -> Self {
        Self {
            depth,
            size: 1,
            counters: PoolCounters::new(sources, threads),
        }
    }

    /// A job has as many packets as half of its source's queue, so that workers can process the
    /// other half meanwhile.
    pub(super) fn batched(sources: usize, depth: usize, threads: usize) -> Self {
        Self {
            size: depth.div_ceil(2),
            ..Self::single(sources, depth, threads)
        }
    }

    fn run_single(&self, traffic: &Traffic, stop: Stop) -> u64 {
        let (counters, mut dispatched) = (&self.counters, 0);
        rayon::scope(|scope| {
            dispatched = dispatch(traffic, stop, |source, packet| {
                counters.wait_until_below(source, self.depth);
                counters.waiting[source].fetch_add(1, Relaxed);
                scope.spawn(move |_| counters.process(source, &[packet]));
            });
        });
        dispatched
    }

    fn run_batches(&self, traffic: &Traffic, stop: Stop) -> u64 {
        let Self {
            depth,
            size,
            counters,
        } = self;
        let mut batches = vec![Vec::with_capacity(*size); traffic.sources()];
        let mut dispatched = 0;
        rayon::scope(|scope| {
            let send = |source: usize, batch: Vec<Packet>| {
                counters.waiting[source].fetch_add(batch.len(), Relaxed);
                scope.spawn(move |_| counters.process(source, &batch));
            };
            dispatched = dispatch(traffic, stop, |source, packet| {
                let batch: &mut Vec<Packet> = &mut batches[source];
                // The packets already in the batch count as waiting, too.
                counters.wait_until_below(source, depth - batch.len());
                batch.push(packet);
                if batch.len() == *size {
                    send(source, std::mem::replace(batch, Vec::with_capacity(*size)));
                }
            });
            for (source, batch) in batches.into_iter().enumerate() {
                if !batch.is_empty() {
                    send(source, batch);
                }
            }
        });
        dispatched
    }
}

impl HandOn for Pooled {
    fn run(self: Box<Self>, traffic: &Traffic, stop: Stop) -> Report {
        let dispatched = match self.size {
            1 => self.run_single(traffic, stop),
            _ => self.run_batches(traffic, stop),
        };
        Report {
            done: self.counters.total(),
            dispatched,
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::super::traffic::Generator;
    use super::*;

    #[test]
    fn never_more_packets_of_a_source_wait_than_its_queue_is_deep() {
        let traffic = Traffic::new(4, 3, Generator::Uniform, 2_000);
        let threads = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        for pooled in [
            Pooled::single(3, 2, 2),
            Pooled::batched(3, 1, 2),
            Pooled::batched(3, 5, 2),
        ] {
            let fills = || pooled.counters.waiting.iter().map(|it| it.load(Relaxed));
            // Only the dispatcher adds packets, and it works on another thread.
            threads.install(|| {
                rayon::scope(|scope| {
                    scope.spawn(|_| {
                        if pooled.size == 1 {
                            pooled.run_single(&traffic, Stop::AfterPackets(200));
                        } else {
                            pooled.run_batches(&traffic, Stop::AfterPackets(200));
                        }
                    });
                    while pooled.counters.total().packets < 600 {
                        assert!(fills().all(|fill| fill <= pooled.depth));
                    }
                });
            });
            assert!(fills().all(|fill| fill == 0));
        }
    }
}
