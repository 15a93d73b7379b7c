//! The common part of the test binaries.

use protocol::{Program, Request};

/// A request for a short trial: one warm-up iteration, and two that are timed.
pub(crate) fn request(workload: &str, program: Program, threads: usize, seed: u64) -> Request {
    Request {
        program,
        threads,
        seed,
        warmup_iterations: 1,
        iterations: 2,
        ..Request::tiny(workload)
    }
}
