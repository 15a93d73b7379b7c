//! The cost of an empty `scope`, and of a `scope` in which one thread spawns many jobs.

use std::hint::black_box;

use criterion::Criterion;
use rayon_core::scope;

use crate::on_every_pool;

const SPAWNS: u32 = 1_000;

pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scope");
    on_every_pool(&mut group, "empty", |bencher, pool| {
        pool.install(|| bencher.iter(|| scope(|_| black_box(()))));
    });
    on_every_pool(&mut group, "1000-spawns", |bencher, pool| {
        pool.install(|| {
            bencher.iter(|| {
                scope(|scope| {
                    for job in 0..SPAWNS {
                        scope.spawn(move |_| {
                            black_box(job);
                        });
                    }
                });
            });
        });
    });
}
