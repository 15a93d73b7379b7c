//! Whether a workload of connections may open as many as it wants.

use nix::sys::resource::{Resource, getrlimit};
use protocol::Refusal;

/// Descriptors of everything else in a process: standard streams, the poll, some room.
const OTHERS: u64 = 32;

/// Both ends of each of `connections` are in this process.
///
/// # Errors
/// If the process may not have so many descriptors; `parameter` is what asks for them.
pub(super) fn check(workload: &str, parameter: &str, connections: usize) -> Result<(), Refusal> {
    let needed = 2 * connections as u64 + OTHERS;
    // A kernel that does not tell does not limit.
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((limit, _)) if limit < needed => Err(Refusal::new(format!(
            "workload `{workload}`: {parameter} = {connections} needs {needed} open files and this \
             process may have {limit}; ask for fewer, or raise the limit with `ulimit -n`"
        ))),
        _ => Ok(()),
    }
}
