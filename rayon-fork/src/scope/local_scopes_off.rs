//! The twin of `local_scopes.rs` in a build without the feature: every job is counted where it is
//! spawned and where it ends, as in the published crate, and workers hold nothing.

// Models run the units in every build.
#[cfg(all(test, fork_loom))]
#[path = "local_scopes/models/mod.rs"]
mod models;
#[cfg(all(test, fork_loom))]
#[path = "local_scopes/reserve.rs"]
mod reserve;

use crate::latch::{CountLatch, Latch};
use crate::registry::{Registry, Worker};

/// What this file adds to the variant's name.
pub(crate) const MODIFIER: &str = "";

/// What a worker holds: nothing.
pub(crate) struct Held;

impl Held {
    #[inline]
    pub(crate) fn new() -> Self {
        Self
    }
}

/// A scope of which a worker that waits for it may hold units: none.
#[derive(Clone, Copy)]
pub(crate) struct Awaited;

// Where units are held, it is asked which.
#[allow(clippy::unused_self)]
impl Awaited {
    pub(crate) const NONE: Self = Self;

    /// Whether it has ended, although its latch may not say so.
    #[inline]
    pub(crate) fn is_over(self, _worker: &Worker) -> bool {
        false
    }
}

/// A job is spawned into the scope of `count`, which is a scope of `registry`.
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

/// The closure of the scope of `count` has ended. What its thread waits for now.
#[inline]
pub(crate) fn end_closure(
    count: &CountLatch,
    _registry: &Registry,
    _owner: Option<&Worker>,
) -> Awaited {
    // SAFETY: alive, as we have it by reference; the closure was counted.
    unsafe { CountLatch::set(count) };
    Awaited::NONE
}

/// The wait for the scope of `count` is over.
#[inline]
pub(crate) fn assert_ended(count: &CountLatch) {
    debug_assert!(count.is(0), "a scope ends before its jobs");
}

/// The worker has no local job and is about to search. `true` if it should look at what it
/// waits for once more.
#[inline]
pub(crate) fn turn_away(worker: &Worker) -> bool {
    let Held = worker.held();
    false
}

/// The worker's wait is over, and the code that waited goes on.
#[inline]
pub(crate) fn end_wait(_worker: &Worker, _awaited: Awaited) {}

/// What the worker is at: nothing it must know.
#[derive(Clone, Copy)]
pub(crate) struct Place;

/// A job is about to run while code on the worker's stack waits for it to return, and knows.
#[inline]
pub(crate) fn leave(_worker: &Worker) -> Place {
    Place
}

/// The job has returned.
#[inline]
pub(crate) fn go_back(_worker: &Worker, _place: Place) {}
