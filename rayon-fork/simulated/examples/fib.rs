//! A tree of joins on more and more cores of a simulated machine, and which lines of source waited for which:
//! `cargo run --release --example fib -- ../../machines/zen4-64.toml 20`.

use std::path::PathBuf;
use std::process::ExitCode;

use manycore::time::Instant;
use manycore::{FrequencyMode, Machine, Wait, run};

#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;

/// Lines of source that are shown for each number of threads.
const SHOWN: usize = 3;

fn fib(n: u32) -> u64 {
    if n < 2 {
        // As long as a few instructions.
        manycore::work(1_000);
        return u64::from(n);
    }
    let (one, other) = rayon_core::join(|| fib(n - 1), || fib(n - 2));
    one + other
}

/// The simulated time of one tree, and who waited for lines meanwhile.
fn measure(threads: usize, n: u32) -> (std::time::Duration, Vec<Wait>) {
    let pool = rayon_core::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.expect("there are cores for all threads");
    pool.install(|| fib(5));
    manycore::forget_waits();
    let start = Instant::now();
    pool.install(|| fib(n));
    (start.elapsed(), manycore::waits())
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(Ok(n))) =
        (arguments.next().map(PathBuf::from), arguments.next().map(|n| n.parse()))
    else {
        eprintln!("error: give a machine and a number: fib -- ../../machines/zen4-64.toml 20");
        return ExitCode::from(2);
    };
    let machine = match Machine::read(&file) {
        Ok(machine) => machine,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    println!("simulated: {}, {}", machine.name, machine.title);
    let doubled = std::iter::successors(Some(1), |threads| Some(threads * 2));
    for threads in doubled.take_while(|&threads| threads <= machine.topology.cores()) {
        let finished = run(&machine, FrequencyMode::Fixed, 1, move || measure(threads, n))
            .expect("no deadlock");
        let (time, waits) = finished.result;
        println!("{threads:>5} threads {:>9.1} µs", time.as_secs_f64() * 1e6);
        for wait in waits.iter().take(SHOWN) {
            let written = wait.written_at.map_or("nobody".to_owned(), ToString::to_string);
            let waited = wait.waited as f64 / 1e6;
            println!("{:>14} {waited:>9.1} µs waited at {}, written at {written}", "", wait.at);
        }
    }
    ExitCode::SUCCESS
}
