//! What a thread may ask about the pool it works for, and how it lends that pool a hand.

use crate::registry::{self, Worker};
use crate::sleep;

/// What [`yield_now`] or [`yield_local`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job was found and has run.
    Executed,
    /// There was none.
    Idle,
}

impl Yield {
    pub(crate) fn from_executed(executed: bool) -> Self {
        if executed { Self::Executed } else { Self::Idle }
    }
}

/// Runs one waiting job of the current pool, from wherever it waits, on the calling worker.
/// `None` if the thread is no worker. Never blocks.
///
/// For a worker that waits for something the pool does not know of, such as a flag.
pub fn yield_now() -> Option<Yield> {
    Worker::with_current(|worker| worker.map(|worker| Yield::from_executed(worker.run_one())))
}

/// As [`yield_now`], but only a job that waits in the calling worker's own queues.
pub fn yield_local() -> Option<Yield> {
    Worker::with_current(|worker| worker.map(|worker| Yield::from_executed(worker.run_one_local())))
}

/// The calling thread's index in its pool, `0..num_threads`; `None` if it is no worker.
///
/// Two pools have workers of the same index.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Worker::with_current(|worker| worker.map(Worker::index))
}

/// Whether the calling worker's own queue holds jobs; `None` if the thread is no worker.
///
/// A hint for code that decides whether to split further: an empty queue means that thieves took
/// everything.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::with_current(|worker| worker.map(Worker::has_local_jobs))
}

/// Number of workers of the current pool. Starts the global pool if the thread is no worker.
#[inline]
pub fn current_num_threads() -> usize {
    Worker::with_current(|worker| match worker {
        Some(worker) => worker.registry().num_threads(),
        None => registry::global().num_threads(),
    })
}

/// The most workers that a pool can have: 65 535, or 255 where pointers have 32 bits.
#[inline]
pub fn max_num_threads() -> usize {
    sleep::MAX_WORKERS
}
