//! Counts how often an external thread sleeps during one `install`, and measures the time.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use rayon_core::ThreadPoolBuilder;

#[derive(Default)]
struct Latch {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Latch {
    /// Notifies the waiting thread while holding the lock, or after unlocking. In the second case a
    /// waiting thread could free its latch before the notification; this program frees none.
    fn set(&self, unlocks_first: bool) {
        let mut is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        *is_set = true;
        let held = (!unlocks_first).then_some(is_set);
        self.changed.notify_all();
        drop(held);
    }

    fn wait_and_reset(&self) {
        let is_set = self.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        let is_set = self.changed.wait_while(is_set, |is_set| !*is_set);
        *is_set.unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// The state that a worker shares with a thread that waits for it.
#[derive(Default)]
struct Made {
    asked: AtomicU32,
    answered: Latch,
}

const STOP: u32 = u32::MAX;

impl Made {
    /// Answers each question. Between questions it yields, as a pool's worker does before it
    /// sleeps.
    fn work(&self, unlocks_first: bool) {
        let mut last = 0;
        loop {
            // ORDERING: Acquire, pairs with the stores of the thread that asks: the worker sees
            // what that thread wrote before.
            match self.asked.load(Acquire) {
                STOP => return,
                asked if asked == last => thread::yield_now(),
                asked => {
                    last = asked;
                    self.answered.set(unlocks_first);
                }
            }
        }
    }
}

/// Keeps the program on one CPU, so that a thread is woken on the CPU of its waker.
fn share_a_cpu() {
    #[cfg(target_os = "linux")]
    unsafe extern "C" {
        fn sched_setaffinity(thread: i32, bytes: usize, cpus: *const u64) -> i32;
    }
    #[cfg(target_os = "linux")]
    (0..1024).find(|cpu| {
        let one: [u64; 16] = std::array::from_fn(|word| u64::from(word == cpu / 64) << (cpu % 64));
        // SAFETY: this function of the C library reads as many bytes as its second argument says,
        // which is the size of the mask.
        unsafe { sched_setaffinity(0, size_of_val(&one), one.as_ptr()) == 0 }
    });
}

fn sleeps() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let count = status
        .lines()
        .find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
    count
        .and_then(|count| count.trim().parse().ok())
        .expect("a count in /proc")
}

fn row(name: &str, seconds: f64, mut call: impl FnMut()) -> f64 {
    (0..100).for_each(|_| call());
    let (slept, begun, mut calls) = (sleeps(), Instant::now(), 0_u32);
    while begun.elapsed().as_secs_f64() < seconds {
        call();
        calls += 1;
    }
    let us = begun.elapsed().as_secs_f64() * 1e6 / f64::from(calls);
    let slept = (sleeps() - slept) as f64 / f64::from(calls);
    println!("{name:<36} {calls:>9} {us:>8.2} {slept:>8.2}");
    slept
}

fn published(seconds: f64) -> f64 {
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread");
    row("by rayon-core, `install` of nothing", seconds, || {
        pool.install(|| ());
    })
}

fn by_hand(name: &str, seconds: f64, unlocks_first: bool) -> f64 {
    let made = Made::default();
    thread::scope(|scope| {
        scope.spawn(|| made.work(unlocks_first));
        let mut number = 0;
        let slept = row(name, seconds, || {
            number += 1;
            // ORDERING: Release, pairs with the load of the worker, which then sees this thread's
            // earlier writes.
            made.asked.store(number, Release);
            made.answered.wait_and_reset();
        });
        made.asked.store(STOP, Relaxed);
        slept
    })
}

fn main() -> ExitCode {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let is_free = words.last().is_some_and(|word| word == "free") && words.pop().is_some();
    let seconds = words.first().map_or(Ok(2.0), |word| word.parse());
    let seconds = seconds
        .ok()
        .filter(|it| words.len() < 3 && (0.1..1e6).contains(it));
    let (Some(seconds), None | Some("1" | "2" | "3")) = (seconds, words.get(1).map(String::as_str))
    else {
        eprintln!("usage: wake-under-lock [SECONDS [ROW]] [free], 0.1 or more; ROW is 1, 2 or 3");
        return ExitCode::from(2);
    };
    if !cfg!(target_os = "linux") {
        eprintln!("This needs Linux, which counts how often a thread goes to sleep.");
        return ExitCode::from(4);
    }
    if !is_free {
        share_a_cpu();
    }
    println!(
        "{:<36} {:>9} {:>8} {:>8}",
        "the waiting thread is notified", "calls", "us/call", "sleeps"
    );
    let is_asked = |row| words.get(1).is_none_or(|asked| asked == row);
    let of_pool = is_asked("1").then(|| published(seconds));
    let locked = is_asked("2").then(|| by_hand("by hand, under the lock", seconds, false));
    let unlocked = is_asked("3").then(|| by_hand("by hand, after unlocking", seconds, true));
    let (Some(of_pool), Some(locked), Some(unlocked)) = (of_pool, locked, unlocked) else {
        return ExitCode::SUCCESS;
    };
    if of_pool < 1.2 || locked < unlocked + 0.2 {
        println!("\nNot seen: the thread that waits sleeps {of_pool:.2} times per `install`.");
        return ExitCode::SUCCESS;
    }
    println!(
        "\nSpurious wake-ups: the thread that waits for an `install` sleeps {of_pool:.2} times,"
    );
    println!("the second time for the lock that its waker still holds.");
    ExitCode::from(10)
}
