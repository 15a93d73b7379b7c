//! Scopes: any number of jobs that may borrow, because a thread waits for all of them.

mod base;

use std::fmt;
use std::ptr;
use std::sync::Arc;

use self::base::{HasBase, ScopeBase};
use crate::broadcast::BroadcastContext;
use crate::job::JobFifo;
use crate::registry::{self, Registry, Worker};

/// A scope for jobs that may borrow anything that outlives `'scope`; [`scope()`] creates it.
pub struct Scope<'scope> {
    base: ScopeBase<'scope>,
}

/// A scope like [`Scope`], whose jobs run oldest first; [`scope_fifo`] creates it.
pub struct ScopeFifo<'scope> {
    base: ScopeBase<'scope>,
    /// One FIFO queue for each worker of the scope's pool.
    fifos: Box<[JobFifo]>,
}

/// Runs `op` in the current pool. Returns when `op` and all jobs that it spawned, directly or not,
/// have ended.
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
/// `op` runs on a worker. If the caller is no worker, `op` moves into the global pool.
/// [`in_place_scope`] is for a closure that must stay on its thread.
///
/// # Panics
///
/// Resumes the first panic among `op` and its jobs, after all have ended. The payloads of other
/// panics are dropped. If a payload panics when it is dropped, the scope still waits for its jobs,
/// and resumes the first panic.
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    registry::in_worker(|worker, _| {
        let scope = Scope::new(Some(worker), worker.registry());
        scope.base.run(Some(worker), || op(&scope))
    })
}

/// Does the same as [`scope()`], but of the jobs that one worker spawned, the oldest runs first.
///
/// # Panics
///
/// Panics as [`scope()`] does.
pub fn scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R + Send,
    R: Send,
{
    registry::in_worker(|worker, _| {
        let scope = ScopeFifo::new(Some(worker), worker.registry());
        scope.base.run(Some(worker), || op(&scope))
    })
}

/// Does the same as [`scope()`], but `op` runs on the calling thread, which may be any thread. So
/// `op` need not be `Send`.
///
/// The jobs run in the current pool. When `op` has ended, a caller that is a worker runs other jobs
/// until the scope's jobs have ended; any other caller blocks.
///
/// # Panics
///
/// Panics as [`scope()`] does.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    // SAFETY: the reference is not used after this function returns.
    in_place_scope_in(unsafe { registry::current() }, op)
}

/// Does the same as [`in_place_scope`], but jobs run in the order of [`scope_fifo`].
///
/// # Panics
///
/// Panics as [`scope()`] does.
pub fn in_place_scope_fifo<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&ScopeFifo<'scope>) -> R,
{
    // SAFETY: the reference is not used after this function returns.
    in_place_scope_fifo_in(unsafe { registry::current() }, op)
}

pub(crate) fn in_place_scope_in<'scope, R>(
    registry: &Arc<Registry>,
    op: impl FnOnce(&Scope<'scope>) -> R,
) -> R {
    // SAFETY: the reference is not used after this function returns.
    let owner = unsafe { Worker::current() };
    let scope = Scope::new(owner, registry);
    scope.base.run(owner, || op(&scope))
}

pub(crate) fn in_place_scope_fifo_in<'scope, R>(
    registry: &Arc<Registry>,
    op: impl FnOnce(&ScopeFifo<'scope>) -> R,
) -> R {
    // SAFETY: the reference is not used after this function returns.
    let owner = unsafe { Worker::current() };
    let scope = ScopeFifo::new(owner, registry);
    scope.base.run(owner, || op(&scope))
}

impl<'scope> HasBase<'scope> for Scope<'scope> {
    unsafe fn base(this: *const Self) -> *const ScopeBase<'scope> {
        // SAFETY: the caller upholds the contract of this function.
        unsafe { ptr::addr_of!((*this).base) }
    }
}

impl<'scope> HasBase<'scope> for ScopeFifo<'scope> {
    unsafe fn base(this: *const Self) -> *const ScopeBase<'scope> {
        // SAFETY: the caller upholds the contract of this function.
        unsafe { ptr::addr_of!((*this).base) }
    }
}

impl<'scope> Scope<'scope> {
    fn new(owner: Option<&Worker>, registry: &Arc<Registry>) -> Self {
        Self {
            base: ScopeBase::new(owner, registry),
        }
    }

    /// Puts a job into the scope. The job may start at once, and has ended when the scope returns.
    ///
    /// The newest job of a worker runs first. `body` gets the scope, so that it can spawn further
    /// jobs.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        self.base.registry.submit(ScopeBase::job(self, body));
    }

    /// Runs `body` once on every worker of the scope's pool before the scope returns.
    ///
    /// The captures of `body` are dropped before the scope returns, too. The published rayon-core
    /// 1.13 may drop them later, so a program that may run on either crate must not rely on this.
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&Scope<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        ScopeBase::submit_to_each(self, body);
    }
}

impl<'scope> ScopeFifo<'scope> {
    fn new(owner: Option<&Worker>, registry: &Arc<Registry>) -> Self {
        let fifos = (0..registry.num_threads())
            .map(|_| JobFifo::new())
            .collect();
        Self {
            base: ScopeBase::new(owner, registry),
            fifos,
        }
    }

    /// Puts a job into the scope, as [`Scope::spawn`] does. Of the jobs that one worker put into
    /// one scope, the oldest runs first.
    pub fn spawn_fifo<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&ScopeFifo<'scope>) + Send + 'scope,
    {
        let job = ScopeBase::job(self, body);
        let registry = &self.base.registry;
        Worker::with_current(|worker| match worker {
            Some(worker) if worker.is_in(registry) => {
                // SAFETY: the scope, and the FIFO in it, lives until the job has run. The token is
                // executed by then: each token runs one job, so when the last job runs, every token
                // has been executed.
                worker.push(unsafe { self.fifos[worker.index()].push(job) });
            }
            _ => registry.inject(job),
        });
    }

    /// Does the same as [`Scope::spawn_broadcast`].
    pub fn spawn_broadcast<BODY>(&self, body: BODY)
    where
        BODY: Fn(&ScopeFifo<'scope>, BroadcastContext<'_>) + Send + Sync + 'scope,
    {
        ScopeBase::submit_to_each(self, body);
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

/// A scope must be invariant in `'scope`: it waits for jobs that borrow for exactly this lifetime.
///
/// ```
/// fn same<'r, 's>(it: &'r rayon_core::Scope<'s>) -> &'r rayon_core::Scope<'s> { it }
/// fn same_fifo<'r, 's>(it: &'r rayon_core::ScopeFifo<'s>) -> &'r rayon_core::ScopeFifo<'s> { it }
/// ```
/// ```compile_fail
/// fn shorter<'r, 'l: 's, 's>(it: &'r rayon_core::Scope<'l>) -> &'r rayon_core::Scope<'s> { it }
/// ```
/// ```compile_fail
/// fn longer<'r, 'l: 's, 's>(it: &'r rayon_core::Scope<'s>) -> &'r rayon_core::Scope<'l> { it }
/// ```
/// ```compile_fail
/// fn shorter<'r, 'l: 's, 's>(it: &'r rayon_core::ScopeFifo<'l>) -> &'r rayon_core::ScopeFifo<'s> { it }
/// ```
/// ```compile_fail
/// fn longer<'r, 'l: 's, 's>(it: &'r rayon_core::ScopeFifo<'s>) -> &'r rayon_core::ScopeFifo<'l> { it }
/// ```
#[cfg(doctest)]
struct LifetimesDoNotVary;
