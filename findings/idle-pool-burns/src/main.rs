//! Gives a pool one tiny job per millisecond. Counts the wake-ups of the pool's threads per job,
//! and measures their CPU time.

use std::fs::read_to_string;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::ThreadPoolBuilder;

const PERIOD: Duration = Duration::from_millis(1);
const NAME: &str = "counted";

#[derive(Default)]
struct Done {
    /// Voluntary context switches of the pool's threads. A yield is not one.
    sleeps: u64,
    cpu_ns: u64,
}

fn done_by(task: &Path) -> Option<Done> {
    let status = read_to_string(task.join("status")).ok()?;
    let sleeps = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    let times = read_to_string(task.join("schedstat")).ok()?;
    let cpu_ns = times.split(' ').next()?.parse().ok()?;
    Some(Done {
        sleeps: sleeps.trim().parse().ok()?,
        cpu_ns,
    })
}

fn done() -> Done {
    let tasks = std::fs::read_dir("/proc/self/task")
        .into_iter()
        .flatten()
        .flatten();
    let is_counted =
        |task: &PathBuf| read_to_string(task.join("comm")).is_ok_and(|name| name.trim() == NAME);
    let counted = tasks.map(|task| task.path()).filter(is_counted);
    counted
        .filter_map(|task| done_by(&task))
        .fold(Done::default(), |sum, it| Done {
            sleeps: sum.sleeps + it.sleeps,
            cpu_ns: sum.cpu_ns + it.cpu_ns,
        })
}

fn row(name: &str, seconds: f64, mut spawn: impl FnMut()) -> f64 {
    // Waits, because new threads search for work before they sleep.
    thread::sleep(20 * PERIOD);
    let (before, begun) = (done(), Instant::now());
    let (mut spawned, mut due) = (0_u32, begun);
    while begun.elapsed().as_secs_f64() < seconds {
        spawn();
        spawned += 1;
        due += PERIOD;
        thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    let (elapsed, after) = (begun.elapsed(), done());
    let woken = (after.sleeps - before.sleeps) as f64 / f64::from(spawned);
    let ns = (after.cpu_ns - before.cpu_ns) as f64;
    let (us, share) = (
        ns / 1e3 / f64::from(spawned),
        ns / elapsed.as_nanos() as f64,
    );
    println!(
        "{name:<20} {woken:>16.2} {us:>15.1} {:>13.2}",
        100.0 * share
    );
    woken
}

/// Measures one thread that waits for a notification and never searches for work.
fn of_thread(seconds: f64) {
    let is_over = Arc::new(AtomicBool::new(false));
    let told = thread::Builder::new().name(NAME.to_owned()).spawn({
        let is_over = Arc::clone(&is_over);
        move || {
            while !is_over.load(Relaxed) {
                thread::park();
            }
        }
    });
    let told = told.expect("a thread");
    row("one thread, no pool", seconds, || told.thread().unpark());
    is_over.store(true, Relaxed);
    told.thread().unpark();
    told.join().expect("it does not panic");
}

fn of_pool(threads: usize, seconds: f64) -> f64 {
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|_| NAME.to_owned());
    let pool = pool.build().expect("threads");
    let woken = row(&format!("pool, threads: {threads}"), seconds, || {
        pool.spawn(|| ());
    });
    drop(pool);
    // The pool's threads need some time to end, and the next row must not count them.
    while done().cpu_ns > 0 {
        thread::sleep(PERIOD);
    }
    woken
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.first().map_or(Ok(2.0), |word| word.parse());
    let (Some(seconds), 0 | 1) = (
        seconds.ok().filter(|it| (0.1..1e6).contains(it)),
        words.len(),
    ) else {
        eprintln!("usage: idle-pool-burns [SECONDS], for each row, 0.1 or more");
        return ExitCode::from(2);
    };
    if done_by(Path::new("/proc/thread-self")).is_none() {
        eprintln!("This needs Linux, with `status` and `schedstat` of each thread in /proc.");
        return ExitCode::from(4);
    }
    println!(
        "{:<20} {:>16} {:>15} {:>13}",
        "", "wake-ups per job", "CPU us per job", "% of one CPU"
    );
    of_thread(seconds);
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let mut sizes = vec![1, 2, 8, 2 * cpus];
    sizes.sort_unstable();
    sizes.dedup();
    let woken = sizes
        .into_iter()
        .map(|threads| of_pool(threads, seconds))
        .fold(0.0, f64::max);
    if woken < 1.5 {
        println!("\nNot seen: at most {woken:.2} wake-ups for a job that one thread can run.");
        return ExitCode::SUCCESS;
    }
    println!("\nSpurious wake-ups: up to {woken:.2} for a job that one thread can run.");
    println!("The worker that finds it stops searching, and wakes two more, which find no job.");
    ExitCode::from(10)
}
