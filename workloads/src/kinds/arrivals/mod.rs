//! `arrivals`: requests of external threads. Rows of `workloads.toml` set the kind of request by
//! the parameter `how`: `inject`, `install`, `idle`, `burst` and `ticks`.
//!
//! Two results matter: CPU time, and latency from the moment when a request was due.

mod burst;
mod busy;
mod call;
mod spawned;
mod tick;

use std::time::Duration;

use protocol::Refusal;

use self::burst::Burst;
use self::busy::Busy;
use self::call::Call;
use self::spawned::Spawned;
use self::tick::Ticks;
use crate::kinds::jobs::Batch;
use crate::kinds::pacing::Gaps;
use crate::kinds::series::{Pace, Requests, Series};
use crate::workload::{Instance, Setup};

pub(super) fn prepare(setup: &Setup<'_>) -> Result<Box<dyn Instance>, Refusal> {
    let (seed, values) = (setup.seed, setup.values);
    let microseconds = |name| Duration::from_micros(values.whole(name));
    let series = |requests, gaps, pace| Series {
        requests: values.count(requests),
        gaps,
        pace,
    };
    Ok(match values.word("how") {
        // Each submitter sleeps until its job, which passes through the pool's injector, has ended.
        "inject" => {
            let (installs, steps) = (values.whole("installs"), values.whole("job-steps"));
            let first_seed = |number| seed.wrapping_add(number * installs);
            let calls = (0..values.whole("submitters"))
                .map(|number| Call::new(first_seed(number), installs, steps, call::sum));
            let series = series("installs", Gaps::every(Duration::ZERO), Pace::Spins);
            Box::new(Requests::by_threads(series, calls))
        }
        // If the pool is idle, an install needs two wake-ups, of a worker and of the caller; gaps
        // let the workers fall asleep. If the pool is busy, the install waits for a worker whose
        // deque is empty.
        "install" => {
            let (installs, steps) = (values.whole("installs"), values.whole("job-steps"));
            let gaps = Gaps::up_to(seed, microseconds("gap-us"));
            let installs: Box<dyn Instance> = if values.word("load") == "open" {
                let series = series("installs", gaps, Pace::Open);
                Box::new(Requests::new(series, Spawned::adding_up(installs, steps)))
            } else {
                let series = series("installs", gaps, Pace::Spins);
                let call = Call::new(0, installs, steps, call::installs);
                Box::new(Requests::new(series, call))
            };
            if values.word("pool") == "busy" {
                Box::new(Busy(installs))
            } else {
                installs
            }
        }
        // This load is from rayon-rs/rayon#642, where an empty spawn each millisecond used two
        // whole CPUs.
        "idle" => {
            let series = series("spawns", Gaps::every(microseconds("period-us")), Pace::Open);
            Box::new(Requests::new(series, Spawned::empty()))
        }
        // The gap begins when the previous burst has ended: in a short gap workers search, in a
        // long gap they sleep.
        "burst" => {
            let gap = microseconds("gap-us");
            let gaps = Gaps::between(seed, gap / 2, gap * 3 / 2);
            let batch = Batch::new(values.count("jobs"), values.whole("job-steps"));
            let series = series("bursts", gaps, Pace::Sleeps);
            Box::new(Requests::new(series, Burst::new(batch)))
        }
        // Unless the period is 0, a tick is due one period after the previous tick was due, even if
        // that tick ends late.
        _ => {
            let period = microseconds("period-us");
            let pace = if period.is_zero() {
                Pace::Sleeps
            } else {
                Pace::Open
            };
            let series = series("ticks", Gaps::every(period), pace);
            Box::new(Requests::new(series, Ticks::new(setup)))
        }
    })
}
