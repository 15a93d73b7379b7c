//! The latency of a pool whose workers have all fallen asleep.

use std::hint::black_box;
use std::thread;
use std::time::{Duration, Instant};

use criterion::Criterion;
use rayon_core::{ThreadPool, join};

use crate::on_every_pool;

/// A pause in which every worker falls asleep. The length is a guess: some hundred times as long as
/// a few dozen rounds of yielding.
const IDLE: Duration = Duration::from_millis(2);

pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("wake");
    on_every_pool(&mut group, "install", |bencher, pool| {
        bencher.iter_custom(|runs| after_idling(runs, || pool.install(|| black_box(1))));
    });
    on_every_pool(&mut group, "broadcast", |bencher, pool| {
        bencher.iter_custom(|runs| after_idling(runs, || broadcast(pool)));
    });
    on_every_pool(&mut group, "install-and-join", |bencher, pool| {
        bencher.iter_custom(|runs| {
            after_idling(runs, || {
                pool.install(|| join(|| black_box(1), || black_box(2)).0)
            })
        });
    });
}

fn broadcast(pool: &ThreadPool) -> usize {
    pool.broadcast(|context| context.index()).len()
}

/// Returns the time of `runs` calls of `work`, without the pause in which the pool falls asleep
/// before each call.
fn after_idling<T>(runs: u64, work: impl Fn() -> T) -> Duration {
    let mut elapsed = Duration::ZERO;
    for _ in 0..runs {
        thread::sleep(IDLE);
        let begin = Instant::now();
        black_box(work());
        elapsed += begin.elapsed();
    }
    elapsed
}
