//! The counterpart of `local_scopes.rs` in a build without the feature. The spawn and the end of
//! each job change the count, as in the published crate.

// The models compile `shard.rs` in every build.
#[cfg(all(test, fork_loom))]
#[path = "local_scopes/models/mod.rs"]
mod models;
#[cfg(all(test, fork_loom))]
#[path = "local_scopes/shard.rs"]
mod shard;

use crate::latch::{CountLatch, Latch};
use crate::registry::{Registry, Worker};

pub(crate) const NAME_PART: &str = "";

pub(crate) struct ScopeUnits;

impl ScopeUnits {
    #[inline]
    pub(crate) fn new() -> Self {
        Self
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Awaited;

#[allow(clippy::unused_self)]
impl Awaited {
    pub(crate) const NONE: Self = Self;

    #[inline]
    pub(crate) fn is_over(self, _worker: &Worker) -> bool {
        false
    }
}

#[inline]
pub(crate) fn count_job(count: &CountLatch, _registry: &Registry) {
    count.add(1);
}

#[inline]
pub(crate) fn begin_job(_count: *const CountLatch) {}

#[inline]
pub(crate) fn begin_other_job() {}

///
/// # Safety
///
/// The scope is open, as the job is counted. The scope may be freed when this function returns.
#[inline]
pub(crate) unsafe fn end_job(count: *const CountLatch) {
    // SAFETY: the caller upholds the contract of this function.
    unsafe { CountLatch::set(count) };
}

#[inline]
pub(crate) fn end_closure(
    count: &CountLatch,
    _registry: &Registry,
    _owner: Option<&Worker>,
) -> Awaited {
    // SAFETY: this function has a reference to the count, and the closure was counted.
    unsafe { CountLatch::set(count) };
    Awaited::NONE
}

#[inline]
pub(crate) fn assert_ended(count: &CountLatch) {
    debug_assert!(count.is(0), "a scope ends before its jobs");
}

#[inline]
pub(crate) fn return_units(worker: &Worker) -> bool {
    let ScopeUnits = worker.scope_units();
    false
}

#[inline]
pub(crate) fn end_wait(_worker: &Worker, _awaited: Awaited) {}

#[derive(Clone, Copy)]
pub(crate) struct Place;

#[inline]
pub(crate) fn leave(_worker: &Worker) -> Place {
    Place
}

#[inline]
pub(crate) fn go_back(_worker: &Worker, _place: Place) {}
