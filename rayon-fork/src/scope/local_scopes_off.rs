//! The counterpart of `local_scopes.rs` in a build without the feature. Every job is counted where
//! it is spawned and where it ends, as in the published crate. Workers keep no units.

// Models run the units in every build.
#[cfg(all(test, fork_loom))]
#[path = "local_scopes/models/mod.rs"]
mod models;
#[cfg(all(test, fork_loom))]
#[path = "local_scopes/shard.rs"]
mod shard;

use crate::latch::{CountLatch, Latch};
use crate::registry::{Registry, Worker};

/// This file's part of the variant's name.
pub(crate) const NAME_PART: &str = "";

/// The units that a worker keeps: none.
pub(crate) struct ScopeUnits;

impl ScopeUnits {
    #[inline]
    pub(crate) fn new() -> Self {
        Self
    }
}

/// The scope that a worker waits for. The worker keeps no units of it.
#[derive(Clone, Copy)]
pub(crate) struct Awaited;

// The counterpart with units uses `self`.
#[allow(clippy::unused_self)]
impl Awaited {
    pub(crate) const NONE: Self = Self;

    /// Returns whether the scope has ended, even if its latch is not set.
    #[inline]
    pub(crate) fn is_over(self, _worker: &Worker) -> bool {
        false
    }
}

/// Counts a job that the calling thread spawns into the scope of `count`, a scope of `registry`.
#[inline]
pub(crate) fn count_job(count: &CountLatch, _registry: &Registry) {
    count.add(1);
}

/// A job of the scope of `count` begins on the calling worker.
#[inline]
pub(crate) fn begin_job(_count: *const CountLatch) {}

/// A job of no scope begins on the calling worker.
#[inline]
pub(crate) fn begin_other_job() {}

/// A job of the scope of `count` has ended on the calling worker.
///
/// # Safety
///
/// The scope is open, as the job is counted. It may be freed when this returns.
#[inline]
pub(crate) unsafe fn end_job(count: *const CountLatch) {
    // SAFETY: the caller's promise.
    unsafe { CountLatch::set(count) };
}

/// The closure of the scope of `count` has ended. Returns the scope that its thread waits for now.
#[inline]
pub(crate) fn end_closure(
    count: &CountLatch,
    _registry: &Registry,
    _owner: Option<&Worker>,
) -> Awaited {
    // SAFETY: the count is alive, because this function has a reference to it. The closure was
    // counted.
    unsafe { CountLatch::set(count) };
    Awaited::NONE
}

/// The wait for the scope of `count` is over.
#[inline]
pub(crate) fn assert_ended(count: &CountLatch) {
    debug_assert!(count.is(0), "a scope ends before its jobs");
}

/// The worker has no local job and is about to search. Returns `true` if the worker should first
/// check once more whether its wait is over.
#[inline]
pub(crate) fn return_units(worker: &Worker) -> bool {
    let ScopeUnits = worker.scope_units();
    false
}

/// The worker's wait is over, and the code that waited continues.
#[inline]
pub(crate) fn end_wait(_worker: &Worker, _awaited: Awaited) {}

/// The worker's current scope: not needed here.
#[derive(Clone, Copy)]
pub(crate) struct Place;

/// A job is about to run inside another one: code on the worker's stack waits for its return, and
/// calls this before.
#[inline]
pub(crate) fn leave(_worker: &Worker) -> Place {
    Place
}

/// The job has returned.
#[inline]
pub(crate) fn go_back(_worker: &Worker, _place: Place) {}
