//! Runs trials one at a time, each a process that is watched and ended, and tells a person how far
//! they are.

pub(crate) mod builds;
pub mod progress;
pub mod sweep;
