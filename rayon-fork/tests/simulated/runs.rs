//! Runs each test on simulated machines of 64 cores.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use manycore::{FrequencyMode, Machine};

#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;

/// A machine that has more cores than any test has threads.
const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/zen4-64.toml");

/// The number of runs of each test. Each seed gives another order of events.
const SEEDS: u64 = 10;

const TIME_LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run(test: &str, body: fn()) {
    let machine = Machine::read(MACHINE.as_ref()).unwrap();
    for seed in 1..=SEEDS {
        let _told = TellsOfPanic(seed);
        let (done, is_done) = channel::<()>();
        thread::scope(|threads| {
            threads.spawn(move || {
                if is_done.recv_timeout(TIME_LIMIT) == Err(RecvTimeoutError::Timeout) {
                    eprintln!("hung: `{test}` with seed {seed}");
                    std::process::abort();
                }
            });
            let _ends_watchdog = done;
            let run = manycore::run_watched(
                &machine,
                FrequencyMode::Dynamic,
                seed,
                TIME_LIMIT / 6,
                body,
            );
            if let Err(stuck) = run {
                panic!("{stuck}");
            }
        });
    }
}

struct TellsOfPanic(u64);

impl Drop for TellsOfPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the seed is {}", self.0);
        }
    }
}
