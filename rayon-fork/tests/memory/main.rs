//! What memory a pool holds after a burst of jobs. A process of its own, since every allocation is
//! counted.
#![cfg(not(miri))] // Bursts, of which Miri would take minutes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// Jobs of a burst: their queue takes sixteen times as many bytes.
const JOBS: usize = 1 << 17;

/// More than this, above what there was before, is a queue that was not given back.
const SLACK: usize = JOBS;

/// How long a worker has to block after its last job.
const PATIENCE: Duration = Duration::from_secs(30);

/// After so long, workers are called once more.
const A_WHILE: Duration = Duration::from_secs(2);

/// The system's allocator, and how many bytes are allocated.
struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocated() -> usize {
    ALLOCATED.load(Ordering::Relaxed)
}

/// Makes all jobs of a burst, each of which calls the closure that it gets.
type Burst = fn(&ThreadPool, Arc<AtomicUsize>);

fn run(left: &AtomicUsize) {
    left.fetch_sub(1, Ordering::Release);
}

const BURSTS: [(&str, Burst); 4] = [
    ("spawn", |pool, left| {
        pool.install(|| {
            for _ in 0..JOBS {
                let left = Arc::clone(&left);
                rayon_core::spawn(move || run(&left));
            }
        });
    }),
    ("spawn_fifo", |pool, left| {
        pool.install(|| {
            for _ in 0..JOBS {
                let left = Arc::clone(&left);
                rayon_core::spawn_fifo(move || run(&left));
            }
        });
    }),
    ("scope", |pool, left| {
        pool.scope(|scope| (0..JOBS).for_each(|_| scope.spawn(|_| run(&left))));
    }),
    ("scope_fifo", |pool, left| {
        pool.scope_fifo(|scope| (0..JOBS).for_each(|_| scope.spawn_fifo(|_| run(&left))));
    }),
];

// One test, so that nobody else allocates meanwhile.
#[test]
fn a_burst_of_jobs_leaves_no_queue_behind_when_its_workers_block() {
    // Where jobs are public, crossbeam frees queues some time, and not by itself.
    if !rayon_core::rayon_fork_variant().contains("+demand") {
        return;
    }
    for workers in [1, 2, 4] {
        let pool = ThreadPoolBuilder::new()
            .num_threads(workers)
            .build()
            .unwrap();
        for (name, burst) in BURSTS {
            let before = allocated();
            let left = Arc::new(AtomicUsize::new(JOBS));
            burst(&pool, Arc::clone(&left));
            let begun = Instant::now();
            while left.load(Ordering::Acquire) > 0 || allocated() > before + SLACK {
                assert!(
                    begun.elapsed() < PATIENCE,
                    "{name}, {workers} workers: {} bytes are allocated, {before} were before",
                    allocated()
                );
                thread::sleep(Duration::from_millis(1));
                // A thief that had no CPU while it read an old ring keeps that until its owner comes
                // again.
                if begun.elapsed() > A_WHILE {
                    pool.broadcast(|_| ());
                }
            }
        }
    }
}
