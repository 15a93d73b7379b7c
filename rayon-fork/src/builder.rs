//! Options of a pool.

use std::fmt;
use std::io;
use std::sync::Arc;

use crate::error::ThreadPoolBuildError;
use crate::registry::{self, Registry};
use crate::sync::thread;
use crate::thread_builder::{CustomSpawn, DefaultSpawn, ThreadBuilder, ThreadSpawn};
use crate::thread_count;
use crate::thread_pool::ThreadPool;
use crate::unwind::{self, Payload};

type NameClosure = Box<dyn FnMut(usize) -> String>;
type PanicHandler = Box<dyn Fn(Payload) + Send + Sync>;
type IndexHandler = Box<dyn Fn(usize) + Send + Sync>;

#[derive(Default)]
pub(crate) struct Handlers {
    pub(crate) panic: Option<PanicHandler>,
    pub(crate) start: Option<IndexHandler>,
    pub(crate) exit: Option<IndexHandler>,
}

pub(crate) struct PoolPlan {
    pub(crate) workers: usize,
    pub(crate) adopts_current_thread: bool,
    pub(crate) name: Option<NameClosure>,
    pub(crate) stack_size: Option<usize>,
    pub(crate) is_fifo: bool,
    pub(crate) handlers: Handlers,
}

/// Options for a [`ThreadPool`] or for the global pool.
///
/// Every setter takes the builder and returns it:
///
/// ```
/// # fn main() -> Result<(), rayon_core::ThreadPoolBuildError> {
/// let pool = rayon_core::ThreadPoolBuilder::new()
///     .num_threads(3)
///     .thread_name(|index| format!("solver-{index}"))
///     .build()?;
/// assert_eq!(pool.current_num_threads(), 3);
/// # Ok(())
/// # }
/// ```
///
/// `S` determines how the pool starts its threads. By default, the pool starts its threads with
/// [`std::thread::Builder`]; [`spawn_handler`](Self::spawn_handler) changes this.
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    thread_name: Option<NameClosure>,
    stack_size: Option<usize>,
    breadth_first: bool,
    handlers: Handlers,
    spawn: S,
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            use_current_thread: false,
            thread_name: None,
            stack_size: None,
            breadth_first: false,
            handlers: Handlers::default(),
            spawn: DefaultSpawn::default(),
        }
    }
}

impl ThreadPoolBuilder {
    /// Creates a builder with default options. The environment or the machine determines the number
    /// of threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads may borrow from the caller, and ends the pool before it returns.
    ///
    /// Each new thread calls `wrapper`, which must call [`ThreadBuilder::run`]. The calling thread
    /// calls `with_pool`. When `with_pool` returns, the pool ends. This function joins all threads,
    /// with their thread-locals, and then returns the result of `with_pool`.
    ///
    /// ```
    /// # fn main() -> Result<(), rayon_core::ThreadPoolBuildError> {
    /// let limit = 100; // borrowed by every worker
    /// let sum = rayon_core::ThreadPoolBuilder::new().num_threads(2).build_scoped(
    ///     |thread| {
    ///         assert_eq!(limit, 100);
    ///         thread.run();
    ///     },
    ///     |pool| pool.install(|| (0..limit).sum::<u32>()),
    /// )?;
    /// assert_eq!(sum, 4950);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if a thread cannot be started.
    ///
    /// # Panics
    ///
    /// Resumes the panic of `with_pool`, after all threads have ended. If only a `wrapper` panics,
    /// this function panics with a message of its own.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        let wrapper = &wrapper;
        thread::scope(|threads| {
            let mut started = Vec::new();
            let outcome = unwind::capture(|| {
                let start = |thread: ThreadBuilder| {
                    let builder = thread.to_std();
                    started.push(builder.spawn_scoped(threads, move || wrapper(thread))?);
                    Ok(())
                };
                let pool = self.spawn_handler(start).build()?;
                // The threads end because the pool is dropped here, also when `with_pool` panics.
                Ok(with_pool(&pool))
            });
            // The scope waits only for the closures of the threads. Without these joins, the
            // threads' thread-locals could still exist, and the threads could still count against a
            // limit.
            let mut has_panicked = false;
            for thread in started {
                if let Err(payload) = thread.join() {
                    unwind::discard(payload);
                    has_panicked = true;
                }
            }
            let result = outcome.unwrap_or_else(|payload| unwind::resume(payload));
            // This is the message of the standard library for a scoped thread that has panicked.
            assert!(!has_panicked, "a scoped thread panicked");
            result
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool. This function returns as soon as the threads are started; some of them may
    /// not run yet.
    ///
    /// # Errors
    ///
    /// Returns an error if a thread cannot be started, or if
    /// [`use_current_thread`](Self::use_current_thread) was called on a thread that is a worker
    /// already. Workers that were started before the error end again.
    ///
    /// # Panics
    ///
    /// Resumes the panic of the thread name closure or of the spawn handler.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        self.start().map(ThreadPool::new_from)
    }

    /// Builds the global pool, and waits until its workers run. The global pool serves calls that
    /// name no pool, from threads that are no workers. Without this call, the global pool is built
    /// with default options when it is first needed.
    ///
    /// # Errors
    ///
    /// Returns an error as [`build`](Self::build) does, or if the global pool was built before, or
    /// an attempt to build it failed before.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        registry::build_global(|| self.start())?.wait_until_up();
        Ok(())
    }

    pub(crate) fn start(self) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        let plan = PoolPlan {
            workers: thread_count::workers_of(self.num_threads),
            adopts_current_thread: self.use_current_thread,
            name: self.thread_name,
            stack_size: self.stack_size,
            is_fifo: self.breadth_first,
            handlers: self.handlers,
        };
        let mut spawn = self.spawn;
        // The closure owns `spawn`: if the drop of `spawn` panics, the pool ends.
        Registry::start(plan, move |thread| spawn.spawn(thread))
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Starts threads with `spawn` instead of [`std::thread::Builder`].
    ///
    /// `spawn` must arrange that a new thread calls [`ThreadBuilder::run`]. `spawn` should honour
    /// the name and the stack size of its argument. The pool never joins such threads.
    ///
    /// ```
    /// # fn main() -> Result<(), rayon_core::ThreadPoolBuildError> {
    /// let pool = rayon_core::ThreadPoolBuilder::new()
    ///     .num_threads(2)
    ///     .spawn_handler(|thread| {
    ///         std::thread::Builder::new().spawn(|| thread.run())?;
    ///         Ok(())
    ///     })
    ///     .build()?;
    /// assert_eq!(pool.install(|| 6 * 7), 42);
    /// # Ok(())
    /// # }
    /// ```
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            breadth_first: self.breadth_first,
            handlers: self.handlers,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Names worker `i` with the result of `closure(i)`. Without this call, workers have no name.
    pub fn thread_name<F>(mut self, closure: F) -> Self
    where
        F: FnMut(usize) -> String + 'static,
    {
        self.thread_name = Some(Box::new(closure));
        self
    }

    /// Sets the number of workers. With 0, the default, the variable `RAYON_NUM_THREADS` decides,
    /// then the older `RAYON_RS_NUM_CPUS`, then [`std::thread::available_parallelism`].
    ///
    /// A number above [`max_num_threads`](crate::max_num_threads) is reduced to that maximum.
    pub fn num_threads(mut self, num_threads: usize) -> Self {
        self.num_threads = num_threads;
        self
    }

    /// Makes the calling thread worker 0 of the pool, for the rest of the thread's life.
    ///
    /// The pool starts only `num_threads - 1` threads. The calling thread works for the pool only
    /// while it is inside a call of this crate that waits or yields. Start and exit handlers do not
    /// run for this worker. The memory of this worker is never freed.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Handles panics that no thread waits for: those of spawned jobs and of start and exit
    /// handlers.
    ///
    /// The handler runs on the worker that panicked, perhaps on several workers at once. Without a
    /// handler, or if the handler panics itself, such a panic aborts the process.
    pub fn panic_handler<H>(mut self, panic_handler: H) -> Self
    where
        H: Fn(Box<dyn std::any::Any + Send>) + Send + Sync + 'static,
    {
        self.handlers.panic = Some(Box::new(panic_handler));
        self
    }

    /// Sets the workers' stack size in bytes.
    pub fn stack_size(mut self, stack_size: usize) -> Self {
        self.stack_size = Some(stack_size);
        self
    }

    /// Makes workers take the oldest of their own jobs first.
    #[deprecated(note = "use `scope_fifo` and `spawn_fifo` for jobs that must run oldest first")]
    pub fn breadth_first(mut self) -> Self {
        self.breadth_first = true;
        self
    }

    /// Calls `start_handler` on each worker before its first job, with the worker's index.
    /// [`use_current_thread`](Self::use_current_thread) is an exception.
    pub fn start_handler<H>(mut self, start_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.start = Some(Box::new(start_handler));
        self
    }

    /// Calls `exit_handler` on each worker after its last job, with the worker's index.
    /// [`use_current_thread`](Self::use_current_thread) is an exception.
    pub fn exit_handler<H>(mut self, exit_handler: H) -> Self
    where
        H: Fn(usize) + Send + Sync + 'static,
    {
        self.handlers.exit = Some(Box::new(exit_handler));
        self
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn closure<T>(option: Option<&T>) -> Option<fmt::Arguments<'static>> {
            option.map(|_| format_args!("<closure>"))
        }
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("thread_name", &closure(self.thread_name.as_ref()))
            .field("panic_handler", &closure(self.handlers.panic.as_ref()))
            .field("stack_size", &self.stack_size)
            .field("start_handler", &closure(self.handlers.start.as_ref()))
            .field("exit_handler", &closure(self.handlers.exit.as_ref()))
            .field("breadth_first", &self.breadth_first)
            .finish_non_exhaustive()
    }
}
