//! The rival [paralight](https://docs.rs/paralight): threads that wait under a lock for a loop, of
//! which each has a fixed part. They do not work in the thread that opens the loop, which blocks.

use std::num::NonZero;

use paralight::prelude::*;
use paralight::threads::{
    CpuPinningPolicy, RangeStrategy, ThreadCount, ThreadPool, ThreadPoolBuilder,
};

/// What messages call the rival.
pub(crate) const NAME: &str = "paralight";

pub(crate) struct Threads {
    threads: usize,
    pool: ThreadPool,
}

impl Threads {
    pub(crate) fn start(threads: usize) -> Self {
        let count = NonZero::new(threads).expect("a pool has a thread");
        let pool = ThreadPoolBuilder {
            num_threads: ThreadCount::Count(count),
            range_strategy: RangeStrategy::Fixed,
            cpu_pinning: CpuPinningPolicy::No,
        };
        Self {
            threads,
            pool: pool.build(),
        }
    }

    pub(crate) fn run_on_each(&mut self, share: &(dyn Fn(usize) + Sync)) {
        let all = (0..self.threads).into_par_iter();
        all.with_thread_pool(&mut self.pool).for_each(share);
    }
}
