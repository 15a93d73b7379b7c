//! The memory that a pool holds after a burst of jobs. This test is a separate program, because it
//! counts every allocation of its process.
#![cfg(not(miri))] // Under Miri, a burst would take minutes.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rayon_core::{ThreadPool, ThreadPoolBuilder, join, yield_local};

/// The number of jobs in a burst. Their queue takes sixteen bytes a job.
const JOBS: usize = 1 << 17;

/// If more bytes than this remain allocated, a worker has not freed its queue.
const SLACK: usize = JOBS;

const TIME_LIMIT: Duration = Duration::from_secs(30);

/// After this time, the test wakes the workers every millisecond.
const A_WHILE: Duration = Duration::from_secs(2);

struct Counting;

static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does everything.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        ALLOCATED.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller upholds the contract of this function.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocated() -> usize {
    ALLOCATED.load(Ordering::Relaxed)
}

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

/// Begins a measurement; no other test measures meanwhile. Returns `None` in builds without private
/// jobs, because crossbeam frees queues at an unknown time.
fn begin() -> Option<MutexGuard<'static, ()>> {
    static MEASURING: Mutex<()> = Mutex::new(());
    rayon_core::rayon_fork_variant()
        .contains("+demand")
        .then(|| MEASURING.lock().unwrap_or_else(PoisonError::into_inner))
}

#[test]
fn a_burst_of_jobs_leaves_no_queue_behind_when_its_workers_block() {
    let Some(_measuring) = begin() else { return };
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
                    begun.elapsed() < TIME_LIMIT,
                    "{name}, {workers} workers: {} bytes are allocated; before the burst, {before}",
                    allocated()
                );
                thread::sleep(Duration::from_millis(1));
                // If a thief lost its CPU while reading a ring, the ring's owner frees the ring
                // only when it next becomes idle.
                if begun.elapsed() > A_WHILE {
                    pool.broadcast(|_| ());
                }
            }
        }
    }
}

/// A burst of so many jobs that the worker frees their queue as soon as it is empty.
const VERY_MANY: usize = 2 * JOBS;

/// A function that creates all jobs of a burst on the calling worker, and runs them there.
type OwnBurst = fn(&AtomicUsize, Arc<AtomicUsize>);

fn spawn_all(left: &Arc<AtomicUsize>) {
    for _ in 0..VERY_MANY {
        let left = Arc::clone(left);
        rayon_core::spawn(move || run(&left));
    }
}

const OWN_BURSTS: [(&str, OwnBurst); 3] = [
    ("a scope", |left, _| {
        rayon_core::in_place_scope(|scope| (0..VERY_MANY).for_each(|_| scope.spawn(|_| run(left))));
    }),
    ("yields", |_, left| {
        spawn_all(&left);
        while left.load(Ordering::Acquire) > 0 {
            yield_local();
        }
    }),
    ("a join", |_, left| {
        join(|| spawn_all(&left), || ());
    }),
];

/// The pool has one worker, because a thief could be reading the queue at the moment of the test.
#[test]
fn a_burst_of_jobs_leaves_no_queue_behind_when_its_worker_goes_on_with_something_else() {
    let Some(_measuring) = begin() else { return };
    let assert_given_back = |who: &str| {
        for (name, burst) in OWN_BURSTS {
            let before = allocated();
            let left = Arc::new(AtomicUsize::new(VERY_MANY));
            burst(&left, Arc::clone(&left));
            assert_eq!(left.load(Ordering::Acquire), 0, "{name}, {who}");
            let now = allocated();
            assert!(
                now <= before + SLACK,
                "{name}, {who}: {now} bytes are allocated; before the burst, {before}"
            );
        }
    };
    let builder = || ThreadPoolBuilder::new().num_threads(1);
    let pool = builder().build().unwrap();
    pool.install(|| assert_given_back("a job"));
    let adopted = move || {
        let _pool = builder().use_current_thread().build().unwrap();
        assert_given_back("a thread that is a worker");
    };
    thread::spawn(adopted).join().unwrap();
}
