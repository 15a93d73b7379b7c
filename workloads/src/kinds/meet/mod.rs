//! `meet`: threads that must meet, after a random idle gap, many times. How they do so is the
//! parameter `how`, which rows of `workloads.toml` set: `barrier-join`, `two-long-tasks`,
//! `injection-ping-pong` and `broadcast-dozing`.
//!
//! During the gap a worker may be anywhere between searching and sleep. A lost or late wake-up
//! shows in the latencies of meetings.

mod barrier;
mod broadcast;
mod long_tasks;
mod ping_pong;

use std::time::Duration;

use protocol::Refusal;

use self::barrier::Barrier;
use self::broadcast::Broadcast;
use self::long_tasks::LongTasks;
use self::ping_pong::PingPong;
use crate::kinds::pacing::Gaps;
use crate::kinds::series::{Pace, Request, Requests, Series};
use crate::workload::{Instance, Setup};

/// Prepares the workload `meet`.
///
/// # Errors
/// If it cannot be run as asked.
pub fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(match setup.values.word("how") {
        "barrier" => meetings(setup, "joins", Barrier::new(setup)?),
        "long-tasks" => meetings(setup, "joins", LongTasks::new(setup)),
        "ping-pong" => meetings(setup, "jobs", PingPong::default()),
        _ => meetings(setup, "broadcasts", Broadcast::new(setup)),
    })
}

/// As many meetings as the parameter `often` says.
fn meetings<M: Request + 'static>(setup: &Setup<'_>, often: &str, meeting: M) -> Box<dyn Instance> {
    let longest = Duration::from_micros(setup.values.whole("gap-us"));
    let series = Series {
        requests: setup.values.count(often),
        gaps: Gaps::up_to(setup.seed, longest),
        pace: Pace::Spins,
    };
    Box::new(Requests::new(series, meeting))
}
