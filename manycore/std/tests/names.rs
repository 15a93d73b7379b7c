//! Tests that the names of the standard library, in a rewritten crate on a simulated machine,
//! behave as in the standard library.

use std::time::Duration;

use cores_std::cell::UnsafeCell;
use cores_std::fs;
use cores_std::os::unix::fs::MetadataExt as _;
use cores_std::rustix::thread::{MembarrierCommand, membarrier};
use cores_std::sync::mpsc;
use cores_std::thread;
use cores_std::time::Instant;
use manycore::{FrequencyMode, Machine, run};

/// Returns the result of `main` on a machine of four cores, on which accesses and system calls take
/// no time.
fn on_four<R: 'static>(main: impl FnOnce() -> R + 'static) -> R {
    run(&Machine::free(4), FrequencyMode::Fixed, 1, main)
        .unwrap()
        .result
}

#[test]
fn a_parked_thread_goes_on_by_leave_or_when_its_time_is_up() {
    let (slept, is_early) = on_four(|| {
        let start = Instant::now();
        thread::park_timeout(Duration::from_micros(7));
        let slept = start.elapsed();
        thread::current().unpark();
        thread::park();
        let other = thread::spawn(|| {
            let start = Instant::now();
            thread::park();
            start.elapsed()
        });
        thread::sleep(Duration::from_micros(3));
        other.thread().unpark();
        (slept, other.join().unwrap() >= Duration::from_micros(2))
    });
    assert!(slept >= Duration::from_micros(7) && is_early, "{slept:?}");
}

#[test]
fn a_barrier_of_all_cores_costs_what_the_machine_says_and_threads_are_folders() {
    let mut machine = Machine::free(2);
    machine.costs.heavy_fence = 7_000_000;
    let body = || {
        let links = || fs::metadata("/proc/self/task").unwrap().nlink();
        let alone = links();
        let (end, ends) = mpsc::channel::<()>();
        let other = thread::spawn(move || ends.recv().is_err());
        let beside = links();
        drop(end);
        other.join().unwrap();
        let start = Instant::now();
        membarrier(MembarrierCommand::PrivateExpedited).unwrap();
        (alone, beside, start.elapsed())
    };
    let (alone, beside, took) = run(&machine, FrequencyMode::Fixed, 1, body).unwrap().result;
    assert_eq!((alone, beside), (3, 4));
    assert!(took >= Duration::from_micros(7), "{took:?}");
    assert!(fs::metadata("Cargo.toml").is_err());
}

#[test]
fn a_visit_to_a_cell_that_another_core_wrote_pays_for_the_transfer() {
    let mut machine = Machine::free(2);
    machine.costs.set_transfers(50_000);
    let visits = |is_other: bool| {
        let body = move || {
            let cell = Box::leak(Box::new(UnsafeCell::new([0u64; 8])));
            let address = std::ptr::from_ref(cell) as usize;
            let visit = move || {
                // SAFETY: the cell is never freed, and no code makes a reference to its content.
                let _place = unsafe { &*(address as *const UnsafeCell<[u64; 8]>) }.get();
            };
            visit();
            let start = Instant::now();
            if is_other {
                thread::spawn(visit).join().unwrap();
            } else {
                visit();
            }
            start.elapsed()
        };
        run(&machine, FrequencyMode::Fixed, 1, body).unwrap().result
    };
    assert!(visits(true) >= visits(false) + Duration::from_nanos(50));
}
