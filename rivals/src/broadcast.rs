//! A closure that each thread of a pool calls once: a fork-join region. Some rivals have only
//! regions, and no jobs.

use std::marker::PhantomData;
use std::mem::MaybeUninit;

use crate::pool::global;
use crate::rival;

/// One of the calls of a broadcast.
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

/// Calls `op` on each thread of the pool that the calling thread works for, or of the global one.
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

// SAFETY: each thread writes the element of its index, and no other.
unsafe impl<R: Send> Sync for Results<R> {}

impl<R> Results<R> {
    /// # Safety
    /// Element `index` exists, and no other thread writes it.
    unsafe fn put(&self, index: usize, result: R) {
        // SAFETY: the caller's promise.
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
        // SAFETY: `run_on_each` calls this once for each index below `threads`, and there is room
        // for as many.
        unsafe { slots.put(index, result) };
    });
    // SAFETY: each element was written, since every thread has returned.
    unsafe { results.set_len(threads) };
    // SAFETY: as above.
    results
        .into_iter()
        .map(|result| unsafe { result.assume_init() })
        .collect()
}
