//! Broadcasts, which are fork-join regions: each thread of a pool calls a closure once. Some rivals
//! have only such regions, and no jobs.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::pool::global;
use crate::rival;

/// A thread's call of the broadcast closure.
#[derive(Debug)]
pub struct BroadcastContext<'a> {
    index: usize,
    threads: usize,
    _pool: PhantomData<&'a ()>,
}

impl BroadcastContext<'_> {
    /// Number of the thread in the pool.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Number of threads of the pool.
    pub fn num_threads(&self) -> usize {
        self.threads
    }
}

/// Calls `op` on each thread of the pool that the calling thread works for, or of the global pool.
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    rival::with_current(|pool| match pool {
        Some(pool) => on(pool, crate::current_num_threads(), op),
        None => global().broadcast(op),
    })
}

struct Results<R>(*mut MaybeUninit<R>);

// SAFETY: each thread only writes the element at its own index.
unsafe impl<R: Send> Sync for Results<R> {}

impl<R> Results<R> {
    /// # Safety
    /// Element `index` exists, and no other thread writes it.
    unsafe fn put(&self, index: usize, result: R) {
        // SAFETY: the caller promises that element `index` exists and that no other thread writes
        // it.
        unsafe { self.0.add(index).write(MaybeUninit::new(result)) }
    }
}

/// Calls `op` on each of the `threads` of `pool`. A panic in `op` ends the process, because these
/// rivals do not propagate panics.
pub(crate) fn on<OP, R>(pool: &rival::Pool, threads: usize, op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    let mut results = Vec::<MaybeUninit<R>>::with_capacity(threads);
    let slots = Results(results.as_mut_ptr());
    pool.run_on_each(&|index| {
        assert!(index < threads, "thread {index} of {threads}");
        let result = op(BroadcastContext {
            index,
            threads,
            _pool: PhantomData,
        });
        // SAFETY: `run_on_each` calls this closure once for each index below `threads`, and
        // `results` has room for `threads` elements.
        unsafe { slots.put(index, result) };
    });
    // SAFETY: every thread has returned, so each element was written.
    unsafe { results.set_len(threads) };
    // SAFETY: every thread has returned, so `assume_init` reads an element that was written.
    results
        .into_iter()
        .map(|result| unsafe { result.assume_init() })
        .collect()
}
