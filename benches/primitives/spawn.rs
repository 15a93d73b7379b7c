//! `spawn`: detached jobs from inside the pool, and from outside through the injector.

use std::sync::mpsc;

use criterion::Criterion;
use rayon_core::ThreadPool;

use crate::on_every_pool;

/// Jobs per run, of which the last to finish ends it.
const SPAWNS: usize = 1_000;

pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("spawn");
    on_every_pool(&mut group, "1000-from-inside", |bencher, pool| {
        bencher.iter(|| {
            // The thread that waits is outside, so that no worker blocks.
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
        pool.spawn(move || done.send(()).expect("somebody waits for every job"));
    }
}

fn wait(all_done: &mpsc::Receiver<()>) {
    assert_eq!(all_done.iter().take(SPAWNS).count(), SPAWNS);
}
