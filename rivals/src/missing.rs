//! Operations of rayon-core that no rival has. Calls compile, and panic with the name of the rival.

use crate::broadcast::BroadcastContext;
use crate::rival::NAME;

pub(crate) fn missing(operation: &str) -> ! {
    panic!("{NAME} does not have `{operation}`: rivals/README.md says what a rival has")
}

/// A thread that the user of rayon-core must start. Rivals have no such threads.
#[derive(Debug)]
pub enum ThreadBuilder {}

/// The result of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// The thread ran a job.
    Executed,
    /// The thread found no job.
    Idle,
}

/// Not implemented; panics.
pub fn spawn_broadcast<OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static>(_op: OP) {
    missing("spawn_broadcast")
}

/// Not implemented; panics.
pub fn spawn<F: FnOnce() + Send + 'static>(_func: F) {
    missing("spawn")
}

/// Not implemented; panics.
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(_func: F) {
    missing("spawn_fifo")
}

/// Not implemented; panics.
pub fn yield_now() -> Option<Yield> {
    missing("yield_now")
}

/// Not implemented; panics.
pub fn yield_local() -> Option<Yield> {
    missing("yield_local")
}

/// Not implemented; panics.
pub fn current_thread_index() -> Option<usize> {
    missing("current_thread_index")
}

/// Not implemented; panics.
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    missing("current_thread_has_pending_tasks")
}
