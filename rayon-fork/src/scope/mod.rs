//! Any number of jobs that may borrow, because somebody waits for all of them.

mod base;

use std::fmt;
use std::ptr;
use std::sync::Arc;

use self::base::{ScopeBase, ScopeRef};
use crate::broadcast::BroadcastContext;
use crate::job::JobFifo;
use crate::registry::{self, Registry, Worker};

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
