//! Ways to hand packets from one dispatcher to the other threads of the pool.
//!
//! `queued.rs` has the study's: their workers are jobs that stay on their thread until the
//! dispatcher closes, so they use the pool as a mere set of threads. `pooled.rs` has those that
//! give the scheduler something to do.

mod pooled;
mod queued;

use super::dispatcher::{Report, Stop, dispatch};
use super::locks::{Anderson, Mcs, Mutex, Tas};
use super::traffic::{Tally, Traffic};

use pooled::PoolCounters;
use queued::{LockedQueues, Queues, UnderLock};

/// The threads that compute the checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// The dispatcher itself.
    Serial,
    /// One worker per queue, without any lock; with fewer workers than queues, some serve several.
    LockFree,
    /// As `LockFree`, but a worker takes from its queue under that queue's lock.
    HomeQueue(LockKind),
    /// Any worker, any queue: try its lock, take one packet, move on.
    Awesome(LockKind),
    /// Each packet is a job of the pool.
    Pool,
    /// Packets of one source are collected, and each batch is a job of the pool.
    PoolBatch,
}

/// The lock on a queue's far end where several workers may come, or could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockKind {
    /// [`Tas`].
    Tas,
    /// [`Mutex`].
    Mutex,
    /// [`Mcs`].
    Mcs,
    /// [`Anderson`].
    Anderson,
}

/// The dispatcher does everything: the baseline of speed-up.
pub(super) fn serial(traffic: &Traffic, stop: Stop) -> Report {
    let mut done = Tally::default();
    let dispatched = dispatch(traffic, stop, |_, packet| done.process(packet));
    Report { done, dispatched }
}

/// The equipment of one run; made before it, so that the run makes nothing.
pub(super) enum Equipment {
    /// For `serial`.
    None,
    /// For `lock-free`.
    Queues(Queues),
    /// For `home-queue` and `awesome`.
    LockedQueues(Box<dyn LockedQueues>),
    /// For `pool` and `pool-batch`.
    Counters(PoolCounters),
}

impl Strategy {
    /// Whether a simulated machine knows everything that the threads share.
    pub(super) fn is_simulated(self) -> bool {
        matches!(self, Self::Serial | Self::Pool | Self::PoolBatch)
    }

    /// Queues of `depth` places, locks and counters, for a pool of `threads`.
    pub(super) fn equipment(self, sources: usize, depth: usize, threads: usize) -> Equipment {
        let queues = || Queues::new(sources, depth);
        match self {
            Self::Serial => Equipment::None,
            Self::LockFree => Equipment::Queues(queues()),
            Self::HomeQueue(lock) | Self::Awesome(lock) => Equipment::LockedQueues(match lock {
                LockKind::Tas => Box::new(UnderLock::<Tas>::new(queues(), threads)),
                LockKind::Mutex => Box::new(UnderLock::<Mutex>::new(queues(), threads)),
                LockKind::Mcs => Box::new(UnderLock::<Mcs>::new(queues(), threads)),
                LockKind::Anderson => Box::new(UnderLock::<Anderson>::new(queues(), threads)),
            }),
            Self::Pool | Self::PoolBatch => {
                Equipment::Counters(PoolCounters::new(sources, threads))
            }
        }
    }

    /// Runs on the pool that the calling thread belongs to.
    pub(super) fn run(
        self,
        traffic: &Traffic,
        stop: Stop,
        depth: usize,
        equipment: Equipment,
    ) -> Report {
        match equipment {
            Equipment::None => serial(traffic, stop),
            Equipment::Queues(queues) => queued::lock_free(traffic, stop, queues),
            Equipment::LockedQueues(queues) => match self {
                Self::Awesome(_) => queues.awesome(traffic, stop),
                _ => queues.home_queue(traffic, stop),
            },
            Equipment::Counters(counters) => match self {
                Self::PoolBatch => pooled::pool_batch(traffic, stop, depth, &counters),
                _ => pooled::pool(traffic, stop, depth, &counters),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use rayon::ThreadPoolBuilder;

    use super::super::traffic::Generator;
    use super::*;

    const LOCKS: [LockKind; 4] = [
        LockKind::Tas,
        LockKind::Mutex,
        LockKind::Mcs,
        LockKind::Anderson,
    ];

    fn all_strategies() -> Vec<Strategy> {
        let mut all = vec![Strategy::LockFree, Strategy::Pool, Strategy::PoolBatch];
        all.extend(LOCKS.map(Strategy::HomeQueue));
        all.extend(LOCKS.map(Strategy::Awesome));
        all
    }

    /// Runs a strategy as the workload does, on a pool of its own.
    fn run(
        strategy: Strategy,
        threads: usize,
        traffic: &Traffic,
        depth: usize,
        stop: Stop,
    ) -> Report {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let equipment = strategy.equipment(traffic.sources(), depth, threads);
        pool.install(|| strategy.run(traffic, stop, depth, equipment))
    }

    #[test]
    fn no_packet_is_lost_or_done_twice_whatever_strategy_lock_and_shape() {
        for generator in [Generator::Uniform, Generator::Exponential] {
            for sources in [1, 2, 5] {
                let traffic = Traffic::new(9, sources, generator, 20);
                let expected = serial(&traffic, Stop::AfterPackets(60));
                for strategy in all_strategies() {
                    for (threads, depth) in [(1, 1), (1, 32), (2, 1), (3, 2), (3, 32), (6, 2)] {
                        let report =
                            run(strategy, threads, &traffic, depth, Stop::AfterPackets(60));
                        assert_eq!(report, expected, "{strategy:?} {threads} {depth} {sources}");
                    }
                }
            }
        }
    }
}
