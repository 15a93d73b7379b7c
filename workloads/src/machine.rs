//! The machine on which workloads run: the host. A simulated one has the same names
//! (`machine_simulated.rs`).
//!
//! Code in `kinds/` is written for the standard library, and is rewritten for simulated machines as
//! every pool is. There only accesses to shared memory take time, and the charges of this file:
//! other work between two charges takes none.

use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use protocol::{Failure, Outcome, Refusal, Request, Simulated};

use crate::usage::UsageSample;

pub(crate) use std::time::Instant;

/// Whether this is a simulated machine.
pub(crate) const IS_SIMULATED: bool = false;

/// So many units of work were done here; see [`super::workload::Instance`].
#[inline(always)]
pub fn charge(_units: u64) {}

/// The same for work that moves so many bytes from or to memory.
#[inline(always)]
pub fn charge_moving(_units: u64, _bytes: u64) {}

/// The CPU was kept so long.
#[inline(always)]
pub fn charge_time(_time: Duration) {}

/// Calls `serve`.
///
/// # Errors
/// If `request` is for a simulated machine, and the errors of `serve`.
#[expect(
    clippy::needless_pass_by_value,
    reason = "a simulated machine keeps it"
)]
pub(crate) fn run(
    request: Request,
    serve: impl FnOnce(&Request) -> Result<Outcome, Failure> + 'static,
) -> Result<Outcome, Failure> {
    match &request.machine {
        None => serve(&request),
        Some(machine) => Err(Failure::from(Refusal::new(format!(
            "machine = {}: this build runs on the host; ask one for simulated machines",
            machine.file.display()
        )))),
    }
}

/// Returns the resources that the process has used, as the kernel counts them.
pub(crate) fn used() -> UsageSample {
    let usage = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .map(|who| getrusage(who).expect("the process may ask for its own usage"));
    let sum = |of: fn(&Usage) -> i64| usage.iter().map(|it| count(of(it))).sum();
    UsageSample {
        user: usage.iter().map(|it| duration(it.user_time())).sum(),
        system: usage.iter().map(|it| duration(it.system_time())).sum(),
        counts: protocol::Usage {
            // Linux counts in KiB.
            max_rss_bytes: usage
                .iter()
                .map(|it| count(it.max_rss()))
                .max()
                .unwrap_or(0)
                * 1024,
            voluntary_switches: sum(Usage::voluntary_context_switches),
            involuntary_switches: sum(Usage::involuntary_context_switches),
            minor_faults: sum(Usage::minor_page_faults),
            major_faults: sum(Usage::major_page_faults),
        },
    }
}

fn duration(time: TimeVal) -> Duration {
    Duration::from_secs(count(time.tv_sec())) + Duration::from_micros(count(time.tv_usec()))
}

/// Counts are signed in the C interface and never negative.
fn count(value: impl TryInto<u64>) -> u64 {
    value.try_into().unwrap_or(0)
}

/// Where the time of timed regions goes, which the host does not tell.
#[derive(Default)]
pub(crate) struct Ledger {}

#[expect(
    clippy::unused_self,
    reason = "that of a simulated machine has what to tell"
)]
impl Ledger {
    pub(crate) fn begin(&mut self, _iteration: u32, _is_first_timed: bool) {}

    pub(crate) fn end(&mut self) {}

    pub(crate) fn told(self) -> Option<Simulated> {
        None
    }
}
