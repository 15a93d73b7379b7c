//! Queues of tasks before threads that wait for them: requests before handlers, transfers before
//! helpers.

mod lock_free;
mod parking;
mod regular;
#[cfg(test)]
mod tests;

pub(crate) use lock_free::LockFree;
pub(crate) use regular::Regular;

/// First in, first out, for any number of threads on both sides.
pub(crate) trait TaskQueue<T>: Sync {
    /// Puts `task` at the end. Not bounded: each client has one task at a time, and clients are
    /// bounded.
    fn push(&self, task: T);

    /// Takes the first task, waiting for one; `None` if the queue is closed and empty.
    fn pop(&self) -> Option<T>;

    /// No more tasks will come but those of tasks: a handler that finds it empty from now on
    /// leaves.
    fn close(&self);
}
