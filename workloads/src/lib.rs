//! Programs that load a work-stealing pool, each with a sequential version and a checked answer.

pub mod catalogue;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "further")]
mod hogs;
mod input;
#[expect(
    clippy::unnecessary_wraps,
    reason = "every program has the same interface"
)]
pub mod kinds;
#[cfg_attr(manycore, path = "machine_simulated.rs")]
pub mod machine;
pub mod measure;
pub mod observer;
#[cfg(feature = "further")]
pub mod pcap;
pub mod placement;
pub mod program;
pub mod random;
mod threads;
pub mod usage;
mod watchdog;
pub mod workload;

use std::process::ExitCode;

pub use catalogue::CATALOGUE;
use observer::Observer;

/// Does the same as [`program::main`], with the workloads of this crate.
///
/// # Panics
/// Panics in the same cases as [`program::main`].
#[must_use]
pub fn main(variant: &'static str) -> ExitCode {
    program::main(variant, CATALOGUE)
}

/// Does the same as [`program::main_instrumented`], with the workloads of this crate.
///
/// # Panics
/// Panics in the same cases as [`program::main_instrumented`].
#[must_use]
pub fn main_instrumented(variant: &'static str, observer: &'static dyn Observer) -> ExitCode {
    program::main_instrumented(variant, CATALOGUE, observer)
}
