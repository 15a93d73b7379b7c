//! `join` runs two closures, perhaps in parallel.

use std::fmt;
use std::marker::PhantomData;
use std::ptr;

use crate::job::StackJob;
use crate::latch::SpinLatch;
use crate::registry::{self, Worker};
use crate::unwind::{self, Payload};

/// Whether a second closure that no thief stole is called in its slot. If false, the closure is
/// first moved out of the slot, as in the published crate. The move's wide loads stall, because
/// they follow the narrow stores that wrote the slot.
const IN_PLACE_JOIN: bool = cfg!(feature = "in-place-join");

pub(crate) const NAME_PART: &str = if IN_PLACE_JOIN { "+in-place-join" } else { "" };

/// The context of a closure of [`join_context`].
pub struct FnContext {
    migrated: bool,
    /// The context describes one thread, so it must not be sent to another.
    _not_send: PhantomData<*mut ()>,
}

impl FnContext {
    #[inline]
    fn new(migrated: bool) -> Self {
        Self {
            migrated,
            _not_send: PhantomData,
        }
    }

    /// Returns whether the closure may run on another thread than the caller of [`join_context`]. A
    /// parallel iterator splits further after a migration, because a migration means that a worker
    /// was idle.
    ///
    /// The result is true for both closures if the caller was no worker. Otherwise the result is
    /// false for the first closure. For the second closure the result is false only if the caller
    /// took that closure back from its own queue.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

impl fmt::Debug for FnContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnContext")
            .field("migrated", &self.migrated)
            .finish_non_exhaustive()
    }
}

/// Runs two closures, in parallel if another worker is free, and returns both results.
///
/// While the calling worker runs the first closure, it offers the second one to thieves. If no
/// thief took the second closure, the caller runs it too, so a join that meets no thief costs
/// little more than two calls. If the caller is no worker, the whole call moves into the global
/// pool.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     if numbers.len() <= 1000 {
///         return numbers.iter().sum();
///     }
///     let (left, right) = numbers.split_at(numbers.len() / 2);
///     let (left, right) = rayon_core::join(|| sum(left), || sum(right));
///     left + right
/// }
/// let numbers: Vec<u64> = (0..10_000).collect();
/// assert_eq!(sum(&numbers), 49_995_000);
/// ```
///
/// # Panics
///
/// Resumes the panic of either closure, after both have ended. If both closures panic, resumes the
/// panic of the first and drops the other payload, whose drop may panic without harm.
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_context(|_| oper_a(), |_| oper_b())
}

/// Runs two closures as [`join`] does, and tells each closure whether it
/// [migrated](FnContext::migrated).
///
/// ```
/// let pool = rayon_core::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
/// let migrated = pool.install(|| rayon_core::join_context(|a| a.migrated(), |b| b.migrated()));
/// assert_eq!(migrated, (false, false)); // the only worker ran both
/// ```
///
/// # Panics
///
/// Resumes a panic as [`join`] does.
#[inline]
pub fn join_context<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce(FnContext) -> RA + Send,
    B: FnOnce(FnContext) -> RB + Send,
    RA: Send,
    RB: Send,
{
    registry::in_worker(|worker, injected| {
        let job_b = StackJob::new(SpinLatch::new(worker), |migrated| {
            oper_b(FnContext::new(migrated))
        });
        // SAFETY: every way out of this function first sees the latch set or gets the reference
        // back. The ways are the loop below, `into_result` after it, and `wait_before_unwinding`.
        let reference = unsafe { job_b.as_job_ref() };
        let place = worker.push(reference);

        let result_a = match unwind::capture(|| oper_a(FnContext::new(injected))) {
            Ok(result) => result,
            Err(payload) => wait_before_unwinding(worker, &job_b, payload),
        };

        // Mostly the second job is still the newest in the deque. Otherwise a thief stole it, or
        // newer jobs lie above it. The first closure left those jobs behind, for example in an
        // outer scope.
        let mut is_back = !job_b.latch.probe() && worker.try_take_back(&place);
        while !is_back && !job_b.latch.probe() {
            match worker.take_local() {
                Some(job) if job.leads_to(ptr::addr_of!(job_b)) => is_back = true,
                Some(job) => job.execute(),
                None => {
                    // A thief stole the second job. Run other jobs until the thief has ended it.
                    worker.wait_until(&job_b.latch);
                    break;
                }
            }
        }
        if is_back {
            // SAFETY: this worker took the reference back, so no other worker has executed it, or
            // will.
            let result_b = unsafe {
                if IN_PLACE_JOIN {
                    job_b.run_in_place(injected)
                } else {
                    job_b.run_inline(injected)
                }
            };
            return (result_a, result_b);
        }
        (result_a, job_b.into_result())
    })
}

/// Call this if the first closure panicked. The second job may still run and use this frame, so
/// this function waits for its end, then resumes the panic.
#[cold]
fn wait_before_unwinding<F, R>(
    worker: &Worker,
    job_b: &StackJob<SpinLatch<'_>, F, R>,
    payload: Payload,
) -> !
where
    F: FnOnce(bool) -> R + Send,
    R: Send,
{
    worker.wait_until(&job_b.latch);
    // SAFETY: the latch is set. The second payload is dropped here, because a panic of its drop
    // during unwinding would abort.
    unsafe { job_b.discard_panic() };
    unwind::resume(payload)
}
