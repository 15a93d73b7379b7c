//! The cost of `install`, called by an external thread and by a worker. The external thread calls
//! `install` back to back, so workers still search for jobs when the next call comes.

use std::hint::black_box;

use criterion::Criterion;

use crate::on_every_pool;

pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("install");
    on_every_pool(&mut group, "from-outside", |bencher, pool| {
        bencher.iter(|| pool.install(|| black_box(1)));
    });
    on_every_pool(&mut group, "from-inside", |bencher, pool| {
        pool.install(|| bencher.iter(|| pool.install(|| black_box(1))));
    });
}
