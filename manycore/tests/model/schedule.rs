use std::sync::Arc;
use std::time::Duration;

use manycore::atomic::{AtomicBool, Ordering};
use manycore::lock::Mutex;
use manycore::{Machine, Picoseconds, Spending, WaitedFor, thread};

use crate::{NS, US, on_threads, simulate, time_of, timed};

#[test]
fn no_core_is_idle_while_a_thread_waits() {
    let mut machine = Machine::free(4);
    machine.costs.slice = 10 * US;
    // A slice ends when a piece of work ends, up to a quarter of a slice late.
    let elapsed = time_of(&machine, || on_threads(12, |_| manycore::work(100 * US)));
    assert!((300 * US..=310 * US).contains(&elapsed), "{elapsed}");
}

#[test]
fn threads_share_a_core_by_slices_and_each_change_costs_a_switch() {
    let mut machine = Machine::free(1);
    machine.costs.slice = 10 * US;
    machine.costs.switch = US;
    let (spent, elapsed) = simulate(&machine, || {
        on_threads(2, |_| manycore::work(50 * US));
        manycore::spent()
    });
    let system = spent.iter().map(|it| it.on(Spending::System));
    let switches = system.sum::<Picoseconds>() / US;
    assert!((9..=13).contains(&switches), "{switches}");
    assert_eq!(elapsed, 100 * US + switches * US);
    assert!(spent[2].on(Spending::Waking) >= 40 * US, "{spent:?}");
    assert_eq!(spent[2].cpu() - spent[2].on(Spending::System), 50 * US);
}

#[test]
fn a_thread_that_spins_for_one_that_waits_for_its_core_gives_way_by_a_yield_or_after_its_slice() {
    let mut machine = Machine::free(1);
    machine.costs.slice = 1_000 * US;
    machine.costs.hit = NS;
    let waiting = |yields: bool| {
        time_of(&machine, move || {
            let word = Arc::new(AtomicBool::new(false));
            let writer = Arc::clone(&word);
            let other = thread::spawn(move || writer.store(true, Ordering::Release));
            while !word.load(Ordering::Acquire) {
                if yields {
                    thread::yield_now();
                }
            }
            other.join().unwrap();
        })
    };
    assert!(waiting(true) < US);
    assert!((1_000 * US..1_001 * US).contains(&waiting(false)));
}

/// How long a thread takes to run again after it was parked for about `slept`. The second value is
/// the CPU time of all threads in addition to their work.
fn woken_after(machine: &Machine, slept: Picoseconds) -> (Picoseconds, Picoseconds) {
    let (seen, _) = simulate(machine, move || {
        let sleeper = thread::spawn(|| {
            thread::park();
            manycore::time::Instant::now()
        });
        manycore::work(slept);
        sleeper.thread().unpark();
        let told = manycore::time::Instant::now();
        let ran = sleeper.join().unwrap();
        (ran.duration_since(told), manycore::spent())
    });
    let (took, spent) = seen;
    let cpu = spent
        .iter()
        .map(|it| it.cpu() - it.on(Spending::Work))
        .sum();
    (Picoseconds::try_from(took.as_nanos()).unwrap() * NS, cpu)
}

#[test]
fn waking_up_takes_what_the_idle_core_needs_and_none_of_it_is_cpu_time() {
    let mut machine = Machine::free(2);
    machine.costs.poll = 2 * US;
    machine.costs.resume_polling = 300 * NS;
    machine.costs.resume = 3 * US;
    machine.costs.deep_after = 100 * US;
    machine.costs.deep_resume = 20 * US;
    machine.costs.deepest_after = 10_000 * US;
    machine.costs.deepest_resume = 900 * US;
    assert_eq!(woken_after(&machine, US), (300 * NS, 0));
    assert_eq!(woken_after(&machine, 50 * US), (3 * US, 0));
    assert_eq!(woken_after(&machine, 1_000 * US), (20 * US, 0));
    assert_eq!(woken_after(&machine, 20_000 * US), (900 * US, 0));
}

#[test]
fn a_call_that_wakes_costs_less_if_nobody_must_be_interrupted_and_least_if_nobody_waits() {
    let mut machine = Machine::free(2);
    machine.costs.call = NS;
    machine.costs.wake_polling = 10 * NS;
    machine.costs.wake = 100 * NS;
    machine.costs.poll = 2 * US;
    // The difference leaves out parking and joining, whose system calls cost the same in both runs.
    let system = |slept| woken_after(&machine, slept).1;
    assert_eq!(system(50 * US) - system(US), 90 * NS);
    let notify = || manycore::lock::Condvar::new().notify_all();
    assert_eq!(time_of(&machine, notify), NS);
}

#[test]
fn system_calls_take_longer_at_a_lower_clock_by_the_part_that_scales() {
    let mut machine = Machine::free(1);
    machine.frequency.reference_mhz = 4_000;
    machine.frequency.fixed_mhz = 1_000;
    machine.costs.yielding = 100 * NS;
    machine.costs.call = 60 * NS;
    for (part, expected) in [(0.0, 160), (0.5, 400), (1.0, 640)] {
        machine.costs.system_clock = part;
        let elapsed = time_of(&machine, || {
            thread::yield_now();
            manycore::lock::Condvar::new().notify_all();
        });
        assert_eq!(elapsed, expected * NS, "{part}");
    }
}

#[test]
fn a_core_that_was_idle_for_long_reads_its_lines_from_memory_again() {
    let mut machine = Machine::free(1);
    machine.costs.memory = 90 * NS;
    machine.costs.cold_after = 100 * US;
    let second_read = |idle: u64| {
        let (took, _) = simulate(&machine, move || {
            let word = AtomicBool::new(false);
            word.load(Ordering::Relaxed);
            thread::sleep(Duration::from_micros(idle));
            timed(|| {
                word.load(Ordering::Relaxed);
            })
        });
        took
    };
    assert_eq!([50, 150].map(second_read), [0, 90 * NS]);
}

#[test]
fn blocking_for_a_lock_and_waking_others_are_waits_of_their_lines() {
    let mut machine = Machine::free(2);
    machine.costs.wake = 5 * US;
    machine.costs.resume = 7 * US;
    let ((waits, [holder, waiter]), _) = simulate(&machine, || {
        let lock = Arc::new(Mutex::new(()));
        let other = Arc::clone(&lock);
        let held = lock.lock();
        let holder = line!() - 1;
        let thread = thread::spawn(move || drop(other.lock()));
        let waiter = line!() - 1;
        manycore::work(100 * US);
        drop(held);
        thread.join().unwrap();
        (manycore::waits(), [holder, waiter])
    });
    let of = |on, line| {
        let found = waits
            .iter()
            .find(|wait| wait.on == on && wait.at.line() == line);
        found.map(|wait| (wait.times, wait.waited))
    };
    // The waiting thread blocks at once. It continues 12 µs after the lock is free: 5 µs for the
    // wake-up call, and 7 µs to resume.
    assert_eq!(of(WaitedFor::Wake, holder), Some((1, 5 * US)));
    assert_eq!(of(WaitedFor::Lock, waiter), Some((1, 112 * US)));
}

#[test]
fn heavy_fences_wait_for_each_other() {
    let mut machine = Machine::free(4);
    machine.costs.heavy_fence = US;
    let elapsed = time_of(&machine, || on_threads(3, |_| manycore::heavy_fence()));
    assert_eq!(elapsed, 3 * US);
}

#[test]
fn a_sleep_of_a_job_takes_time_of_the_machine_and_no_cpu_time() {
    let (spent, elapsed) = simulate(&Machine::free(1), || {
        thread::sleep(Duration::from_millis(3));
        manycore::spent()
    });
    assert_eq!((elapsed, spent[0].cpu()), (3_000 * US, 0));
}
