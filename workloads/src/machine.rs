//! The machine on which workloads run: the host. `machine_simulated.rs` has the same names for a
//! simulated machine.
//!
//! On a simulated machine, a workload's own code takes no time between accesses to shared memory
//! and system calls. A workload adds the cost of that code by the functions of this file.

use std::time::Duration;

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeVal;
use protocol::{Failure, Outcome, Refusal, Request, Simulated};

use crate::usage::UsageSample;

pub(crate) use std::time::Instant;

pub(crate) const IS_SIMULATED: bool = false;

/// Adds the cost of `units` units of work.
#[inline(always)]
pub fn add_cost(_units: u64) {}

/// Adds the time for which the thread spins.
#[inline(always)]
pub fn add_time(_time: Duration) {}

/// Calls `serve`; fails if `request` is for a simulated machine.
#[expect(
    clippy::needless_pass_by_value,
    reason = "on a simulated machine, this function keeps the request"
)]
pub(crate) fn run(
    request: Request,
    serve: impl FnOnce(&Request) -> Result<Outcome, Failure> + 'static,
) -> Result<Outcome, Failure> {
    match &request.machine {
        None => serve(&request),
        Some(machine) => Err(Failure::from(Refusal::new(format!(
            "machine = {}: this build runs on the host; use a build for simulated machines",
            machine.file.display()
        )))),
    }
}

pub(crate) fn used() -> UsageSample {
    let usage = [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
        .map(|who| getrusage(who).expect("the process may ask for its own usage"));
    let sum = |of: fn(&Usage) -> i64| usage.iter().map(|it| count(of(it))).sum();
    UsageSample {
        user: usage.iter().map(|it| duration(it.user_time())).sum(),
        system: usage.iter().map(|it| duration(it.system_time())).sum(),
        counts: protocol::Usage {
            // Linux counts this memory in KiB.
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

/// The time that timed regions spent on each activity. Only a simulated machine reports this time.
#[derive(Default)]
pub(crate) struct Ledger {}

#[expect(
    clippy::unused_self,
    reason = "the methods for a simulated machine use `self`"
)]
impl Ledger {
    pub(crate) fn begin(&mut self, _iteration: u32, _is_first_timed: bool) {}

    pub(crate) fn end(&mut self) {}

    pub(crate) fn report(self) -> Option<Simulated> {
        None
    }
}
