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
/// that.
///
/// ```
/// # fn main() -> Result<(), rayon_core::ThreadPoolBuildError> {
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let index = pool.install(|| rayon_core::current_thread_index());
/// assert!(index.is_some_and(|index| index < 2));
/// # Ok(())
/// # }
/// ```
pub struct ThreadPool {
    registry: Arc<Registry>,
}

assert_size!(ThreadPool: 8);

impl ThreadPool {
    pub(crate) fn new_from(registry: Arc<Registry>) -> Self {
        Self { registry }
    }

    /// Builds a pool with options of the former type.
    ///
    /// ```
    /// # #![allow(deprecated)]
    /// let options = rayon_core::Configuration::new().num_threads(2);
    /// let pool = rayon_core::ThreadPool::new(options).unwrap();
    /// assert_eq!(pool.current_num_threads(), 2);
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error as [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build) does.
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    // Takes the deprecated type.
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }

    /// Runs `op` on a worker of this pool and returns its result. Functions that use "the current
    /// pool" use this pool while `op` runs.
    ///
    /// A worker of this pool calls `op` directly. A worker of another pool continues with that
    /// pool's work until `op` has ended. So its thread may run other jobs between the code before
    /// `install` and the code after it. Any other thread blocks.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let text = String::from("borrowed");
    /// assert_eq!(pool.install(|| (text.len(), rayon_core::current_num_threads())), (8, 2));
    /// ```
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
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// assert_eq!(pool.broadcast(|context| 10 * context.index()), [0, 10, 20]);
    /// ```
    ///
    /// # Panics
    ///
    /// As that function.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(op, &self.registry)
    }

    /// Returns the number of workers of this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 3);
    /// ```
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        self.registry.num_threads()
    }

    /// Returns the calling thread's index if it is a worker of this pool, or else `None`.
    ///
    /// ```
    /// # use rayon_core::ThreadPoolBuilder;
    /// let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.install(|| pool.current_thread_index()), Some(0));
    /// assert_eq!(other.install(|| pool.current_thread_index()), None);
    /// ```
    #[inline]
    pub fn current_thread_index(&self) -> Option<usize> {
        self.with_own_worker(Worker::index)
    }

    /// Returns whether the calling worker's own queue holds jobs, or `None` if the thread is no
    /// worker of this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let (while_first, while_second) = pool.join(
    ///     || pool.current_thread_has_pending_tasks(), // the second closure waits on the queue
    ///     || pool.current_thread_has_pending_tasks(),
    /// );
    /// assert_eq!((while_first, while_second), (Some(true), Some(false)));
    /// assert_eq!(pool.current_thread_has_pending_tasks(), None); // this thread is no worker of it
    /// ```
    #[inline]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.with_own_worker(Worker::has_local_jobs)
    }

    /// Runs [`join`](crate::join()) in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.join(|| "left", || "right"), ("left", "right"));
    /// ```
    ///
    /// # Panics
    ///
    /// As that function.
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
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut squares = [0; 4];
    /// pool.scope(|scope| {
    ///     for (i, square) in squares.iter_mut().enumerate() {
    ///         scope.spawn(move |_| *square = i * i);
    ///     }
    /// });
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// ```
    ///
    /// # Panics
    ///
    /// As that function.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope(op))
    }

    /// Runs [`scope_fifo`](crate::scope_fifo) in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut worker = None;
    /// pool.scope_fifo(|scope| scope.spawn_fifo(|_| worker = rayon_core::current_thread_index()));
    /// assert!(worker.is_some());
    /// ```
    ///
    /// # Panics
    ///
    /// As that function.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope_fifo(op))
    }

    /// Runs [`in_place_scope`](crate::in_place_scope) with jobs in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut worker = None;
    /// pool.in_place_scope(|scope| {
    ///     assert_eq!(pool.current_thread_index(), None); // still the calling thread
    ///     scope.spawn(|_| worker = pool.current_thread_index());
    /// });
    /// assert!(worker.is_some());
    /// ```
    ///
    /// # Panics
    ///
    /// As that function.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_in(&self.registry, op)
    }

    /// Runs [`in_place_scope_fifo`](crate::in_place_scope_fifo) with jobs in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let mut answer = 0;
    /// pool.in_place_scope_fifo(|scope| scope.spawn_fifo(|_| answer = 42));
    /// assert_eq!(answer, 42);
    /// ```
    ///
    /// # Panics
    ///
    /// As that function.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_in(&self.registry, op)
    }

    /// Puts a job into this pool, as [`spawn`](crate::spawn()) does.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn(move || sender.send(6 * 7).unwrap());
    /// drop(pool); // ends it after the job
    /// assert_eq!(receiver.recv(), Ok(42));
    /// ```
    pub fn spawn<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_in(op, &self.registry);
    }

    /// Puts a job into this pool, as [`spawn_fifo`](crate::spawn_fifo) does.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// for i in 0..3 {
    ///     let sender = sender.clone();
    ///     pool.spawn_fifo(move || sender.send(i).unwrap());
    /// }
    /// assert_eq!(receiver.iter().take(3).collect::<Vec<_>>(), [0, 1, 2]);
    /// ```
    pub fn spawn_fifo<OP>(&self, op: OP)
    where
        OP: FnOnce() + Send + 'static,
    {
        spawn::spawn_fifo_in(op, &self.registry);
    }

    /// Puts one job for each worker into this pool, as [`spawn_broadcast`](crate::spawn_broadcast)
    /// does.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    /// let mut reached: Vec<_> = receiver.iter().collect(); // until the closure is dropped
    /// reached.sort();
    /// assert_eq!(reached, [0, 1, 2]);
    /// ```
    pub fn spawn_broadcast<OP>(&self, op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static,
    {
        broadcast::spawn_broadcast_in(op, &self.registry);
    }

    /// Calls [`yield_now`](crate::yield_now) if the calling thread is a worker of this pool.
    /// Otherwise returns `None`.
    ///
    /// ```
    /// use rayon_core::{ThreadPoolBuilder, Yield};
    ///
    /// let pool = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let other = ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// assert_eq!(pool.install(|| pool.yield_now()), Some(Yield::Idle));
    /// assert_eq!(other.install(|| pool.yield_now()), None);
    /// ```
    pub fn yield_now(&self) -> Option<Yield> {
        self.with_own_worker(|worker| Yield::from_executed(worker.run_one(Worker::find_any_job)))
    }

    /// Calls [`yield_local`](crate::yield_local) if the calling thread is a worker of this pool.
    /// Otherwise returns `None`.
    ///
    /// ```
    /// # use rayon_core::Yield;
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    /// let yielded = pool.install(|| {
    ///     rayon_core::spawn(|| ());
    ///     [pool.yield_local(), pool.yield_local()]
    /// });
    /// assert_eq!(yielded, [Some(Yield::Executed), Some(Yield::Idle)]);
    /// ```
    pub fn yield_local(&self) -> Option<Yield> {
        self.with_own_worker(|worker| Yield::from_executed(worker.run_one(Worker::take_local)))
    }

    /// Returns the pool's shared state.
    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
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
