//! `meet`: threads that wait for each other, many times, after random idle gaps. Three rows of
//! `workloads.toml` set the parameter `how`: the rows `barrier-join`, `two-long-tasks` and
//! `injection-ping-pong`.
//!
//! During the gap a worker may be in any state between searching and sleep. A lost or late wake-up
//! raises the latencies.

mod barrier;
mod long_tasks;
mod ping_pong;

use std::time::Duration;

use protocol::Refusal;

use self::barrier::Barrier;
use self::long_tasks::LongTasks;
use self::ping_pong::PingPong;
use crate::kinds::pacing::Gaps;
use crate::kinds::series::{Pace, Request, Requests, Series};
use crate::workload::{Instance, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    Ok(match setup.values.word("how") {
        "barrier" => meetings(setup, "joins", Barrier::new(setup)?),
        "long-tasks" => meetings(setup, "joins", LongTasks::new(setup)),
        _ => meetings(setup, "jobs", PingPong::new(setup)),
    })
}

/// The parameter `often` is the number of meetings.
fn meetings<M: Request + 'static>(setup: &Setup<'_>, often: &str, meeting: M) -> Box<dyn Instance> {
    let longest = Duration::from_micros(setup.values.whole("gap-us"));
    let series = Series {
        requests: setup.values.count(often),
        gaps: Gaps::up_to(setup.seed, longest),
        pace: Pace::Spins,
    };
    Box::new(Requests::new(series, meeting))
}
