//! Tests results that the model must give: limits known from theory, and costs that a reader can
//! count by hand.

mod hardware_threads;
mod limits;
mod schedule;

use manycore::{FrequencyMode, Machine, Picoseconds, run, thread};

/// The heap decides which objects share a line.
#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;

const NS: Picoseconds = 1_000;
const US: Picoseconds = 1_000 * NS;

fn simulate<R: 'static>(machine: &Machine, main: impl FnOnce() -> R + 'static) -> (R, Picoseconds) {
    let finished = run(machine, FrequencyMode::Fixed, 1, main).unwrap();
    (finished.result, finished.elapsed)
}

fn time_of(machine: &Machine, main: impl FnOnce() + 'static) -> Picoseconds {
    simulate(machine, main).1
}

fn on_threads(threads: usize, body: impl Fn(usize) + Clone + 'static) {
    let start = |i| {
        let body = body.clone();
        thread::spawn(move || body(i))
    };
    let handles: Vec<_> = (0..threads).map(start).collect();
    for handle in handles {
        handle.join().unwrap();
    }
}

fn timed(body: impl FnOnce()) -> Picoseconds {
    let started = manycore::time::Instant::now();
    body();
    manycore::time::Instant::now().picoseconds() - started.picoseconds()
}
