//! Broadcasts: one closure runs once on every worker of a pool.

use std::fmt;
use std::sync::Arc;

use crate::job::StackJob;
use crate::latch::CountLatch;
use crate::registry::{self, Registry, Worker};
use crate::spawn;
use crate::unwind;

/// The context of a broadcast closure: it describes the worker on which the closure runs.
pub struct BroadcastContext<'a> {
    worker: &'a Worker,
}

impl BroadcastContext<'_> {
    pub(crate) fn with<R>(body: impl FnOnce(BroadcastContext<'_>) -> R) -> R {
        // SAFETY: only `body` uses the reference, and cannot keep it after it returns.
        let worker = unsafe { Worker::running() };
        body(BroadcastContext { worker })
    }

    /// Returns the index of this worker in the pool: `0..num_threads`.
    #[inline]
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// Returns the number of workers of the pool, all of which run this broadcast.
    #[inline]
    pub fn num_threads(&self) -> usize {
        self.worker.registry().num_threads()
    }
}

impl fmt::Debug for BroadcastContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastContext")
            .field("index", &self.index())
            .field("num_threads", &self.num_threads())
            .field("pool", &self.worker.registry().id())
            .finish()
    }
}

/// Runs `op` once on every worker of the current pool and returns the results by worker index.
///
/// A worker runs its share when its own queue is empty, before it steals. A caller that is a worker
/// runs other jobs meanwhile. Any other caller blocks.
///
/// ```
/// let squares = rayon_core::broadcast(|context| context.index() * context.index());
/// assert!(squares.iter().enumerate().all(|(i, &square)| square == i * i));
/// ```
///
/// # Panics
///
/// Resumes the panic of one of the shares, after all have ended. The payloads of other panics are
/// dropped, as in [`scope()`](crate::scope()).
pub fn broadcast<OP, R>(op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    // SAFETY: the reference is not used after this function returns.
    broadcast_in(op, unsafe { registry::current() })
}

/// Runs `op` once on every worker of the current pool at some later time, and returns at once.
///
/// The panic of a share goes to the pool's panic handler, or aborts the process. A panic of the
/// last share's drop of `op` also goes to the panic handler, or aborts the process.
pub fn spawn_broadcast<OP>(op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    // SAFETY: the reference is not used after this function returns.
    spawn_broadcast_in(op, unsafe { registry::current() });
}

pub(crate) fn broadcast_in<OP, R>(op: OP, registry: &Arc<Registry>) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync,
    R: Send,
{
    // SAFETY: the reference is not used after this function returns.
    let caller = unsafe { Worker::current() };
    let share = |_migrated| BroadcastContext::with(&op);
    let latch = CountLatch::new(registry.num_threads(), caller);
    let jobs: Vec<_> = (0..registry.num_threads())
        .map(|_| StackJob::new(&latch, &share))
        .collect();
    let may_be_soon = registry.may_respond_soon();
    registry.submit_to_each(jobs.iter().map(|job| {
        // SAFETY: we wait until every job has set the latch, so the jobs and their borrows stay
        // alive until then.
        unsafe { job.as_job_ref() }
    }));
    latch.wait(caller, may_be_soon);
    let mut first = None;
    let mut keep_if_first = |payload| match &first {
        None => first = Some(payload),
        Some(_) => unwind::discard(payload),
    };
    let outcomes = jobs.into_iter().map(StackJob::into_outcome);
    let results = outcomes
        .filter_map(|outcome| outcome.map_err(&mut keep_if_first).ok())
        .collect();
    match first {
        None => results,
        Some(payload) => unwind::resume(payload),
    }
}

pub(crate) fn spawn_broadcast_in<OP>(op: OP, registry: &Arc<Registry>)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
{
    // Each worker gets a job of its own, so that the last share drops the captures of `op` inside a
    // job, which catches panics.
    let op = Arc::new(op);
    let ops = vec![op; registry.num_threads()];
    let share = |op: Arc<OP>| {
        let share = move || BroadcastContext::with(&*op);
        spawn::detached(share, registry)
    };
    registry.submit_to_each(ops.into_iter().map(share));
}
