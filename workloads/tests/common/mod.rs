use protocol::{Program, Request};

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
