//! Rivals for fork-join regions: all threads of a pool run one closure at a time, and there are no
//! jobs. Of rayon's operations, these rivals only have [`broadcast`](crate::broadcast()). The file
//! of each rival says whether the calling thread takes part.

use std::cell::Cell;
use std::ptr;
use std::sync::Mutex;

use crate::FnContext;
use crate::missing::missing;
pub(crate) use crate::threads::NAME;
use crate::threads::Threads;

/// `fork_union` names no limit, and OpenMP has one only if the user sets `OMP_THREAD_LIMIT`. A
/// guess: no program requests more threads than this.
pub(crate) const MAX_THREADS: usize = 1 << 16;

thread_local! {
    /// The pool that the thread works in; null outside of pools.
    static CURRENT: Cell<*const Pool> = const { Cell::new(ptr::null()) };
}

pub(crate) struct Pool {
    threads: usize,
    // The rivals require exclusive access. The lock is never contended, so it costs some
    // nanoseconds per region.
    own: Mutex<Threads>,
}

impl Pool {
    pub(crate) fn start(threads: usize) -> Self {
        Self {
            threads,
            own: Mutex::new(Threads::start(threads)),
        }
    }

    pub(crate) fn enter<R>(&self, op: impl FnOnce() -> R) -> R {
        // `Restore` also resets the thread-local when `op` panics.
        let _restore = Restore(CURRENT.replace(self));
        op()
    }

    /// Calls `share` once with each index below the number of threads, each on a thread of its own.
    ///
    /// # Panics
    /// If the pool already runs a region.
    pub(crate) fn run_on_each(&self, share: &(dyn Fn(usize) + Sync)) {
        let mut threads = self
            .own
            .try_lock()
            .expect("these pools have one region at a time");
        threads.run_on_each(share);
    }
}

struct Restore(*const Pool);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

pub(crate) fn with_current<R>(body: impl FnOnce(Option<&Pool>) -> R) -> R {
    // SAFETY: `enter` borrows the pool for as long as `CURRENT` points to it.
    body(unsafe { CURRENT.get().as_ref() })
}

pub(crate) fn current_num_threads() -> Option<usize> {
    with_current(|pool| pool.map(|pool| pool.threads))
}

pub(crate) fn join<A, B, RA, RB>(_oper_a: A, _oper_b: B) -> (RA, RB) {
    missing("join")
}

/// Not implemented; panics.
pub fn join_context<A, B, RA, RB>(_oper_a: A, _oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    missing("join_context")
}

/// A scope. These rivals have no scopes, so this type has no values.
pub struct Scope<'scope> {
    never: std::convert::Infallible,
    _jobs: std::marker::PhantomData<fn(&'scope ())>,
}

impl<'scope> Scope<'scope> {
    /// Never called, because no scope exists.
    pub fn spawn<BODY>(&self, _body: BODY)
    where
        BODY: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        match self.never {}
    }
}

/// Not implemented; panics.
pub fn in_place_scope<'scope, OP, R>(_op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R,
{
    missing("scope")
}
