//! The rival [forte](https://docs.rs/forte): heartbeats that each worker reads off the CPU's clock,
//! and queues of 32 jobs that others steal from.

use std::marker::PhantomData;
use std::ptr;

use forte::Worker;

use crate::FnContext;
use crate::missing::missing;
use crate::pool::global;

/// What messages call the rival.
pub(crate) const NAME: &str = "forte";

/// Members of a pool, of which one is whoever installs.
pub(crate) const MAX_THREADS: usize = 32;

/// A pool of forte, which lives as long as the program; its workers end with this handle.
pub(crate) struct Pool {
    pool: &'static forte::ThreadPool,
}

impl Pool {
    /// With one worker less than `threads`: the thread that installs is a member, too.
    pub(crate) fn start(threads: usize) -> Self {
        // Pools of forte are statics.
        let pool: &'static forte::ThreadPool = Box::leak(Box::new(forte::ThreadPool::new()));
        pool.resize_to(threads - 1);
        Self { pool }
    }

    /// Runs `op` as a member of the pool.
    pub(crate) fn enter<R>(&self, op: impl FnOnce() -> R) -> R {
        self.pool.with_worker(|_| op())
    }

    /// Not there; panics.
    #[expect(clippy::unused_self, reason = "other rivals have it")]
    pub(crate) fn run_on_each(&self, _share: &(dyn Fn(usize) + Sync)) {
        missing("broadcast")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.pool.depopulate();
    }
}

/// Members of the pool that the calling thread belongs to.
pub(crate) fn current_num_threads() -> Option<usize> {
    Worker::map_current(|worker| worker.thread_pool().num_members())
}

/// For a broadcast, which is not there; panics.
pub(crate) fn with_current<R>(_body: impl FnOnce(Option<&Pool>) -> R) -> R {
    missing("broadcast")
}

/// As [`crate::join`].
#[inline]
pub(crate) fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    Worker::with_current(|worker| match worker {
        Some(worker) => {
            // Forte calls the second closure here and offers the first; rayon does it the other way
            // round.
            let (b, a) = worker.join(|_| oper_b(), |_| oper_a());
            (a, b)
        }
        None => global().join(oper_a, oper_b),
    })
}

/// As [`join`](crate::join()), with closures that are told whether they moved.
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    Worker::with_current(|worker| match worker {
        Some(worker) => {
            // Not `Worker::migrated`, which in this version is at times wrong in both ways. A
            // thread has one worker of a pool.
            let home = ptr::from_ref(worker).addr();
            let (b, a) = worker.join(
                move |worker| oper_b(FnContext::new(ptr::from_ref(worker).addr() != home)),
                |_| oper_a(FnContext::new(false)),
            );
            (a, b)
        }
        None => global().install(|| join_context(oper_a, oper_b)),
    })
}

/// A scope of forte.
pub struct Scope<'scope> {
    // Where rayon has one lifetime, forte has two, and chooses the first itself. Both are `'scope`
    // here, which is longer than either: nothing is given out that would last so long.
    inner: *const forte::Scope<'scope, 'scope>,
    jobs: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// SAFETY: it is a reference to forte's scope, which is `Sync`: `spawn` may be called from any job.
unsafe impl Send for Scope<'_> {}
// SAFETY: as above.
unsafe impl Sync for Scope<'_> {}

impl<'scope> Scope<'scope> {
    /// Runs `body` before the scope ends.
    pub fn spawn<BODY>(&self, body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let again = Self {
            inner: self.inner,
            jobs: PhantomData,
        };
        // SAFETY: forte's scope lives until all of its jobs have run, and whoever has a `Scope` is
        // one of them or the closure that opened it. The reference is not kept beyond `spawn`.
        let inner: &'scope forte::Scope<'scope, 'scope> = unsafe { &*self.inner };
        inner.spawn(move |_: &Worker| body(&again));
    }
}

/// Runs `op` with a scope, and returns when its jobs are done.
pub fn in_place_scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    Worker::with_current(|worker| match worker {
        Some(worker) => worker.scope(|inner| {
            op(&Scope {
                inner: ptr::from_ref(inner).cast(),
                jobs: PhantomData,
            })
        }),
        None => global().enter(|| in_place_scope(op)),
    })
}
