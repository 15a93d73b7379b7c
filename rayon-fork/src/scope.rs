//! Any number of jobs that may borrow, because somebody waits for all of them.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

use crate::broadcast::BroadcastContext;
use crate::job::{HeapJob, JobFifo, JobRef, SharedJob};
use crate::latch::{CountLatch, Latch};
use crate::registry::{self, Registry, Worker};
use crate::sync::{AtomicPtr, Ordering};
use crate::unwind::{self, Payload};

/// Where jobs are spawned that may borrow whatever outlives `'scope`; made by [`scope()`].
pub struct Scope<'scope> {
    base: ScopeBase<'scope>,
}

/// As [`Scope`], with jobs that run oldest first; made by [`scope_fifo`].
pub struct ScopeFifo<'scope> {
    base: ScopeBase<'scope>,
    /// One per worker of the scope's pool.
    fifos: Box<[JobFifo]>,
}

/// What both kinds of scope do alike.
struct ScopeBase<'scope> {
    registry: Arc<Registry>,
    /// The first panic, boxed once more to fit a pointer; null while there is none.
    panic: AtomicPtr<Payload>,
    /// Jobs that have not ended, plus one for the closure of the scope itself.
    unfinished: CountLatch,
    /// Both kinds of scope hand `&Scope<'scope>` to jobs that outlive `'scope`: the lifetime must
    /// neither shrink nor grow.
    _invariant: PhantomData<Box<dyn FnOnce(&'scope ()) -> &'scope () + Send + Sync + 'scope>>,
}

/// Runs `op` in the current pool and returns when it and all jobs it spawned, directly or not, have ended.
///
/// ```
/// let mut counts = [0; 8];
/// rayon_core::scope(|scope| {
///     for (i, count) in counts.iter_mut().enumerate() {
///         scope.spawn(move |_| *count = i * i); // borrows from outside the scope
///     }
/// });
/// assert_eq!(counts[7], 49);
/// ```
///
/// `op` runs on a worker: if the caller is none, it moves into the global pool. See
/// [`in_place_scope`] for a closure that must stay.
///
/// # Panics
///
/// With the first panic among `op` and its jobs, after all have ended.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    registry::in_worker(|worker, _| {
        Scope::new(Some(worker), worker.registry()).run(Some(worker), op)
    })
}

/// As [`scope()`], but jobs that one worker spawned run oldest first.
///
/// # Panics
///
/// As [`scope()`].
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    registry::in_worker(|worker, _| {
        ScopeFifo::new(Some(worker), worker.registry()).run(Some(worker), op)
    })
}

/// As [`scope()`], but `op` runs on the calling thread, whatever that is, and so needs not be `Send`.
///
/// Its jobs run in the current pool. At the end the caller goes on with its pool's work until they have
/// ended, or blocks if it is no worker.
///
/// # Panics
///
/// As [`scope()`].
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    registry::with_current(|registry| in_place_scope_in(registry, op))
}

/// [`in_place_scope`] with jobs that run as in [`scope_fifo`].
///
/// # Panics
///
/// As [`scope()`].
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    registry::with_current(|registry| in_place_scope_fifo_in(registry, op))
}

pub(crate) fn in_place_scope_in<'scope, R>(
    registry: &Arc<Registry>,
    op: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    Worker::with_current(|owner| Scope::new(owner, registry).run(owner, op))
}

pub(crate) fn in_place_scope_fifo_in<'scope, R>(
    registry: &Arc<Registry>,
    op: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    Worker::with_current(|owner| ScopeFifo::new(owner, registry).run(owner, op))
}

impl<'scope> Scope<'scope> {
    fn new(owner: Option<&Worker>, registry: &Arc<Registry>) -> Self {
        Self { base: ScopeBase::new(owner, registry) }
    }

    fn run<R>(self, owner: Option<&Worker>, op: impl FnOnce(&Self) -> R) -> R {
        self.base.run(owner, || op(&self))
    }

    /// Puts a job into the scope. It may start at once, and has ended when the scope returns.
    ///
    /// The newest job of a worker runs first. `body` gets the scope, to spawn further jobs.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let this = ScopeRef(ptr::from_ref(self));
        let job = self.base.job(move || {
            // SAFETY: the scope waits for this job, which has not ended.
            body(unsafe { this.get() });
        });
        self.base.registry.submit(job);
    }

    /// Runs `body` once on every worker of the scope's pool before the scope returns.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let this = ScopeRef(ptr::from_ref(self));
        self.base.submit_to_each(move |context| {
            // SAFETY: the scope waits for this job, which has not ended.
            body(unsafe { this.get() }, context);
        });
    }
}

impl<'scope> ScopeFifo<'scope> {
    fn new(owner: Option<&Worker>, registry: &Arc<Registry>) -> Self {
        let fifos = (0..registry.num_threads()).map(|_| JobFifo::new()).collect();
        Self { base: ScopeBase::new(owner, registry), fifos }
    }

    fn run<R>(self, owner: Option<&Worker>, op: impl FnOnce(&Self) -> R) -> R {
        self.base.run(owner, || op(&self))
    }

    /// Puts a job into the scope. It may start at once, and has ended when the scope returns.
    ///
    /// Of the jobs that one worker put into one scope the oldest runs first. `body` gets the scope, to
    /// spawn further jobs.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let this = ScopeRef(ptr::from_ref(self));
        let job = self.base.job(move || {
            // SAFETY: the scope waits for this job, which has not ended.
            body(unsafe { this.get() });
        });
        let registry = &self.base.registry;
        Worker::with_current(|worker| match worker {
            Some(worker) if worker.is_in(registry) => {
                // SAFETY: the scope, and so the FIFO, waits for the job, and the token is executed
                // no later: as many tokens as jobs were executed when the last job runs.
                worker.push(unsafe { self.fifos[worker.index()].push(job) });
            }
            _ => registry.inject(job),
        });
    }

    /// Runs `body` once on every worker of the scope's pool before the scope returns.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        let this = ScopeRef(ptr::from_ref(self));
        self.base.submit_to_each(move |context| {
            // SAFETY: the scope waits for this job, which has not ended.
            body(unsafe { this.get() }, context);
        });
    }
}

impl<'scope> ScopeBase<'scope> {
    fn new(owner: Option<&Worker>, registry: &Arc<Registry>) -> Self {
        Self {
            registry: Arc::clone(registry),
            panic: AtomicPtr::new(ptr::null_mut()),
            unfinished: CountLatch::new(1, owner),
            _invariant: PhantomData,
        }
    }

    /// Runs the scope's own closure, waits for all jobs, and resumes the first panic.
    fn run<R>(&self, owner: Option<&Worker>, op: impl FnOnce() -> R) -> R {
        let result = self.run_counted(op);
        self.unfinished.wait(owner);
        // ORDERING: Relaxed would do, since the latch orders us after every job; acquire pairs with
        // the exchange in `run_counted` for the reader's peace.
        let panic = self.panic.swap(ptr::null_mut(), Ordering::Acquire);
        if !panic.is_null() {
            drop(result);
            // SAFETY: `run_counted` leaked this box and stored it once; the swap took it out.
            unwind::resume(*unsafe { Box::from_raw(panic) });
        }
        result.expect("the closure of a scope without a panic has returned")
    }

    /// Runs one of the things that `unfinished` counts. `None` if it panicked.
    fn run_counted<R>(&self, body: impl FnOnce() -> R) -> Option<R> {
        let this = ptr::from_ref(self);
        let result = match unwind::capture(body) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.keep_if_first(payload);
                None
            }
        };
        // SAFETY: the scope lives until its count is zero; it is not touched after this.
        unsafe { CountLatch::set(&raw const (*this).unfinished) };
        result
    }

    fn keep_if_first(&self, payload: Payload) {
        // Relaxed: a stale null is corrected by the exchange.
        if !self.panic.load(Ordering::Relaxed).is_null() {
            return;
        }
        let boxed = Box::into_raw(Box::new(payload));
        // ORDERING: Release publishes the payload to the swap in `run`; a loser reads nothing.
        let won = self.panic.compare_exchange(
            ptr::null_mut(),
            boxed,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if won.is_err() {
            // SAFETY: leaked two lines above and not stored.
            drop(unsafe { Box::from_raw(boxed) });
        }
    }

    /// A job that the scope waits for.
    fn job(&self, body: impl FnOnce() + Send + 'scope) -> JobRef {
        self.unfinished.add(1);
        let this = ScopeRef(ptr::from_ref(self));
        // SAFETY: what `body` borrows outlives 'scope, which outlives the wait for this job, and
        // `run_counted` lets no panic out. The scope itself waits too.
        unsafe {
            HeapJob::new_ref(move || {
                this.get().run_counted(body);
            })
        }
    }

    fn submit_to_each(&self, body: impl Fn(BroadcastContext<'_>) + Send + Sync + 'scope) {
        let workers = self.registry.num_threads();
        self.unfinished.add(workers);
        let this = ScopeRef(ptr::from_ref(self));
        let job = SharedJob::new(move || {
            // SAFETY: the scope waits for this share, which has not ended.
            unsafe { this.get() }.run_counted(|| BroadcastContext::with(&body));
        });
        // SAFETY: as in `job`.
        self.registry.submit_to_each((0..workers).map(|_| unsafe { SharedJob::new_ref(&job) }));
    }
}

/// A scope as its jobs know it: it cannot be a reference, since the scope may be freed while the job
/// that ended it is still returning.
struct ScopeRef<T>(*const T);

// SAFETY: scopes are `Sync`, and `get`'s callers vouch for the lifetime.
unsafe impl<T: Sync> Send for ScopeRef<T> {}
// SAFETY: as above; a shared `ScopeRef` gives only shared access.
unsafe impl<T: Sync> Sync for ScopeRef<T> {}

impl<T> ScopeRef<T> {
    /// # Safety
    ///
    /// The scope has not ended.
    unsafe fn get<'a>(&self) -> &'a T {
        // SAFETY: the caller's promise.
        unsafe { &*self.0 }
    }
}

impl fmt::Debug for ScopeBase<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: a glimpse for people.
        let has_panicked = !self.panic.load(Ordering::Relaxed).is_null();
        f.debug_struct("ScopeBase")
            .field("pool", &self.registry.id())
            .field("has_panicked", &has_panicked)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Scope<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scope").field(&self.base).finish()
    }
}

impl fmt::Debug for ScopeFifo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopeFifo")
            .field("base", &self.base)
            .field("fifos", &self.fifos.len())
            .finish()
    }
}
