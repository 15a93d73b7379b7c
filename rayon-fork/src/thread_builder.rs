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
/// [`build_scoped`](crate::ThreadPoolBuilder::build_scoped). The receiver must call
/// [`run`](Self::run) on a thread of its own. If the receiver does not, jobs may wait for ever.
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
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the worker's name: the result of the closure of
    /// [`thread_name`](crate::ThreadPoolBuilder::thread_name), if the builder has such a closure.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the stack size in bytes that was set by
    /// [`stack_size`](crate::ThreadPoolBuilder::stack_size), if any.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Works for the pool on the calling thread. Returns when the pool has ended. Then the thread
    /// is no longer a worker, and may become a worker of another pool.
    ///
    /// # Panics
    ///
    /// Panics if the calling thread is a worker already.
    pub fn run(self) {
        registry::run_worker(self);
    }

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

/// How a pool starts its threads. Public functions have this trait as a bound, but users cannot
/// name it.
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
