//! Runs trials one at a time, each in a process that the runner watches and ends, and shows the
//! progress.

pub(crate) mod builds;
pub(crate) mod progress;
pub mod sweep;
