//! A run that can never end.

/// No thread can continue: each waits for another. It displays every blocked thread, with the
/// thread's core and name, where it blocks, and since when.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("deadlock: every thread is blocked{0}")]
pub struct Stuck(pub(crate) String);
