//! The cost of `spawn`: a worker spawns detached jobs, or an external thread spawns them through
//! the injector.

use std::sync::mpsc;

use criterion::Criterion;
use rayon_core::ThreadPool;

use crate::on_every_pool;

/// Jobs per run; the run ends when the last one finishes.
const SPAWNS: usize = 1_000;

pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spawn");
    on_every_pool(&mut group, "1000-from-inside", |bencher, pool| {
        bencher.iter(|| {
            // The waiting thread is external, so that no worker blocks.
            let (done, all_done) = mpsc::channel();
            pool.install(|| spawn_all(pool, &done));
            wait(&all_done);
        });
    });
    on_every_pool(&mut group, "1000-from-outside", |bencher, pool| {
        bencher.iter(|| {
            let (done, all_done) = mpsc::channel();
            spawn_all(pool, &done);
            wait(&all_done);
        });
    });
}

fn spawn_all(pool: &ThreadPool, done: &mpsc::Sender<()>) {
    for _ in 0..SPAWNS {
        let done = done.clone();
        pool.spawn(move || done.send(()).expect("the receiver waits for every job"));
    }
}

fn wait(all_done: &mpsc::Receiver<()>) {
    assert_eq!(all_done.iter().take(SPAWNS).count(), SPAWNS);
}
