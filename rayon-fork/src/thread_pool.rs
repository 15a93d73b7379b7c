//! The handle of a pool.

use std::error::Error;
use std::sync::Arc;

use crate::broadcast::{self, BroadcastContext};
use crate::current::Yield;
use crate::registry::{Registry, Worker};
use crate::scope::{self, Scope, ScopeFifo};
use crate::spawn;

/// A pool with its own workers, separate from the global pool.
///
/// Dropping this handle ends the pool after all spawned jobs have run. The drop does not wait for
/// the jobs.
pub struct ThreadPool {
    registry: Arc<Registry>,
}

assert_size!(ThreadPool: 8);

impl ThreadPool {
    pub(crate) fn new_from(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// Builds a pool with options of the former type `Configuration`.
    ///
    /// # Errors
    ///
    /// Returns an error as [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) does.
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }

    /// Runs `op` on a worker of this pool and returns its result. Functions that use "the current
    /// pool" use this pool while `op` runs.
    ///
    /// A worker of this pool calls `op` directly. A worker of another pool runs jobs of its own
    /// pool until `op` has ended. Any other thread blocks.
    ///
    /// # Panics
    ///
    /// Resumes the panic of `op`.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        Registry::in_worker(&self.registry, |_, _| op())
    }

    /// Runs [`broadcast`](crate::broadcast()) in this pool.
    ///
    /// # Panics
    ///
    /// Panics as [`broadcast`](crate::broadcast()) does.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(op, &self.registry)
    }

    /// Returns the number of workers of this pool.
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// Returns the calling thread's index if it is a worker of this pool, or else `None`.
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.with_own_worker(Worker::index)
    }

    /// Returns whether the calling worker's own queue holds jobs, or `None` if the thread is no
    /// worker of this pool.
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.with_own_worker(Worker::has_local_jobs)
    }

    /// Runs [`join`](crate::join()) in this pool.
    ///
    /// # Panics
    ///
    /// Panics as [`join`](crate::join()) does.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| crate::join(oper_a, oper_b))
    }

    /// Runs [`scope`](crate::scope()) in this pool.
    ///
    /// # Panics
    ///
    /// Panics as [`scope`](crate::scope()) does.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope(op))
    }

    /// Runs [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// # Panics
    ///
    /// Panics as [`scope_fifo`](crate::scope_fifo) does.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope_fifo(op))
    }

    /// Runs [`in_place_scope`](crate::in_place_scope) with jobs in this pool.
    ///
    /// # Panics
    ///
    /// Panics as [`in_place_scope`](crate::in_place_scope) does.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_in(&self.registry, op)
    }

    /// Runs [`in_place_scope_fifo`](crate::in_place_scope_fifo) with jobs in this pool.
    ///
    /// # Panics
    ///
    /// Panics as [`in_place_scope_fifo`](crate::in_place_scope_fifo) does.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_in(&self.registry, op)
    }

    /// Puts a job into this pool, as [`spawn`](crate::spawn()) does.
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(op, &self.registry);
    }

    /// Puts a job into this pool, as [`spawn_fifo`](crate::spawn_fifo) does.
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_fifo_in(op, &self.registry);
    }

    /// Puts one job for each worker into this pool, as [`spawn_broadcast`](crate::spawn_broadcast)
    /// does.
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(op, &self.registry);
    }

    /// Calls [`yield_now`](crate::yield_now) if the calling thread is a worker of this pool.
    /// Otherwise returns `None`.
    pub fn yield_now(&self) -> Option<Yield> {
        self.is_entered().then(crate::yield_now)?
    }

    /// Calls [`yield_local`](crate::yield_local) if the calling thread is a worker of this pool.
    /// Otherwise returns `None`.
    pub fn yield_local(&self) -> Option<Yield> {
        self.is_entered().then(crate::yield_local)?
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Returns whether the calling thread is a worker of this pool.
    fn is_entered(&self) -> bool {
        self.with_own_worker(|_| ()).is_some()
    }

    fn with_own_worker<R>(&self, ask: impl FnOnce(&Worker) -> R) -> Option<R> {
        Worker::with_current(|worker| {
            worker
                .filter(|worker| worker.is_in(&self.registry))
                .map(ask)
        })
    }
}

impl Drop for ThreadPool {
    fn drop(&mut self) {
        self.registry.drop_reason_to_live();
    }
}
