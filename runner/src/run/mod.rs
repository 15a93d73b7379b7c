//! Builds branches side by side, runs trials, each in a process that the runner watches and ends, and
//! shows the progress of both.

pub(crate) mod builds;
pub(crate) mod progress;
pub mod sweep;
