//! Pools: those that the user builds, and the global pool.

use std::error::Error;
use std::fmt;
use std::sync::OnceLock;
use std::thread;

use crate::{BroadcastContext, Scope, broadcast, missing, rival};

/// The pool for calls from threads that belong to no pool.
pub(crate) fn global() -> &'static ThreadPool {
    static GLOBAL: OnceLock<ThreadPool> = OnceLock::new();
    GLOBAL.get_or_init(|| {
        ThreadPoolBuilder::new()
            .build()
            .expect("as many threads as CPUs are no more than a pool takes")
    })
}

/// Options of a pool, with the names of rayon-core. Only the number of threads affects a rival.
#[derive(Debug, Default)]
pub struct ThreadPoolBuilder {
    threads: usize,
    /// An option that the user set and that no rival has.
    refused: Option<&'static str>,
}

impl ThreadPoolBuilder {
    /// Creates options for a pool with one thread for each CPU.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the number of threads; 0 means one for each CPU.
    #[must_use]
    pub fn num_threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Ignored, because rivals name their threads themselves.
    #[must_use]
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, _name: F) -> Self {
        self
    }

    /// Accepted here, but [`build`](Self::build) then returns an error.
    #[must_use]
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(mut self, _handler: H) -> Self {
        self.refused = Some("start_handler");
        self
    }

    /// Starts the pool.
    ///
    /// # Errors
    /// If the rival does not have a requested option or number of threads.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let threads = match self.threads {
            0 => thread::available_parallelism()
                .map_or(1, usize::from)
                .min(rival::MAX_THREADS),
            asked => asked,
        };
        let refuse = |why: String| Err(ThreadPoolBuildError { why });
        if let Some(option) = self.refused {
            return refuse(format!("`{option}` is not an option of {}", rival::NAME));
        }
        if threads > rival::MAX_THREADS {
            return refuse(format!(
                "{threads} threads are more than the limit of {}: {}",
                rival::NAME,
                rival::MAX_THREADS
            ));
        }
        Ok(ThreadPool {
            threads,
            pool: rival::Pool::start(threads),
        })
    }
}

/// Why a pool was not built.
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    why: String,
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl Error for ThreadPoolBuildError {}

/// A pool of the rival. A thread that calls `install` is one of the pool's threads during the call.
pub struct ThreadPool {
    threads: usize,
    pool: rival::Pool,
}

impl fmt::Debug for ThreadPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A rival does not report the state of its threads.
        f.debug_struct("ThreadPool")
            .field("rival", &rival::NAME)
            .field("threads", &self.threads)
            .finish_non_exhaustive()
    }
}

impl ThreadPool {
    /// Runs `op` on the calling thread as a thread of the pool.
    pub fn install<OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce() -> R + Send,
        R: Send,
    {
        self.enter(op)
    }

    pub(crate) fn enter<R>(&self, op: impl FnOnce() -> R) -> R {
        self.pool.enter(op)
    }

    /// [`scope`](crate::scope()) in this pool.
    pub fn scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R + Send,
        R: Send,
    {
        self.install(|| crate::scope(op))
    }

    /// [`in_place_scope`](crate::in_place_scope) in this pool.
    pub fn in_place_scope<'scope, OP, R>(&self, op: OP) -> R
    where
        OP: FnOnce(&Scope<'scope>) -> R,
    {
        self.enter(|| crate::in_place_scope(op))
    }

    /// Number of threads of the pool, including the thread that calls `install`.
    pub fn current_num_threads(&self) -> usize {
        self.threads
    }

    /// Not implemented; panics.
    pub fn spawn<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        missing::spawn(op);
    }

    /// [`broadcast`](crate::broadcast()) in this pool.
    pub fn broadcast<OP, R>(&self, op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync,
        R: Send,
    {
        broadcast::on(&self.pool, self.threads, op)
    }
}
