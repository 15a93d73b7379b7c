//! The common part of both kinds of scope: it counts their jobs, waits for them, and keeps the first
//! panic.

use std::fmt;
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;

use crate::broadcast::BroadcastContext;
use crate::job::{HeapJob, JobRef};
use crate::latch::{CountLatch, Latch};
use crate::registry::{Registry, Worker};
use crate::sync::{AtomicPtr, Ordering};
use crate::unwind::{self, Payload};

pub(super) struct ScopeBase<'scope> {
    pub(super) registry: Arc<Registry>,
    /// The first panic, boxed once more to fit a pointer; null while there is none.
    panic: AtomicPtr<Payload>,
    /// The jobs that have not ended, plus one for the scope's closure. This latch is not padded. A
    /// scope lies in a stack frame, and scopes nest, so padding would take stack on each level.
    unfinished: CountLatch,
    /// Jobs borrow for `'scope`. If this lifetime could shrink or grow, jobs could outlive what
    /// they borrow.
    _invariant: PhantomData<Box<dyn FnOnce(&'scope ()) -> &'scope () + Send + Sync + 'scope>>,
}

impl<'scope> ScopeBase<'scope> {
    pub(super) fn new(owner: Option<&Worker>, registry: &Arc<Registry>) -> Self {
        Self {
            registry: Arc::clone(registry),
            panic: AtomicPtr::new(ptr::null_mut()),
            unfinished: CountLatch::new(1, owner),
            _invariant: PhantomData,
        }
    }

    pub(super) fn run<R>(&self, owner: Option<&Worker>, op: impl FnOnce() -> R) -> R {
        // Jobs may use data in this frame and its callers' frames, so nothing unwinds from here to
        // the end of the wait. User code is captured, later payloads are discarded, and a panic
        // inside the wait aborts the process. There is no guard against unwinding here, because it
        // would take stack on each level of nesting.
        let result = match unwind::capture(op) {
            Ok(result) => Some(result),
            Err(payload) => {
                self.keep_if_first(payload);
                None
            }
        };
        // SAFETY: `self` keeps the latch alive, and the count includes the closure.
        unsafe { CountLatch::set(&self.unfinished) };
        // The wait for a scope is assumed to be long, so there is no history of spinning.
        self.unfinished.wait(owner, None);
        // If a job panicked, the unwinding drops the result of the closure, as in the published
        // crate.
        self.resume_first_panic();
        result.expect("the closure of a scope without a panic has returned")
    }

    fn resume_first_panic(&self) {
        // ORDERING: Acquire, pairs with the exchange in `keep_if_first`. The latch also orders this
        // swap after every job.
        let panic = self.panic.swap(ptr::null_mut(), Ordering::Acquire);
        if !panic.is_null() {
            // SAFETY: `keep_if_first` leaked this box and stored it once; the swap took it out.
            unwind::resume(*unsafe { Box::from_raw(panic) });
        }
    }

    /// `this` is a pointer, because the owner may free the scope while this function is still
    /// returning. A reference would have to be valid until this function has returned.
    ///
    /// # Safety
    ///
    /// The scope is alive, and its count includes `body`.
    #[inline]
    unsafe fn run_counted(this: *const Self, body: impl FnOnce()) {
        // SAFETY: by the caller's promise the scope is alive until the last line.
        unsafe {
            if let Err(payload) = unwind::capture(body) {
                (*this).keep_if_first(payload);
            }
            CountLatch::set(ptr::addr_of!((*this).unfinished));
        }
    }

    /// This function must not unwind, because jobs of the scope still run. It is not inlined:
    /// scopes and their jobs nest, and their frames should have no room for a panic's payload.
    #[cold]
    #[inline(never)]
    fn keep_if_first(&self, payload: Payload) {
        // Relaxed: if this load returns a stale null, the exchange below fails.
        if !self.panic.load(Ordering::Relaxed).is_null() {
            return unwind::discard(payload);
        }
        let boxed = Box::into_raw(Box::new(payload));
        // ORDERING: Release publishes the payload to the swap in `resume_first_panic`.
        let won = self.panic.compare_exchange(
            ptr::null_mut(),
            boxed,
            Ordering::Release,
            Ordering::Relaxed,
        );
        if won.is_err() {
            // SAFETY: this function leaked the box above, and has not stored it.
            unwind::discard(*unsafe { Box::from_raw(boxed) });
        }
    }

    pub(super) fn job<S: HasBase<'scope>, B>(scope: &S, body: B) -> JobRef
    where
        B: FnOnce(&S) + Send + 'scope,
    {
        let this = ScopeRef(ptr::from_ref(scope));
        // SAFETY: the caller has the scope by reference.
        let base = unsafe { &*S::base(this.as_ptr()) };
        base.unfinished.add_one();
        // `run_counted` may return after the owner has used what `body` borrowed. A mutable
        // reference among the captures would promise that no other thread uses its target until
        // `run_counted` returns. `MaybeUninit` makes no such promise.
        let body = MaybeUninit::new(body);
        // SAFETY: the scope waits for this job, and so is alive here and while `body` runs. `body`
        // was put in above, and is taken out once, because this closure is called once.
        let job = move || unsafe {
            Self::run_counted(S::base(this.as_ptr()), move || {
                body.assume_init()(this.get());
            });
        };
        debug_assert!(
            size_of_val(&job) <= size_of::<B>() + size_of::<usize>().max(align_of::<B>()),
            "a job holds more than its body and its scope; a word more can be a cache line more"
        );
        // SAFETY: the borrows of `body` outlive 'scope, which outlives the wait for this job.
        // `run_counted` lets no panic out.
        unsafe { HeapJob::new_ref(job) }
    }

    pub(super) fn submit_to_each<S: HasBase<'scope>>(
        scope: &S,
        body: impl Fn(&S, BroadcastContext<'_>) + Send + Sync + 'scope,
    ) {
        // SAFETY: the caller has the scope by reference.
        let registry = unsafe { &(*S::base(scope)).registry };
        // Each worker gets a job of the scope. The job drops its part of `body` before the scope
        // stops waiting for the job. The captures of `body` may refer, also in their destructors,
        // to data that lives no longer than the scope. The last share catches a panic of such a
        // destructor.
        let body = Arc::new(body);
        let bodies = vec![body; registry.num_threads()];
        let shares = bodies.into_iter().map(|body| {
            Self::job(scope, move |scope: &S| {
                BroadcastContext::with(|context| body(scope, context));
            })
        });
        registry.submit_to_each(shares);
    }
}

pub(super) trait HasBase<'scope>: Sync {
    /// Returns the address of the scope's base, without reading the scope, which may be ending.
    ///
    /// # Safety
    ///
    /// The scope has not been freed.
    unsafe fn base(this: *const Self) -> *const ScopeBase<'scope>;
}

/// A job's pointer to its scope. This is no reference, because the scope may be freed while the job
/// that ended the scope is still returning.
struct ScopeRef<T>(*const T);

// SAFETY: scopes are `Sync`, and `get`'s callers vouch for the lifetime.
unsafe impl<T: Sync> Send for ScopeRef<T> {}
// SAFETY: scopes are `Sync`, and a shared `ScopeRef` gives only shared access.
unsafe impl<T: Sync> Sync for ScopeRef<T> {}

impl<T> ScopeRef<T> {
    fn as_ptr(&self) -> *const T {
        self.0
    }

    /// # Safety
    ///
    /// The scope has not ended.
    unsafe fn get<'a>(&self) -> &'a T {
        // SAFETY: the caller upholds the contract of this function.
        unsafe { &*self.0 }
    }
}

impl fmt::Debug for ScopeBase<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Relaxed: the value is only printed.
        let has_panicked = !self.panic.load(Ordering::Relaxed).is_null();
        f.debug_struct("ScopeBase")
            .field("pool", &self.registry.id())
            .field("has_panicked", &has_panicked)
            .finish_non_exhaustive()
    }
}
