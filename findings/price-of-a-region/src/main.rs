//! Prints what a small parallel region costs on this host, by workers: how much longer it takes
//! than its jobs would if telling the workers and collecting them again took no time. Beside it,
//! the same by threads that only spin.

use std::hint::{black_box, spin_loop};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::ThreadPoolBuilder;

/// Jobs in a region.
const JOBS: usize = 64;
/// The time of a job.
const JOB: Duration = Duration::from_micros(1);
/// Serial work before a region, in jobs.
const GAP: usize = 5;
/// How long the caller sleeps before a region in the third column.
const PAUSE: Duration = Duration::from_millis(1);

/// So many jobs, one after the other, of so many dependent steps each.
fn share(jobs: usize, steps: u64) {
    let step = |word: u64, _| (word ^ (word >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (0..jobs).for_each(|_| {
        black_box((0..steps).fold(black_box(1), step));
    });
}

/// The shortest time of some tries, since something else may run in between.
fn alone(jobs: usize, steps: u64) -> Duration {
    let tries = (0..20).map(|_| {
        let begun = Instant::now();
        share(jobs, steps);
        begun.elapsed()
    });
    tries.min().unwrap_or(JOB)
}

/// A region as parallel iterators make it: a tree of joins.
fn tree(jobs: usize, steps: u64) {
    if jobs == 1 {
        return share(1, steps);
    }
    rayon_core::join(|| tree(jobs / 2, steps), || tree(jobs - jobs / 2, steps));
}

/// On cache lines of its own.
#[repr(align(128))]
struct Line<T>(T);

/// A measurement, and its length.
#[derive(Clone, Copy)]
struct Regions {
    workers: usize,
    steps: u64,
    ideal: Duration,
    seconds: f64,
}

impl Regions {
    /// Opens regions, each after a gap; by how many microseconds the median exceeds the ideal.
    fn price(self, pause: Duration, mut region: impl FnMut()) -> f64 {
        let (mut took, start) = (Vec::new(), Instant::now());
        while start.elapsed().as_secs_f64() < self.seconds || took.is_empty() {
            share(GAP, self.steps);
            if !pause.is_zero() {
                thread::sleep(pause);
            }
            let begun = Instant::now();
            region();
            took.push(begun.elapsed());
        }
        // The first ones find workers that have just started.
        let mut warm = took.split_off(took.len() / 4);
        warm.sort_unstable();
        (warm[warm.len() / 2].as_secs_f64() - self.ideal.as_secs_f64()) * 1e6
    }

    /// The same with threads that spin: on a number of the region, and on a count of who is done.
    fn price_by_spinning(self) -> f64 {
        let (number, done) = (&Line(AtomicU64::new(0)).0, &Line(AtomicUsize::new(0)).0);
        let jobs = |worker| JOBS * (worker + 1) / self.workers - JOBS * worker / self.workers;
        thread::scope(|scope| {
            for worker in 1..self.workers {
                scope.spawn(move || {
                    for next in 1.. {
                        loop {
                            match number.load(Ordering::Acquire) {
                                u64::MAX => return,
                                now if now == next => break,
                                _ => spin_loop(),
                            }
                        }
                        share(jobs(worker), self.steps);
                        done.fetch_add(1, Ordering::Release);
                    }
                });
            }
            let price = self.price(Duration::ZERO, || {
                done.store(0, Ordering::Relaxed);
                number.fetch_add(1, Ordering::Release);
                share(jobs(0), self.steps);
                while done.load(Ordering::Acquire) + 1 < self.workers {
                    spin_loop();
                }
            });
            number.store(u64::MAX, Ordering::Release);
            price
        })
    }
}

fn row(workers: usize, steps: u64, seconds: f64) {
    let part = JOBS.div_ceil(workers) as f64 / JOBS as f64;
    let regions = Regions {
        workers,
        steps,
        ideal: alone(JOBS, steps).mul_f64(part),
        seconds,
    };
    let pool = ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .expect("threads");
    let enter = || pool.install(|| tree(JOBS, steps));
    let inside = pool.install(|| regions.price(Duration::ZERO, || tree(JOBS, steps)));
    let outside = regions.price(Duration::ZERO, enter);
    let paused = regions.price(PAUSE, enter);
    let (ideal, spins) = (
        regions.ideal.as_secs_f64() * 1e6,
        regions.price_by_spinning(),
    );
    println!(
        "{workers:>7} {ideal:>9.1} {inside:>11.1} {outside:>11.1} {paused:>13.1} {spins:>13.1}"
    );
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = match words.as_slice() {
        [] => Ok(1.0),
        [word] => word.parse(),
        _ => "many".parse(),
    };
    let Ok(seconds @ 0.01..=3600.0) = seconds else {
        eprintln!("usage: price-of-a-region [SECONDS], from 0.01 to 3600, for each figure");
        return ExitCode::from(2);
    };
    let tried = 100_000;
    let nanoseconds = |time: Duration| u64::from(time.subsec_nanos()).max(1);
    let steps = tried * nanoseconds(JOB) / nanoseconds(alone(1, tried));
    println!("Regions of {JOBS} jobs of 1 us, 5 us between them: us beyond the ideal, medians.\n");
    println!("                       the pool, entered from             threads that");
    println!("workers  ideal us      inside     outside    after 1 ms     only spin");
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let powers = (0..usize::BITS)
        .map(|power| 1 << power)
        .take_while(|&size| size < cpus);
    powers
        .chain([cpus])
        .for_each(|workers| row(workers, steps, seconds));
    ExitCode::SUCCESS
}
