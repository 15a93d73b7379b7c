//! Common parts of the test binaries: a watchdog, pools, and ways to wait for other threads.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::any::{Any, type_name};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Barrier, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// How long a step of a test may take before it counts as hung. The machine may be busy, and a
/// variant with an events counter may notice an internal job late.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(if cfg!(miri) { 100_000 } else { 60 });

/// Waits until `child` ends. After [`TIME_LIMIT`], ends the child and returns `None`.
pub(crate) fn ended(child: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        if start.elapsed() > TIME_LIMIT {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        thread::sleep(Duration::from_millis(2));
    }
}

pub(crate) const UNTIL_ASLEEP: Duration = Duration::from_millis(30);

pub(crate) const fn rounds(natively: usize, under_miri: usize) -> usize {
    if cfg!(miri) { under_miri } else { natively }
}

/// Runs `body`. If `body` takes longer than `limit`, the process ends with a message that names the
/// step and has the result of `state`. A hung thread cannot be ended without ending the process.
pub(crate) fn within_or<R>(
    limit: Duration,
    what: &str,
    state: impl Fn() -> String + Send,
    body: impl FnOnce() -> R,
) -> R {
    let (done, is_done) = mpsc::channel::<()>();
    thread::scope(|threads| {
        threads.spawn(move || {
            if is_done.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
                let seconds = limit.as_secs();
                let text = format!(
                    "\nhung: `{what}` has not ended for {seconds} s. {}\n",
                    state()
                );
                // `eprintln!` would not do, because the test harness keeps its text.
                let _ = std::io::stderr().write_all(text.as_bytes());
                std::process::abort();
            }
        });
        // The watchdog ends when `_ends_watchdog` is dropped: when `body` returns or panics.
        let _ends_watchdog = done;
        body()
    })
}

/// Runs `body` within [`TIME_LIMIT`]. The message about a hang names the test, by the type of `body`.
pub(crate) fn in_time<R, F: FnOnce() -> R>(body: F) -> R {
    within_or(TIME_LIMIT, type_name::<F>(), String::new, body)
}

pub(crate) fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new()
        .num_threads(workers)
        .build()
        .unwrap()
}

pub(crate) fn pool_and_exits(workers: usize) -> (ThreadPool, Tally) {
    let exits = Tally::new();
    let count = exits.clone();
    let builder = ThreadPoolBuilder::new().num_threads(workers);
    let pool = builder.exit_handler(move |_| count.add_one()).build();
    (pool.unwrap(), exits)
}

pub(crate) fn panic_text<R>(body: impl FnOnce() -> R) -> String {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(_) => panic!("no panic came out"),
        Err(payload) => payload_text(&*payload),
    }
}

pub(crate) fn payload_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| payload.downcast_ref::<String>().cloned())
        .expect("a payload of text")
}

pub(crate) fn meet(barrier: &Barrier) {
    barrier.wait();
}

/// A number that threads add to, and wait for without spinning.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<(Mutex<usize>, Condvar)>);

impl Tally {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn add_one(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.1.notify_all();
    }

    pub(crate) fn get(&self) -> usize {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wait_for(&self, count: usize) {
        let guard = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        drop(
            self.0
                .1
                .wait_while(guard, |now| *now < count)
                .unwrap_or_else(PoisonError::into_inner),
        );
    }
}

/// Spawns `jobs` jobs in the current pool, each of which waits for the one before. Waits for the
/// last one outside the pool, so the calling worker runs none of them.
pub(crate) fn spawn_in_turn_and_wait(jobs: usize) {
    let ran = Tally::new();
    for before in 0..jobs {
        let ran = ran.clone();
        rayon_core::spawn(move || {
            ran.wait_for(before);
            ran.add_one();
        });
    }
    ran.wait_for(jobs);
}

#[derive(Debug)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) const fn new() -> Self {
        Self(AtomicUsize::new(0))
    }

    pub(crate) fn add(&self, more: usize) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

pub(crate) struct AddsWhenDropped<'c>(pub(crate) &'c Count);

impl Drop for AddsWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.add(1);
    }
}

#[derive(Debug)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Log<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn add(&self, entry: T) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(entry);
    }

    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Keeps the only worker of a pool busy until dropped, so that jobs pile up behind it.
pub(crate) struct Occupation {
    _release: mpsc::Sender<()>,
}

impl Occupation {
    pub(crate) fn of(pool: &ThreadPool) -> Self {
        assert_eq!(pool.current_num_threads(), 1);
        let (release, is_released) = mpsc::channel::<()>();
        let (report_busy, is_busy) = mpsc::channel();
        pool.spawn(move || {
            report_busy.send(()).unwrap();
            // The call returns an error when the sender is dropped.
            let _ = is_released.recv();
        });
        is_busy.recv().unwrap();
        Self { _release: release }
    }
}
