//! Simulated machines of many cores. Threads are coroutines on one thread of the host. Every access
//! to shared memory has a cost, and time is the sum of the costs.
//!
//! A program uses the atomics, locks and threads of this crate instead of the standard library's,
//! and [`run`] runs it on a [`Machine`]. `manycore/README.md` lists what is simulated and what is
//! not; `results/PUBLISHED.md` compares it with published figures.
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

use std::panic::{AssertUnwindSafe, Location, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use allocator::Heap;
use engine::Engine;
pub use engine::PIECE_BYTES;
pub use engine::attribution::{Spending, Spent, Wait, WaitedFor};
pub use machine::{Call, FrequencyMode, MAX_CORES, Machine, MachineError, Picoseconds, SYSTEM};
pub use stall::STALLED;
pub use stuck::{Stuck, StuckThread};

/// A run that reached its end.
#[derive(Debug)]
pub struct Finished<R> {
    /// The result of the program.
    pub result: R,
    /// The clock when it ended, in picoseconds.
    pub elapsed: Picoseconds,
    /// Accesses to shared memory that had a cost.
    pub accesses: u64,
    /// Turns that cores took.
    pub turns: u64,
}

/// Runs `main`, and every thread that it starts, on `machine`, as an operating system would that
/// runs nothing else. When `main` returns, the program is over, as a process is.
///
/// The same program, machine, mode and `seed` give the same result.
///
/// # Errors
/// If every thread is blocked.
///
/// # Panics
/// If `main` panics, with its payload; and if a simulation is already running on this thread of the
/// host.
pub fn run<R: 'static>(
    machine: &Machine,
    mode: FrequencyMode,
    seed: u64,
    main: impl FnOnce() -> R + 'static,
) -> Result<Finished<R>, Stuck> {
    run_watched(machine, mode, seed, Duration::from_mins(5), main)
}

/// [`run`] with a time limit of the host. Ends the process with an error and [`STALLED`] if no core
/// has taken a turn for so long.
///
/// That happens if a core holds a lock of the standard library while it gives up its turn, and
/// another core wants that lock. All cores are one thread of the host, which then waits for itself.
/// It also happens if a core works for so long without an access to shared memory. Then a longer
/// limit helps.
///
/// # Errors
/// As [`run`].
///
/// # Panics
/// As [`run`].
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
    let engine = Engine::new(machine, mode, seed).run(body)?;
    let (elapsed, accesses, turns) = engine.totals();
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

/// Adds the cost of work that took, or would have taken, so many picoseconds at the machine's
/// reference frequency, alone on its core.
pub fn work(time: Picoseconds) {
    engine::work(time);
}

/// Adds the cost of the own instructions of `call`, which a pool begins: those that do not access
/// shared memory. The machine knows that cost for the pool that runs on it.
#[inline]
pub fn own_instructions(call: Call) {
    engine::own_instructions(call);
}

/// Adds the cost of work that meanwhile moves `bytes` between the core and its socket's memory. It
/// takes `time` as by [`work`], or as long as the bandwidth of the core or of the socket needs,
/// whichever ends last. Threads that move bytes at that time share the socket's bandwidth. Bytes
/// are moved in pieces of [`PIECE_BYTES`]; a rest is kept for the next piece.
pub fn work_moving(time: Picoseconds, bytes: u64) {
    engine::work_moving(time, bytes);
}

/// Adds the cost of reading or writing `bytes` of plain memory from `address` on: each line once.
#[track_caller]
pub fn touch(address: usize, bytes: usize, is_written: bool) {
    engine::touch(address, bytes, is_written, Location::caller());
}

/// Adds the cost of taking over `bytes` of plain memory from `address` on, whose writes the program
/// did not report. They come from the core whose stack they are in, or if they are a box, from the
/// core that allocated it.
#[track_caller]
pub fn take_over(address: usize, bytes: usize, is_boxed: bool) {
    engine::take_over(address, bytes, is_boxed, Location::caller());
}

/// Adds the cost of reading and writing the word at `address` in one step.
#[track_caller]
pub fn read_modify_write(address: usize) {
    engine::access(address, engine::Access::ReadModifyWrite, Location::caller());
}

/// Calls `step` as a part of the simulation itself: its allocations are the host's and cost
/// nothing. It must not access memory that cores share, and must not panic.
pub fn on_host<R>(step: impl FnOnce() -> R) -> R {
    engine::on_host(step)
}

/// A hint that the core spins. Until the thread adds the cost of work, its time counts as search.
pub fn spin_loop() {
    engine::begin_search();
    engine::pause();
}

/// The heavy side of an asymmetric fence: a fence for this core and for all running cores, as
/// `membarrier` makes.
#[track_caller]
pub fn heavy_fence() {
    engine::heavy_fence(Location::caller());
}

/// Threads that have not ended; `None` outside a simulation.
#[must_use]
pub fn threads() -> Option<usize> {
    engine::threads()
}

/// The number of the core on which this runs; `None` outside a simulation.
#[must_use]
pub fn current_core() -> Option<usize> {
    engine::current_core()
}

/// Cores of the machine, as the operating system counts them; `None` outside a simulation.
#[must_use]
pub fn cores() -> Option<usize> {
    engine::cores()
}

/// The run's seed; 0 outside a simulation.
#[must_use]
pub fn seed() -> u64 {
    engine::seed()
}

/// A number from the run's seed, different at each call; 0 outside a simulation.
#[must_use]
pub fn random() -> u64 {
    engine::random()
}

/// Number of accesses to shared memory with a cost so far; 0 outside a simulation.
#[must_use]
pub fn accesses() -> u64 {
    engine::accesses()
}

/// Returns the time that each thread spent so far; empty outside a simulation. A thread's entry
/// includes earlier threads with the same index.
#[must_use]
pub fn spent() -> Vec<Spent> {
    engine::spent()
}

/// Lines of source that waited so far, the longest wait first; empty outside a simulation.
#[must_use]
pub fn waits() -> Vec<Wait> {
    engine::waits()
}

/// Forgets earlier [`waits`].
pub fn forget_waits() {
    engine::forget_waits();
}
