//! Shows a scope that returns while one of its jobs still runs, because a panic payload panicked
//! when it was dropped.

use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// How long the second job waits for its scope to return.
const DEADLINE: Duration = Duration::from_millis(50);

struct PanicsInDrop;

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("a payload is dropped");
    }
}

/// The messages between the second job and the caller, which share ownership of them. The job of an
/// ordinary program would borrow such messages, and write to freed memory.
#[derive(Default)]
struct Said {
    second_runs: AtomicBool,
    scope_is_left: AtomicBool,
    second_saw_it: AtomicBool,
    second_ended: AtomicBool,
}

fn is_said(word: &AtomicBool) -> bool {
    // ORDERING: Acquire, pairs with the store in `say`.
    word.load(Acquire)
}

fn say(word: &AtomicBool) {
    word.store(true, Release);
}

fn is_left_early(pool: &ThreadPool) -> bool {
    let said = Arc::new(Said::default());
    let of_second = Arc::clone(&said);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        pool.in_place_scope(|scope| {
            scope.spawn(|_| panic!("the first panic, which comes out"));
            scope.spawn(move |_| {
                say(&of_second.second_runs);
                let begun = Instant::now();
                while !is_said(&of_second.scope_is_left) && begun.elapsed() < DEADLINE {
                    thread::yield_now();
                }
                while is_said(&of_second.scope_is_left) {
                    say(&of_second.second_saw_it);
                    // The job must not end: it would then change a counter of the scope, which is
                    // freed.
                    thread::park();
                }
                say(&of_second.second_ended);
            });
            // The only worker runs the jobs in order, so when the second job runs, the first has
            // panicked.
            while !is_said(&said.second_runs) {
                thread::yield_now();
            }
            panic_any(PanicsInDrop);
        });
    }));
    say(&said.scope_is_left);
    assert!(outcome.is_err(), "a panic is lost");
    while !is_said(&said.second_ended) && !is_said(&said.second_saw_it) {
        thread::yield_now();
    }
    is_said(&said.second_saw_it)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let seconds = words.first().map_or(Ok(1.0), |word| word.parse());
    let (Some(seconds), 0 | 1) = (
        seconds.ok().filter(|it| (0.1..1e6).contains(it)),
        words.len(),
    ) else {
        eprintln!("usage: scope-left-early [SECONDS], 0.1 or more");
        return ExitCode::from(2);
    };
    // All panics of this program are intended, so none is printed.
    std::panic::set_hook(Box::new(|_| {}));
    let pool = ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .expect("a thread");
    let begun = Instant::now();
    let mut scopes = 0;
    while scopes == 0 || begun.elapsed().as_secs_f64() < seconds {
        scopes += 1;
        if is_left_early(&pool) {
            println!("Left early: scope {scopes} returned while its job still ran.");
            println!("A job that borrows, as jobs of scopes may, then uses freed memory.");
            // The worker is parked in that job for good.
            std::process::exit(10);
        }
    }
    println!("Not seen: {scopes} scopes waited for their jobs.");
    ExitCode::SUCCESS
}
