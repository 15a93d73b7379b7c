//! Servers, locks, user-level threads and asynchronous input and output as workloads of a pool.
//!
//! The services are in a separate crate, so that the runner builds a branch with them only if a
//! sweep runs a service.

mod async_io;
#[cfg(feature = "cli")]
mod file_server;
#[cfg(test)]
mod fixtures;
mod forum;
mod http;
mod kv;
mod locks;
mod metrics;
mod net;
#[cfg(feature = "cli")]
pub mod serve;
#[cfg_attr(
    not(feature = "cli"),
    expect(
        dead_code,
        unused_imports,
        reason = "only the file server waits for sockets"
    )
)]
mod user_threads;

use std::process::ExitCode;
use std::sync::LazyLock;

use workloads::catalogue::{self, Prepare};
pub use workloads::observer;
use workloads::program;
use workloads::workload::Workload;

use observer::Observer;

/// The programs of this crate. A new program needs a line here.
const PROGRAMS: &[(&str, Prepare)] = &[
    ("locks", locks::prepare),
    ("async-io", async_io::prepare),
    ("kv", kv::prepare),
    ("forum", forum::prepare),
];

/// Every workload of this crate, in the order of `workloads.toml`.
pub static SERVICES: &LazyLock<Vec<Box<dyn Workload>>> = &OWN;

static OWN: LazyLock<Vec<Box<dyn Workload>>> = LazyLock::new(|| catalogue::of(PROGRAMS));

static ALL: LazyLock<Vec<Box<dyn Workload>>> = LazyLock::new(|| {
    let mut all = catalogue::compiled();
    all.extend(catalogue::of(PROGRAMS));
    all
});

/// Does the same as [`program::main`], with all workloads.
///
/// # Panics
/// Panics in the same cases as [`program::main`].
#[must_use]
pub fn main(variant: &'static str) -> ExitCode {
    program::main(variant, &ALL)
}

/// Does the same as [`program::main_instrumented`], with all workloads.
///
/// # Panics
/// Panics in the same cases as [`program::main_instrumented`].
#[must_use]
pub fn main_instrumented(variant: &'static str, observer: &'static dyn Observer) -> ExitCode {
    program::main_instrumented(variant, &ALL, observer)
}
