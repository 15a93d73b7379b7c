//! One thread that is about to become a worker, and the ways to start it.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::deque::{JobDeque, Stealer};
use crate::job::JobRef;
use crate::registry::{self, Registry};
use crate::sync::thread;

/// A thread that is about to become a worker. A [spawn
/// handler](crate::ThreadPoolBuilder::spawn_handler) receives it, and so does the wrapper of
/// [`build_scoped`](crate::ThreadPoolBuilder::build_scoped).
///
/// The receiver must call [`run`](Self::run) on a thread of its own. Otherwise the pool has one
/// worker less, and jobs may wait for ever.
///
/// ```
/// use rayon_core::{ThreadBuilder, ThreadPoolBuilder};
/// use std::thread;
///
/// fn start(worker: ThreadBuilder) -> std::io::Result<()> {
///     let mut builder = thread::Builder::new().name(format!("crunch {}", worker.index()));
///     if let Some(bytes) = worker.stack_size() {
///         builder = builder.stack_size(bytes);
///     }
///     builder.spawn(|| worker.run()).map(drop)
/// }
/// let pool = ThreadPoolBuilder::new().num_threads(2).spawn_handler(start).build().unwrap();
/// let name = pool.install(|| thread::current().name().map(str::to_owned));
/// assert!(name.unwrap().starts_with("crunch "));
/// ```
pub struct ThreadBuilder {
    pub(crate) name: Option<String>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) deque: JobDeque<JobRef>,
    pub(crate) broadcasts: Stealer<JobRef>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) index: usize,
}

impl ThreadBuilder {
    /// Returns the index of the worker in the pool: `0..num_threads`.
    ///
    /// ```
    /// # use rayon_core::ThreadPoolBuilder;
    /// let mut seen = Vec::new();
    /// let _pool = ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|worker| {
    ///         seen.push(worker.index());
    ///         std::thread::spawn(|| worker.run());
    ///         Ok(())
    ///     })
    ///     .build()
    ///     .unwrap();
    /// assert_eq!(seen, [0, 1]);
    /// ```
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the worker's name: the result of the closure of
    /// [`thread_name`](crate::ThreadPoolBuilder::thread_name), if one was set.
    ///
    /// ```
    /// # use rayon_core::ThreadPoolBuilder;
    /// let mut seen = Vec::new();
    /// let _pool = ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .thread_name(|index| format!("w{index}"))
    ///     .spawn_handler(|worker| {
    ///         seen.push(worker.name().map(str::to_owned));
    ///         std::thread::spawn(|| worker.run());
    ///         Ok(())
    ///     })
    ///     .build()
    ///     .unwrap();
    /// assert_eq!(seen, [Some("w0".to_owned()), Some("w1".to_owned())]);
    /// ```
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the stack size in bytes that was set by
    /// [`stack_size`](crate::ThreadPoolBuilder::stack_size), if any.
    ///
    /// ```
    /// # use rayon_core::ThreadPoolBuilder;
    /// let mut seen = Vec::new();
    /// let _pool = ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .stack_size(1 << 20)
    ///     .spawn_handler(|worker| {
    ///         seen.push(worker.stack_size());
    ///         std::thread::spawn(|| worker.run());
    ///         Ok(())
    ///     })
    ///     .build()
    ///     .unwrap();
    /// assert_eq!(seen, [Some(1 << 20); 2]);
    /// ```
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool on the calling thread. Returns when the pool has ended. Then the thread
    /// is no longer a worker, and may become a worker of another pool.
    ///
    /// ```
    /// use rayon_core::{ThreadPoolBuilder, current_thread_index};
    /// use std::sync::mpsc;
    ///
    /// let (sender, receiver) = mpsc::channel();
    /// let thread = std::thread::spawn(move || {
    ///     let worker: rayon_core::ThreadBuilder = receiver.recv().unwrap();
    ///     worker.run(); // for as long as there is the pool
    ///     assert_eq!(current_thread_index(), None);
    /// });
    /// let hand_over = |worker| {
    ///     sender.send(worker).unwrap();
    ///     Ok(())
    /// };
    /// let pool = ThreadPoolBuilder::new().num_threads(1).spawn_handler(hand_over).build().unwrap();
    /// assert_eq!(pool.install(current_thread_index), Some(0));
    /// drop(pool);
    /// thread.join().unwrap();
    /// ```
    ///
    /// # Panics
    ///
    /// Panics if the calling thread is a worker already.
    pub fn run(self) {
        registry::run_worker(self);
    }

    /// Returns a `std` builder with the requested name and stack size.
    pub(crate) fn to_std(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("pool", &self.registry.id())
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// How a pool starts its threads. This is a bound that users meet but cannot name.
pub trait ThreadSpawn {
    /// Starts a thread that calls [`ThreadBuilder::run`].
    ///
    /// # Errors
    ///
    /// Returns an error if the thread cannot be started.
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

/// Starts threads with [`std::thread::Builder`].
#[derive(Debug, Default)]
pub struct DefaultSpawn(());

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        thread.to_std().spawn(|| thread.run()).map(drop)
    }
}

/// Starts threads with the closure of [`spawn_handler`](crate::ThreadPoolBuilder::spawn_handler).
#[derive(Debug)]
pub struct CustomSpawn<F>(pub(crate) F);

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}
