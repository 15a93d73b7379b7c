//! Checks that a workload may open as many connections as it needs.

use nix::sys::resource::{Resource, getrlimit};
use protocol::Refusal;

/// The file descriptors of all other parts of a process: standard streams, the poll, and a reserve.
const OTHERS: u64 = 32;

/// Checks the limit for `connections` connections, both ends of which are in this process.
///
/// # Errors
/// If the process may not have so many descriptors. The message names `parameter`, which set their
/// number.
pub(super) fn check(workload: &str, parameter: &str, connections: usize) -> Result<(), Refusal> {
    let needed = 2 * connections as u64 + OTHERS;
    // If the kernel reports no limit, there is none.
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((limit, _)) if limit < needed => Err(Refusal::new(format!(
            "workload `{workload}`: {parameter} = {connections} needs {needed} open files and this \
             process may have {limit}; ask for fewer, or raise the limit with `ulimit -n`"
        ))),
        _ => Ok(()),
    }
}
