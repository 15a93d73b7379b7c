//! The cost of `join` on a worker: a push, a pop and a notification.

use std::hint::black_box;

use criterion::Criterion;
use rayon_core::join;

use crate::on_every_pool;

/// The levels of the tree, which has 2^10 - 1 joins.
const LEVELS: u32 = 10;

pub(crate) fn benchmarks(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("join");
    on_every_pool(&mut group, "two-no-ops", |bencher, pool| {
        pool.install(|| bencher.iter(|| join(|| black_box(1), || black_box(2))));
    });
    on_every_pool(&mut group, "tree-of-1023", |bencher, pool| {
        pool.install(|| bencher.iter(|| tree(black_box(LEVELS))));
    });
}

fn tree(levels: u32) -> u32 {
    if levels == 0 {
        return 1;
    }
    let (left, right) = join(|| tree(levels - 1), || tree(levels - 1));
    left + right
}
