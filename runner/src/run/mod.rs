//! Builds branches side by side, runs trials, and shows the progress of builds and trials. Each
//! trial is a process that the runner watches and ends.

pub(crate) mod builds;
pub(crate) mod progress;
mod signs;
pub mod sweep;
