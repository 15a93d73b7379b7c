//! Operations that no rival needs to offer: they compile, and panic with the name of the rival when
//! they are called.

use crate::broadcast::BroadcastContext;
use crate::rival::NAME;

/// Says so, and panics.
pub(crate) fn missing(operation: &str) -> ! {
    panic!("`{operation}` is not there on {NAME}: rivals/README.md says what a rival has")
}

/// A thread that is to be started by its user; there is none.
#[derive(Debug)]
pub enum ThreadBuilder {}

/// The result of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// A job.
    Executed,
    /// Nothing.
    Idle,
}

/// Not there; panics.
pub fn spawn_broadcast<OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static>(_op: OP) {
    missing("spawn_broadcast")
}

/// Not there; panics.
pub fn spawn<F: FnOnce() + Send + 'static>(_func: F) {
    missing("spawn")
}

/// Not there; panics.
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(_func: F) {
    missing("spawn_fifo")
}

/// Not there; panics.
pub fn yield_now() -> Option<Yield> {
    missing("yield_now")
}

/// Not there; panics.
pub fn yield_local() -> Option<Yield> {
    missing("yield_local")
}

/// Not there; panics.
pub fn current_thread_index() -> Option<usize> {
    missing("current_thread_index")
}

/// Not there; panics.
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    missing("current_thread_has_pending_tasks")
}
