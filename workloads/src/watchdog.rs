//! A thread of the process that notices if a run makes no progress. The watchdog then reports the
//! state of every thread, as the pool and the kernel see that state, and ends the process. A lost
//! wake-up shows as workers that sleep.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use protocol::Failure;
use rayon::ThreadPool;

use crate::threads::{Glimpse, OWN_THREADS, glimpses};
use crate::usage::nanoseconds;

/// The time between two readings of the threads' CPU times. A guess.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// Wakes at most once in each limit, to see how far the run is, and ends the process if the run
/// made no progress.
pub(crate) struct Watchdog {
    progress: Arc<Progress>,
    thread: Option<JoinHandle<()>>,
}

/// The progress of a run. Relaxed: after a stale value the watchdog reads again, or at worst
/// reports a run that just made progress.
struct Progress {
    started: Instant,
    iteration: AtomicU32,
    stepped_ns: AtomicU64,
    is_over: AtomicBool,
}

impl Progress {
    fn since_step(&self) -> Duration {
        self.started
            .elapsed()
            .saturating_sub(Duration::from_nanos(self.stepped_ns.load(Relaxed)))
    }
}

impl Watchdog {
    pub(crate) fn start(limit: Duration, pool: Option<Arc<ThreadPool>>) -> Self {
        let progress = Arc::new(Progress {
            started: Instant::now(),
            iteration: AtomicU32::new(0),
            stepped_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        });
        let watched = Arc::clone(&progress);
        let watch = move || watch(&watched, limit, pool.as_deref());
        let thread = thread::Builder::new()
            .name("watchdog".to_owned())
            .spawn(watch)
            .expect("a process with a pool can start one more thread");
        Self {
            progress,
            thread: Some(thread),
        }
    }

    /// Records that the run begins or ends a timed region of this iteration.
    pub(crate) fn step(&self, iteration: u32) {
        self.progress.iteration.store(iteration, Relaxed);
        self.progress
            .stepped_ns
            .store(nanoseconds(self.progress.started.elapsed()), Relaxed);
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.progress.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn watch(progress: &Progress, limit: Duration, pool: Option<&ThreadPool>) {
    while !progress.is_over.load(Relaxed) {
        let waited = progress.since_step();
        match limit.checked_sub(waited) {
            Some(rest) if !rest.is_zero() => thread::park_timeout(rest),
            _ => end_process(progress.iteration.load(Relaxed), waited, pool),
        }
    }
}

/// Reports the hang to people on standard error and to the runner on standard output. Then ends the
/// process, because threads that hang cannot be ended in another way.
fn end_process(iteration: u32, waited: Duration, pool: Option<&ThreadPool>) -> ! {
    let waited_ms = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
    eprintln!("hang: iteration {iteration} got no further for {waited_ms} ms; the threads:");
    eprint!("{}", describe_threads(Path::new(OWN_THREADS)));
    match pool {
        Some(pool) => eprintln!("the pool: {pool:?}"),
        None => eprintln!("there is no pool: the sequential program runs"),
    }
    let failure = Failure::Hang {
        iteration,
        waited_ms,
    };
    let code = failure.exit_code();
    let is_told = protocol::lines::answer(&Err(failure), &mut io::stdout());
    if let Err(error) = is_told.and_then(|_| io::stderr().flush()) {
        eprintln!("error: standard output: {error}; the answer is lost");
    }
    process::exit(i32::from(code));
}

/// Returns one line for each thread, with the CPU time that the thread used between two readings.
fn describe_threads(folder: &Path) -> String {
    let before = glimpses(folder).unwrap_or_default();
    thread::sleep(BETWEEN_LOOKS);
    match glimpses(folder) {
        Ok(threads) => threads.iter().fold(String::new(), |mut text, thread| {
            let cpu_before = before
                .iter()
                .find(|it| it.id == thread.id)
                .and_then(|it| it.cpu);
            writeln!(text, "{}", describe_thread(thread, cpu_before))
                .expect("writing to a string cannot fail");
            text
        }),
        Err(error) => format!("  {} cannot be read: {error}\n", folder.display()),
    }
}

fn describe_thread(thread: &Glimpse, cpu_before: Option<Duration>) -> String {
    match thread.cpu.zip(cpu_before) {
        Some((now, before)) => format!(
            "{thread}, {:.3} ms of CPU in the last {} ms",
            now.saturating_sub(before).as_secs_f64() * 1e3,
            BETWEEN_LOOKS.as_millis()
        ),
        None => thread.to_string(),
    }
}
