//! The door to the machine that tests run on: the host, or under `--cfg fork_sim` a simulated one.

#[cfg(not(fork_sim))]
pub(crate) use std::sync::{Barrier, Condvar, Mutex, atomic, mpsc};
#[cfg(not(fork_sim))]
// Not every test program needs all of it.
#[allow(unused_imports)]
pub(crate) use std::{thread, thread_local};

#[cfg(fork_sim)]
pub(crate) use manycore::lock::{Barrier, Condvar, Mutex};
#[cfg(fork_sim)]
pub(crate) use manycore::{atomic, channel as mpsc, thread};
#[cfg(fork_sim)]
pub(crate) use simulated::{run, thread_local};

#[cfg(fork_sim)]
mod simulated {
    use manycore::{FrequencyMode, Machine};

    use crate::common::{PATIENCE, watched};

    /// Addresses, and so what shares a line, do not depend on the host.
    #[global_allocator]
    static HEAP: manycore::Heap = manycore::Heap;

    /// More cores than any test has threads; a pool of default size has 8, see `.cargo/config.toml`.
    const MACHINE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/zen4-64.toml");

    /// Each test runs so many times. The seed decides how late woken threads run and where thieves begin to search, so
    /// each time threads meet in another order.
    const SEEDS: u64 = 10;

    /// Runs `body` on machines of its own. Every `#[test]` does.
    ///
    /// # Panics
    /// As `body` does, and if its threads wait for each other.
    pub(crate) fn run(test: &str, body: fn()) {
        let machine = Machine::read(MACHINE.as_ref()).unwrap();
        let stalled_after = PATIENCE / 6;
        for seed in 1..=SEEDS {
            let run = || {
                manycore::run_watched(&machine, FrequencyMode::Dynamic, seed, stalled_after, body)
            };
            let _told = TellsOfPanic(seed);
            if let Err(stuck) = watched(PATIENCE, test, || format!("The seed is {seed}."), run) {
                panic!("{stuck}");
            }
        }
    }

    /// Tells the seed of a run that panics.
    struct TellsOfPanic(u64);

    impl Drop for TellsOfPanic {
        fn drop(&mut self) {
            if std::thread::panicking() {
                eprintln!("the seed is {}", self.0);
            }
        }
    }

    macro_rules! core_local {
        (static $name:ident: $type:ty = const { $value:expr }) => {
            manycore::core_local!(static $name: $type = $value);
        };
    }
    pub(crate) use core_local as thread_local;
}
