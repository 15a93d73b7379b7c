//! The interface of rayon-core on the pool of another crate, a *rival*. A feature names the rival.
//!
//! A program written for rayon that is patched to this package runs on the rival's joins or
//! fork-join regions. The package's README says how each operation is mapped, and which operations
//! are not implemented.

// The published crate has no `must_use`, and programs must compile alike on both crates.
#![allow(clippy::must_use_candidate, reason = "as the published crate")]

#[cfg(feature = "chili")]
#[path = "chili.rs"]
mod rival;
#[cfg(not(feature = "chili"))]
#[path = "regions.rs"]
mod rival;
#[cfg(feature = "fork-union")]
#[path = "fork_union.rs"]
mod threads;
#[cfg(feature = "openmp")]
#[path = "openmp.rs"]
mod threads;

mod broadcast;
mod missing;
mod pool;
mod scope;

pub use broadcast::{BroadcastContext, broadcast};
pub use missing::{
    ThreadBuilder, Yield, current_thread_has_pending_tasks, current_thread_index, spawn,
    spawn_broadcast, spawn_fifo, yield_local, yield_now,
};
pub use pool::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
pub use rival::{Scope, Scope as ScopeFifo};
pub use rival::{in_place_scope, in_place_scope as in_place_scope_fifo, join_context};

/// The facts that a closure of [`join_context`] can learn about its call.
#[derive(Debug)]
pub struct FnContext {
    migrated: bool,
}

impl FnContext {
    #[cfg_attr(
        not(feature = "chili"),
        expect(dead_code, reason = "rivals without joins have no such closures")
    )]
    #[inline]
    pub(crate) fn new(migrated: bool) -> Self {
        Self { migrated }
    }

    /// Whether the closure runs on another thread than the thread that called `join_context`.
    #[inline]
    pub fn migrated(&self) -> bool {
        self.migrated
    }
}

/// Runs both closures, perhaps in parallel. The first runs on the calling thread, and the rival
/// chooses the thread of the second.
#[inline]
pub fn join<A, B, RA, RB>(oper_a: A, oper_b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    rival::join(oper_a, oper_b)
}

/// Does the same as [`in_place_scope`]: on a rival, a thread that opens a scope already belongs to
/// the scope's pool.
#[inline]
pub fn scope<'scope, OP, R>(op: OP) -> R
where
    OP: FnOnce(&Scope<'scope>) -> R + Send,
    R: Send,
{
    in_place_scope(op)
}

pub use scope as scope_fifo;

/// Number of threads of the pool that the calling thread works for, or of the global pool.
pub fn current_num_threads() -> usize {
    rival::current_num_threads().unwrap_or_else(|| pool::global().current_num_threads())
}

/// Maximum number of threads of a pool of the rival.
pub fn max_num_threads() -> usize {
    rival::MAX_THREADS
}
