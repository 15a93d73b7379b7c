//! `arrivals`: requests of external threads. The parameter `how` is the kind of request. Rows of
//! `workloads.toml` set it: `inject`, `install`, `idle`, `burst` and `ticks`.
//!
//! Two results matter: CPU time, and latency from the moment when a request was due. A pool whose
//! workers search between requests responds quickly and burns CPU time. Sleeping workers must be
//! woken.

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
        // All jobs pass through the pool's injector, and each submitter sleeps until its job has
        // ended.
        "inject" => {
            let (installs, steps) = (values.whole("installs"), values.whole("job-steps"));
            let first_seed = |number| seed.wrapping_add(number * installs);
            let calls = (0..values.whole("submitters"))
                .map(|number| Call::new(first_seed(number), installs, steps, call::sum));
            let series = series("installs", Gaps::every(Duration::ZERO), Pace::Spins);
            Box::new(Requests::by_threads(series, calls))
        }
        // If the pool is idle, an install needs a wake-up of a worker, and one of the caller; gaps
        // let the workers fall asleep. If the pool is busy, the install waits for a worker whose
        // own deque is empty. With an open load, the requests are as those to a server.
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
                Box::new(Busy::new(installs))
            } else {
                installs
            }
        }
        // Issue 642 of rayon: with the scheduler of 2019 an empty spawn each 10 ms cost 30 % of a
        // CPU, and each 1 ms 200 %.
        "idle" => {
            let series = series("spawns", Gaps::every(microseconds("period-us")), Pace::Open);
            Box::new(Requests::new(series, Spawned::empty()))
        }
        // In a short gap workers search, in a long one they sleep. The length of the gap matters,
        // so it begins when the last burst has ended.
        "burst" => {
            let gap = microseconds("gap-us");
            let gaps = Gaps::between(seed, gap / 2, gap * 3 / 2);
            let batch = Batch::new(values.count("jobs"), values.whole("job-steps"));
            let series = series("bursts", gaps, Pace::Sleeps);
            Box::new(Requests::new(series, Burst::new(batch)))
        }
        // A tick that ends late does not delay the next one.
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
