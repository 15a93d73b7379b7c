//! Runs trials one at a time, each a process that is watched and ended, and tells a person how far
//! they are.

pub mod interrupt;
pub mod lock;
pub mod progress;
pub mod subprocess;
pub mod sweep;
#[cfg(test)]
pub(crate) mod testing;
pub mod trial;
