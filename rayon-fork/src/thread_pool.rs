//! The handle of a pool.

use std::error::Error;
use std::sync::Arc;

use crate::broadcast::{self, BroadcastContext};
use crate::current::Yield;
use crate::hooks;
use crate::registry::{Registry, Worker};
use crate::scope::{self, Scope, ScopeFifo};
use crate::spawn;

/// A pool of workers of its own, beside the global one.
///
/// Dropping the handle ends the pool, after all spawned jobs have run, and does not wait for it.
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

    /// Builds a pool with the former options.
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
    /// As [`ThreadPoolBuilder::build`](crate::ThreadPoolBuilder::build).
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    // Takes the deprecated type.
    #[allow(deprecated)]
    pub fn new(configuration: crate::Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }

    /// Runs `op` on a worker of this pool and returns its result. Everything it calls that uses
    /// "the current pool" uses this one.
    ///
    /// On a worker of the pool `op` is simply called. A worker of another pool goes on with that
    /// pool's work meanwhile, so code before and after `install` may see other jobs run in between
    /// on its thread. Any other thread blocks.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// let text = String::from("borrowed");
    /// assert_eq!(pool.install(|| (text.len(), rayon_core::current_num_threads())), (8, 2));
    /// ```
    ///
    /// # Panics
    ///
    /// With the panic of `op`.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        Registry::in_worker(&self.registry, |_, _| op())
    }

    /// [`broadcast`](crate::broadcast()) in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// assert_eq!(pool.broadcast(|context| 10 * context.index()), [0, 10, 20]);
    /// ```
    ///
    /// # Panics
    ///
    /// As there.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::broadcast_in(op, &self.registry)
    }

    /// Number of workers.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    /// assert_eq!(pool.current_num_threads(), 3);
    /// ```
    #[inline]
    pub fn current_num_threads(&self) -> usize {
        hooks::threads_to_split_for(self.registry.num_threads())
    }

    /// The calling thread's index, if it is a worker of this pool.
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

    /// Whether the calling worker's own queue holds jobs, if it is a worker of this pool.
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

    /// [`join`](crate::join()) in this pool.
    ///
    /// ```
    /// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    /// assert_eq!(pool.join(|| "left", || "right"), ("left", "right"));
    /// ```
    ///
    /// # Panics
    ///
    /// As there.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.install(|| crate::join(oper_a, oper_b))
    }

    /// [`scope`](crate::scope()) in this pool.
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
    /// As there.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope(op))
    }

    /// [`scope_fifo`](crate::scope_fifo) in this pool.
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
    /// As there.
    pub fn scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope_fifo(op))
    }

    /// [`in_place_scope`](crate::in_place_scope) with jobs in this pool.
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
    /// As there.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        scope::in_place_scope_in(&self.registry, op)
    }

    /// [`in_place_scope_fifo`](crate::in_place_scope_fifo) with jobs in this pool.
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
    /// As there.
    pub fn in_place_scope_fifo<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&ScopeFifo<'scope>) -> R,
    {
        scope::in_place_scope_fifo_in(&self.registry, op)
    }

    /// [`spawn`](crate::spawn()) into this pool.
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

    /// [`spawn_fifo`](crate::spawn_fifo) into this pool.
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

    /// [`spawn_broadcast`](crate::spawn_broadcast) into this pool.
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

    /// [`yield_now`](crate::yield_now) if the calling thread is a worker of this pool.
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

    /// [`yield_local`](crate::yield_local) if the calling thread is a worker of this pool.
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

    /// What the handle leads to.
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
