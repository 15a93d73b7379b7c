//! The cost of each primitive of the pool by itself, on pools of several sizes.
//!
//! To see how a change to a hot path affects `join`, run
//! `cargo bench -p benches --bench primitives -- join` before and after the change. To compare
//! variants, use the runner, which builds each variant separately and alternates between builds.

mod install;
mod join;
mod scope;
mod spawn;
mod wake;

use std::time::Duration;

use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, BenchmarkId, Criterion, criterion_group, criterion_main};
use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// Pool sizes: no thief, one thief, more threads than small hosts have CPUs.
const THREADS: [usize; 3] = [1, 2, 4];

/// Benchmarks `work` on a pool of each size; `work` gets the pool and measures the time.
fn on_every_pool(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    work: impl Fn(&mut criterion::Bencher<'_>, &ThreadPool),
) {
    for threads in THREADS {
        let pool = ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a small pool can be built");
        group.bench_function(BenchmarkId::new(name, threads), |bencher| {
            work(bencher, &pool);
        });
    }
}

fn configuration() -> Criterion {
    Criterion::default()
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(700))
}

criterion_group! {
    name = benches;
    config = configuration();
    targets = join::benchmarks, spawn::benchmarks, scope::benchmarks, install::benchmarks, wake::benchmarks
}
criterion_main!(benches);
