//! A run that can never end.

/// No thread can continue: each waits for another. The error message lists every blocked thread,
/// with its core and name, where it blocks, and since when.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("deadlock: every thread is blocked{0}")]
pub struct Stuck(pub(crate) String);
