//! Functions by which a thread asks about its pool, or runs one of the pool's jobs.

use crate::registry::{self, Worker};
use crate::sleep;

/// The result of [`yield_now`] or [`yield_local`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// The worker found a job and ran it.
    Executed,
    /// There was no job to run.
    Idle,
}

impl Yield {
    pub(crate) fn from_executed(executed: bool) -> Self {
        if executed { Self::Executed } else { Self::Idle }
    }
}

/// Runs one waiting job of the current pool on the calling worker, wherever that job waits. Returns
/// `None` if the calling thread is no worker. Never blocks.
///
/// Use this on a worker that waits for something the pool does not know of, such as a flag.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// pool.install(|| {
///     let is_done = Arc::new(AtomicBool::new(false));
///     let done = Arc::clone(&is_done);
///     rayon_core::spawn(move || done.store(true, Ordering::Release));
///     while !is_done.load(Ordering::Acquire) {
///         rayon_core::yield_now(); // otherwise the only worker would wait for itself
///     }
/// });
/// ```
pub fn yield_now() -> Option<Yield> {
    // SAFETY: the reference is not used after this function returns.
    let worker = unsafe { Worker::current() }?;
    Some(Yield::from_executed(worker.run_one(Worker::find_any_job)))
}

/// Does the same as [`yield_now`], but runs only a job that waits in the calling worker's own
/// queues.
pub fn yield_local() -> Option<Yield> {
    // SAFETY: the reference is not used after this function returns.
    let worker = unsafe { Worker::current() }?;
    Some(Yield::from_executed(worker.run_one(Worker::take_local)))
}

/// Returns the calling thread's index in its pool, `0..num_threads`, or `None` if the thread is no
/// worker. Workers of different pools may have the same index.
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Worker::with_current(|worker| worker.map(Worker::index))
}

/// Returns whether the calling worker's own queue holds jobs, or `None` if the thread is no worker.
/// An empty queue may mean that thieves took everything, so code may split its work further.
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::with_current(|worker| worker.map(Worker::has_local_jobs))
}

/// Returns the number of workers of the current pool. Starts the global pool if the calling thread
/// is no worker.
#[inline]
pub fn current_num_threads() -> usize {
    Worker::with_current(|worker| match worker {
        Some(worker) => worker.registry().num_threads(),
        None => registry::global().num_threads(),
    })
}

/// Returns the largest number of workers that a pool can have: 65 535, or 255 where pointers have
/// 32 bits.
#[inline]
pub fn max_num_threads() -> usize {
    sleep::MAX_WORKERS
}
