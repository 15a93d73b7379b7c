//! Prints what a small parallel region costs on this host, by workers: how much longer it takes than its jobs would if
//! telling the workers and collecting them again took no time. Beside it, the same jobs behind a barrier on which threads spin.

use std::hint::{black_box, spin_loop};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// Jobs in a region.
const JOBS: usize = 64;
/// What a job should take.
const JOB: Duration = Duration::from_micros(1);
/// Serial work before a region, in jobs.
const GAP: usize = 5;
/// How long the caller sleeps before a region in the last column.
const PAUSE: Duration = Duration::from_millis(1);

/// What one job does: dependent steps.
fn job(steps: u64) {
    let step = |word: u64, _| (word ^ (word >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    black_box((0..steps).fold(black_box(1), step));
}

/// Steps that take [`JOB`]: the most of some tries, since something else may run in between.
fn steps_of_a_job() -> u64 {
    let tried = 100_000;
    let fastest = (0..20).map(|_| {
        let begun = Instant::now();
        job(tried);
        begun.elapsed()
    });
    let fastest = fastest.min().unwrap_or(JOB);
    (tried as f64 * JOB.as_secs_f64() / fastest.as_secs_f64()) as u64
}

fn share(jobs: usize, steps: u64) {
    (0..jobs).for_each(|_| job(steps));
}

/// A region as every parallel iterator makes it: a tree of joins.
fn tree(jobs: usize, steps: u64) {
    if jobs == 1 {
        return job(steps);
    }
    rayon_core::join(|| tree(jobs / 2, steps), || tree(jobs - jobs / 2, steps));
}

/// What regions cost beyond their jobs: the median in microseconds, and CPU time per region.
struct Price {
    median_us: f64,
    cpu_us: f64,
}

/// CPU time of the process; `None` where it cannot be read.
fn cpu_time() -> Option<Duration> {
    let tasks = std::fs::read_dir("/proc/self/task").ok()?;
    let ns = tasks.flatten().filter_map(|task| {
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        times.split(' ').next()?.parse::<u64>().ok()
    });
    Some(Duration::from_nanos(ns.sum()))
}

/// Opens regions for so many `seconds`, each after a gap.
fn measure(steps: u64, ideal: Duration, seconds: f64, pause: Duration, mut region: impl FnMut()) -> Price {
    let (mut took, mut spent_cpu) = (Vec::new(), cpu_time());
    let mut begun = Instant::now();
    let (mut is_warm, mut regions) = (false, 0_u32);
    while begun.elapsed().as_secs_f64() < seconds || took.is_empty() {
        if !is_warm && begun.elapsed().as_secs_f64() > seconds / 4.0 {
            is_warm = true;
            (begun, spent_cpu) = (Instant::now(), cpu_time());
        }
        share(GAP, steps);
        if !pause.is_zero() {
            thread::sleep(pause);
        }
        let start = Instant::now();
        region();
        if is_warm {
            took.push(start.elapsed());
            regions += 1;
        }
    }
    let cpu = cpu_time().zip(spent_cpu).map(|(after, before)| after.saturating_sub(before));
    took.sort_unstable();
    Price {
        median_us: (took[took.len() / 2].as_secs_f64() - ideal.as_secs_f64()) * 1e6,
        cpu_us: cpu.map_or(f64::NAN, |cpu| cpu.as_secs_f64() * 1e6 / f64::from(regions)),
    }
}

/// On lines of its own.
#[repr(align(128))]
#[derive(Default)]
struct Line<T>(T);

/// The same regions by threads that spin: a number to wait for, and a count of who is done.
fn by_barrier(workers: usize, steps: u64, ideal: Duration, seconds: f64) -> Price {
    let (number, done) = (Line(AtomicU64::new(0)), Line(AtomicUsize::new(0)));
    let jobs_of = |worker: usize| JOBS * (worker + 1) / workers - JOBS * worker / workers;
    thread::scope(|scope| {
        for worker in 1..workers {
            let (number, done) = (&number.0, &done.0);
            scope.spawn(move || {
                for next in 1.. {
                    loop {
                        match number.load(Ordering::Acquire) {
                            u64::MAX => return,
                            now if now == next => break,
                            _ => spin_loop(),
                        }
                    }
                    share(jobs_of(worker), steps);
                    done.fetch_add(1, Ordering::Release);
                }
            });
        }
        let price = measure(steps, ideal, seconds, Duration::ZERO, || {
            done.0.store(0, Ordering::Relaxed);
            number.0.fetch_add(1, Ordering::Release);
            share(jobs_of(0), steps);
            while done.0.load(Ordering::Acquire) + 1 < workers {
                spin_loop();
            }
        });
        number.0.store(u64::MAX, Ordering::Release);
        price
    })
}

/// The host's sizes of pools: the powers of two, and all CPUs.
fn sizes(cpus: usize) -> Vec<usize> {
    let mut sizes: Vec<usize> = (0..).map(|power| 1 << power).take_while(|&size| size < cpus).collect();
    sizes.push(cpus);
    sizes
}

fn row(workers: usize, steps: u64, seconds: f64) -> Option<f64> {
    let pool: ThreadPool = ThreadPoolBuilder::new().num_threads(workers).build().ok()?;
    // What a job takes now: the frequency of the CPUs may have changed.
    let alone = (0..20).map(|_| {
        let begun = Instant::now();
        share(JOBS, steps);
        begun.elapsed()
    });
    let ideal = alone.min()?.mul_f64(JOBS.div_ceil(workers) as f64 / JOBS as f64);
    let inside = pool.install(|| measure(steps, ideal, seconds, Duration::ZERO, || tree(JOBS, steps)));
    let enter = || pool.install(|| tree(JOBS, steps));
    let outside = measure(steps, ideal, seconds, Duration::ZERO, enter);
    let paused = measure(steps, ideal, seconds, PAUSE, enter);
    drop(pool);
    let barrier = by_barrier(workers, steps, ideal, seconds);
    println!(
        "{workers:>7} {:>9.1} {:>11.1} {:>11.1} {:>13.1} {:>13.1} {:>15.1}",
        ideal.as_secs_f64() * 1e6,
        inside.median_us,
        outside.median_us,
        paused.median_us,
        barrier.median_us,
        outside.cpu_us,
    );
    Some(outside.median_us - barrier.median_us)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = match words.as_slice() {
        [] => Some(1.0),
        [word] => word.parse().ok().filter(|seconds: &f64| (0.01..=3600.0).contains(seconds)),
        _ => None,
    };
    let Some(seconds) = seconds else {
        eprintln!("usage: price-of-a-region [SECONDS], 0.01 to 3600, for each figure");
        return ExitCode::from(2);
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let steps = steps_of_a_job();
    println!("Regions of {JOBS} jobs of 1 us, 5 us of serial work between them; us beyond the ideal, medians.\n");
    println!("{:>7} {:>9} {:>37} {:>13} {:>15}", "", "", "the pool, entered from", "threads that", "CPU us a region");
    println!(
        "{:>7} {:>9} {:>11} {:>11} {:>13} {:>13} {:>15}",
        "workers", "ideal us", "inside", "outside", "after 1 ms", "only spin", "(outside)"
    );
    let mut dearest = 0.0_f64;
    for workers in sizes(cpus) {
        let Some(more) = row(workers, steps, seconds) else {
            eprintln!("{workers} threads: the system refuses to start them");
            return ExitCode::from(4);
        };
        dearest = dearest.max(more);
    }
    println!("\nA region that is entered from outside costs up to {dearest:.1} us more than one of threads that only spin.");
    ExitCode::SUCCESS
}
