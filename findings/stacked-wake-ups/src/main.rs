//! Observes on which CPUs the kernel runs a pool's two workers in the middle of short bursts of
//! work.

use std::fs::{read_link, read_to_string};
use std::hint::spin_loop;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::ThreadPoolBuilder;

const PERIOD: Duration = Duration::from_millis(3);
/// Number of jobs of a burst, and how long each job works.
const JOBS: u32 = 1000;
const WORK: Duration = Duration::from_nanos(400);

/// The folder below `/proc` of each worker.
static WORKERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

#[derive(Default)]
struct Seen {
    stacked: u32,
    apart: u32,
    alone: u32,
}

impl Seen {
    fn note(&mut self) {
        let workers = WORKERS.lock().unwrap_or_else(PoisonError::into_inner);
        let [Some(one), Some(other)] = [0, 1].map(|worker| running_on(workers.get(worker)?)) else {
            return self.alone += 1;
        };
        *(if one == other {
            &mut self.stacked
        } else {
            &mut self.apart
        }) += 1;
    }
}

fn running_on(task: &Path) -> Option<u32> {
    let text = read_to_string(task.join("stat")).ok()?;
    let mut words = text.rsplit(')').next()?.split_whitespace();
    (words.next()? == "R").then(|| words.nth(35)?.parse().ok())?
}

fn run_jobs(first: u32, jobs: u32, seen: &Mutex<Seen>) {
    if jobs > 1 {
        let half = jobs / 2;
        rayon_core::join(
            || run_jobs(first, half, seen),
            || run_jobs(first + half, jobs - half, seen),
        );
    } else {
        let begun = Instant::now();
        if first == JOBS / 2 {
            seen.lock().unwrap_or_else(PoisonError::into_inner).note();
        }
        while begun.elapsed() < WORK {
            spin_loop();
        }
    }
}

/// Keeps this thread on the first or the last CPU that it may use. Does nothing except on Linux.
#[cfg_attr(
    not(target_os = "linux"),
    expect(unused_variables, reason = "only Linux is asked")
)]
fn stay(worker: usize) {
    #[cfg(target_os = "linux")]
    {
        unsafe extern "C" {
            fn sched_getaffinity(thread: i32, bytes: usize, cpus: *mut u64) -> i32;
            fn sched_setaffinity(thread: i32, bytes: usize, cpus: *const u64) -> i32;
        }
        let (mut all, mut one) = ([0_u64; 16], [0_u64; 16]);
        // SAFETY: these functions of the C library write and read as many bytes as their second
        // argument says, which is the size of the mask.
        unsafe { sched_getaffinity(0, size_of_val(&all), all.as_mut_ptr()) };
        let mut cpus = (0..1024).filter(|cpu| all[cpu / 64] >> (cpu % 64) & 1 == 1);
        if let Some(cpu) = if worker == 0 {
            cpus.next()
        } else {
            cpus.next_back()
        } {
            one[cpu / 64] = 1 << (cpu % 64);
            // SAFETY: the function reads as many bytes as its second argument says: the size of the
            // mask.
            unsafe { sched_setaffinity(0, size_of_val(&one), one.as_ptr()) };
        }
    }
}

fn row(name: &str, seconds: f64, is_pinned: bool) -> f64 {
    WORKERS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clear();
    let pool = ThreadPoolBuilder::new()
        .num_threads(2)
        .start_handler(move |worker| {
            if is_pinned {
                stay(worker);
            }
            let task = read_link("/proc/thread-self").unwrap_or_default();
            WORKERS
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(Path::new("/proc").join(task));
        });
    let pool = pool.build().expect("two threads");
    let (seen, begun, mut due) = (Mutex::default(), Instant::now(), Instant::now());
    let mut ticks_us = Vec::new();
    while begun.elapsed().as_secs_f64() < seconds || ticks_us.is_empty() {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let begun = Instant::now();
        pool.install(|| run_jobs(0, JOBS, &seen));
        ticks_us.push(begun.elapsed().as_secs_f64() * 1e6);
        due += PERIOD;
    }
    ticks_us.sort_by(f64::total_cmp);
    let Seen {
        stacked,
        apart,
        alone,
    } = seen.into_inner().unwrap_or_else(PoisonError::into_inner);
    let share = |part: u32| 100.0 * f64::from(part) / ticks_us.len() as f64;
    let [stacked, apart, alone] = [stacked, apart, alone].map(share);
    let median = ticks_us[ticks_us.len() / 2];
    println!(
        "{name:<10} {:>7} {stacked:>10.1} {apart:>10.1} {alone:>10.1} {median:>10.0}",
        ticks_us.len()
    );
    stacked
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.first().map_or(Ok(6.0), |word| word.parse());
    let (Some(seconds), 0 | 1) = (
        seconds.ok().filter(|it| (0.1..1e6).contains(it)),
        words.len(),
    ) else {
        eprintln!("usage: stacked-wake-ups [SECONDS], for each row, 0.1 or more");
        return ExitCode::from(2);
    };
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    if !cfg!(target_os = "linux") || cpus < 2 {
        eprintln!("This needs Linux, which tells where a thread runs, and two CPUs.");
        return ExitCode::from(4);
    }
    println!(
        "workers    {:>7} {:>10} {:>10} {:>10} {:>10}",
        "ticks", "one CPU, %", "apart, %", "<2 run, %", "us/tick"
    );
    let free = row("free", seconds, false);
    let pinned = row("pinned", seconds, true);
    if free < 5.0 || free < 2.0 * pinned {
        println!("\nNot seen: the two workers share a CPU in {free:.1} % of the ticks.");
        return ExitCode::SUCCESS;
    }
    println!("\nStacked: in {free:.1} % of the ticks both workers are on one CPU, of {cpus}.");
    ExitCode::from(10)
}
