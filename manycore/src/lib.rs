//! Simulated machines of many cores. Threads are coroutines on one thread of the host. Every access
//! to shared memory has a cost, and time is the sum of the costs.
//!
//! A program uses the atomics, locks and threads of this crate instead of the standard library's,
//! and [`run`] runs it on a [`Machine`]. `manycore/README.md` lists what is simulated and what is
//! not; `results/PUBLISHED.md` compares simulations with published figures.
//!
//! ```
//! use std::sync::Arc;
//!
//! use manycore::atomic::{AtomicUsize, Ordering};
//! use manycore::{FrequencyMode, Machine, run, thread};
//!
//! let mut machine = Machine::free(4);
//! machine.costs.set_transfers(50_000);
//! let finished = run(&machine, FrequencyMode::Fixed, 1, || {
//!     let count = Arc::new(AtomicUsize::new(0));
//!     let add = |count: Arc<AtomicUsize>| move || drop(count.fetch_add(1, Ordering::Relaxed));
//!     let threads: Vec<_> = (0..4).map(|_| thread::spawn(add(Arc::clone(&count)))).collect();
//!     threads.into_iter().for_each(|thread| thread.join().unwrap());
//!     count.load(Ordering::Relaxed)
//! })?;
//! assert_eq!(finished.result, 4);
//! assert!(finished.elapsed >= 3 * 50_000, "the line went from core to core");
//! # Ok::<(), manycore::Stuck>(())
//! ```

mod allocator;
pub mod atomic;
pub mod channel;
mod engine;
mod heap;
pub mod lock;
pub mod machine;
mod number;
mod once;
mod stall;
mod stuck;
pub mod thread;
pub mod time;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use allocator::Heap;
use engine::Engine;
pub use engine::attribution::{Spending, Spent, Wait, WaitedFor};
pub use engine::{
    accesses, cores, current_core, forget_waits, heavy_fence, on_host, own_instructions, random,
    read_modify_write, seed, spent, spin_loop, take_over, threads, touch, waits, work,
};
pub use machine::{Call, FrequencyMode, MAX_CORES, Machine, MachineError, Picoseconds};
pub use stall::STALLED;
pub use stuck::Stuck;

/// A run that reached its end.
#[derive(Debug)]
pub struct Finished<R> {
    /// The result of the program.
    pub result: R,
    /// The machine's clock when the run ended, in picoseconds.
    pub elapsed: Picoseconds,
    /// Number of accesses to shared memory that had a cost.
    pub accesses: u64,
    /// Number of turns that threads took, including turns in which a thread only became able to
    /// run.
    pub turns: u64,
}

/// Runs `main`, and every thread that `main` starts, on `machine`, as an operating system would
/// that runs nothing else. When `main` returns, the program ends, like a process.
///
/// The same program, machine, mode and `seed` give the same result.
///
/// # Errors
/// If every thread is blocked.
///
/// # Panics
/// If `main` panics, with the payload of that panic. Also if a simulation already runs on this
/// thread of the host.
pub fn run<R: 'static>(
    machine: &Machine,
    mode: FrequencyMode,
    seed: u64,
    main: impl FnOnce() -> R + 'static,
) -> Result<Finished<R>, Stuck> {
    run_watched(machine, mode, seed, Duration::from_mins(5), main)
}

/// [`run`] with a limit of the host's time. Ends the process with an error and [`STALLED`] if no
/// simulated thread begins a turn within this limit.
///
/// All simulated threads run on one thread of the host. So the limit passes if one of them gives up
/// its turn while it holds a lock of the standard library, and another wants that lock. The limit
/// also passes if a thread keeps its turn for longer than `stalled_after`.
///
/// # Errors
/// Returns an error in the same cases as [`run`].
///
/// # Panics
/// Panics in the same cases as [`run`].
pub fn run_watched<R: 'static>(
    machine: &Machine,
    mode: FrequencyMode,
    seed: u64,
    stalled_after: Duration,
    main: impl FnOnce() -> R + 'static,
) -> Result<Finished<R>, Stuck> {
    let _watch = stall::watch(stalled_after);
    let place = Arc::new(Mutex::new(None));
    let of_main = Arc::clone(&place);
    let body = Box::new(move || {
        let result = catch_unwind(AssertUnwindSafe(main));
        *of_main.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    let (elapsed, accesses, turns) = Engine::new(machine, mode, seed).run(body)?.totals();
    let result = place.lock().unwrap_or_else(PoisonError::into_inner).take();
    match result.expect("the run is over, so `main` returned") {
        Ok(result) => Ok(Finished {
            result,
            elapsed,
            accesses,
            turns,
        }),
        Err(panic) => resume_unwind(panic),
    }
}
