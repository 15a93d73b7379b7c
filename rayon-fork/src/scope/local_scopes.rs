//! The hooks of the feature `local-scopes` in the scheduler, one line each. Workers keep units of a
//! scope's count. `README.md` lists the steps at which the scheduler calls these hooks.

#[cfg(all(test, fork_loom))]
mod models;
mod shard;

use self::shard::{Counted, Shard};
use crate::latch::{CountLatch, Latch};
use crate::registry::{Registry, Worker};

pub(crate) const NAME_PART: &str = "+local-scopes";

pub(crate) type ScopeUnits = Shard<CountLatch>;

impl Counted for CountLatch {
    #[inline]
    fn add(&self, units: usize) {
        self.add(units);
    }

    #[inline]
    fn is(&self, units: usize) -> bool {
        self.is(units)
    }

    #[inline]
    unsafe fn take_off(this: *const Self, units: usize) {
        // SAFETY: the caller upholds the contract of this function.
        unsafe { Self::take_off(this, units) };
    }
}

/// The scope that a worker waits for, if the worker may keep units of that scope.
#[derive(Clone, Copy)]
pub(crate) struct Awaited<'s>(Option<&'s CountLatch>);

impl Awaited<'_> {
    pub(crate) const NONE: Self = Self(None);

    /// Returns whether the scope has ended, even if its latch is not set.
    #[inline]
    pub(crate) fn is_over(self, worker: &Worker) -> bool {
        self.0
            .is_some_and(|count| worker.scope_units().completes(count))
    }
}

#[inline]
pub(crate) fn count_job(count: &CountLatch, registry: &Registry) {
    Worker::with_current(|worker| match worker {
        Some(worker) if worker.is_in(registry) => {
            worker
                .scope_units()
                .count_job(count, || count.is_awaited_by(worker));
        }
        _ => count.add(1),
    });
}

#[inline]
pub(crate) fn begin_job(count: *const CountLatch) {
    // SAFETY: the reference is not used after this function returns.
    unsafe { Worker::running() }.scope_units().begin_job(count);
}

#[inline]
pub(crate) fn begin_other_job() {
    // SAFETY: the reference is not used after this function returns.
    unsafe { Worker::running() }.scope_units().return_units();
}

///
/// # Safety
///
/// The scope is open, as the job is counted. The scope may be freed when this function returns.
#[inline]
pub(crate) unsafe fn end_job(count: *const CountLatch) {
    // SAFETY: the reference is not used after this function returns.
    unsafe { Worker::running() }.scope_units().end_job(count);
}

#[inline]
pub(crate) fn end_closure<'s>(
    count: &'s CountLatch,
    registry: &Registry,
    owner: Option<&Worker>,
) -> Awaited<'s> {
    match owner {
        Some(owner) if owner.is_in(registry) => {
            owner.scope_units().end_job(count);
            Awaited(Some(count))
        }
        _ => {
            // SAFETY: this function has a reference to the count, and the closure was counted.
            unsafe { CountLatch::set(count) };
            Awaited::NONE
        }
    }
}

/// Call this when the owner's wait is over. The count now holds only the owner's units.
#[inline]
pub(crate) fn assert_ended(_count: &CountLatch) {}

/// Call this when the worker has no local job and is about to search. Returns `true` if the worker
/// should first check once more whether its wait is over.
#[inline]
pub(crate) fn return_units(worker: &Worker) -> bool {
    worker.scope_units().return_units()
}

#[inline]
pub(crate) fn end_wait(worker: &Worker, awaited: Awaited<'_>) {
    if let Some(count) = awaited.0 {
        worker.scope_units().forget(count);
    }
    worker.scope_units().return_units();
}

#[derive(Clone, Copy)]
pub(crate) struct Place(*const CountLatch);

/// Call this before a job runs inside another one, when code on the worker's stack waits for the
/// inner job to return.
#[inline]
pub(crate) fn leave(worker: &Worker) -> Place {
    Place(worker.scope_units().scope())
}

#[inline]
pub(crate) fn go_back(worker: &Worker, place: Place) {
    worker.scope_units().go_back(place.0);
}
