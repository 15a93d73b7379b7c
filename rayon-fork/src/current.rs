//! Functions by which a thread asks about its pool, or runs one of the pool's jobs.

use crate::registry::{self, Worker};
use crate::sleep;

/// The result of [`yield_now`] or [`yield_local`].
///
/// ```
/// use rayon_core::{Yield, yield_now};
///
/// // Runs all waiting jobs, and counts them.
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let jobs_run = pool.install(|| {
///     (0..5).for_each(|_| rayon_core::spawn(|| ()));
///     let yields = std::iter::repeat_with(yield_now);
///     yields.take_while(|&came_to| came_to == Some(Yield::Executed)).count()
/// });
/// assert_eq!(jobs_run, 5);
/// ```
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
    // SAFETY: used until this returns.
    let worker = unsafe { Worker::current() }?;
    Some(Yield::from_executed(worker.run_one(Worker::find_any_job)))
}

/// As [`yield_now`], but runs only a job that waits in the calling worker's own queues.
///
/// ```
/// use rayon_core::{Yield, yield_local};
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// pool.install(|| {
///     rayon_core::spawn(|| ());
///     assert_eq!(yield_local(), Some(Yield::Executed));
///     assert_eq!(yield_local(), Some(Yield::Idle));
/// });
/// assert_eq!(yield_local(), None); // no worker
/// ```
pub fn yield_local() -> Option<Yield> {
    // SAFETY: used until this returns.
    let worker = unsafe { Worker::current() }?;
    Some(Yield::from_executed(worker.run_one(Worker::take_local)))
}

/// Returns the calling thread's index in its pool, `0..num_threads`, or `None` if the thread is no
/// worker.
///
/// Workers of different pools may have the same index.
///
/// ```
/// use rayon_core::current_thread_index;
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
/// assert_eq!(pool.broadcast(|_| current_thread_index()), [Some(0), Some(1)]);
/// assert_eq!(current_thread_index(), None);
/// ```
#[inline]
pub fn current_thread_index() -> Option<usize> {
    Worker::with_current(|worker| worker.map(Worker::index))
}

/// Returns whether the calling worker's own queue holds jobs, or `None` if the thread is no worker.
///
/// This is a hint for code that decides whether to split its work further. An empty queue means
/// that thieves took everything.
///
/// ```
/// use rayon_core::current_thread_has_pending_tasks;
///
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// pool.install(|| {
///     assert_eq!(current_thread_has_pending_tasks(), Some(false));
///     rayon_core::spawn(|| ());
///     assert_eq!(current_thread_has_pending_tasks(), Some(true));
/// });
/// assert_eq!(current_thread_has_pending_tasks(), None);
/// ```
#[inline]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    Worker::with_current(|worker| worker.map(Worker::has_local_jobs))
}

/// Returns the number of workers of the current pool. Starts the global pool if the calling thread
/// is no worker.
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
/// assert_eq!(pool.install(rayon_core::current_num_threads), 3);
/// ```
#[inline]
pub fn current_num_threads() -> usize {
    Worker::with_current(|worker| match worker {
        Some(worker) => worker.registry().num_threads(),
        None => registry::global().num_threads(),
    })
}

/// Returns the largest number of workers that a pool can have: 65 535, or 255 where pointers have
/// 32 bits.
///
/// ```
/// let wanted = 100_000;
/// let workers = wanted.min(rayon_core::max_num_threads()); // what `num_threads(wanted)` would give
/// assert!(workers < wanted);
/// ```
#[inline]
pub fn max_num_threads() -> usize {
    sleep::MAX_WORKERS
}
