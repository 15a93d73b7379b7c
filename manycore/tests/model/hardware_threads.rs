//! Tests the slowdown of two hardware threads that share a core, and the placement of threads when
//! cores have two.

use std::sync::Arc;
use std::time::Duration;

use manycore::atomic::{AtomicBool, AtomicUsize, Ordering};
use manycore::{FrequencyMode, Machine, Picoseconds, run, thread};

const NS: Picoseconds = 1_000;
const US: Picoseconds = 1_000 * NS;

/// A machine of so many cores with two hardware threads, each of which is half as fast while both
/// run.
fn machine(cores: usize) -> Machine {
    let mut machine = Machine::free(cores);
    machine.topology.hardware_threads = 2;
    machine.costs.shared_speed = 0.5;
    machine
}

fn simulate<R: 'static>(machine: &Machine, main: impl FnOnce() -> R + 'static) -> (R, Picoseconds) {
    let finished = run(machine, FrequencyMode::Fixed, 1, main).unwrap();
    (finished.result, finished.elapsed)
}

/// How long 300 µs of work take beside a thread that does `other`, on a machine of one core.
fn beside(other: impl FnOnce(Arc<AtomicBool>) + 'static) -> Picoseconds {
    beside_from(0, other)
}

/// The same on a machine where each thread takes so long until it runs.
fn beside_from(wake: Picoseconds, other: impl FnOnce(Arc<AtomicBool>) + 'static) -> Picoseconds {
    let mut machine = machine(1);
    machine.costs.pause = 40 * NS;
    machine.costs.resume_polling = wake;
    machine.costs.resume = wake;
    let (worked, _) = simulate(&machine, || {
        let is_done = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_done);
        let sibling = thread::spawn(move || other(told));
        let begun = manycore::time::Instant::now();
        manycore::work(300 * US);
        let worked = manycore::time::Instant::now().duration_since(begun);
        is_done.store(true, Ordering::Release);
        sibling.thread().unpark();
        sibling.join().unwrap();
        worked
    });
    Picoseconds::try_from(worked.as_nanos()).unwrap() * NS
}

/// Work is simulated in pieces of a microsecond, so the start and end of a sibling have that
/// precision.
fn is_about(elapsed: Picoseconds, expected: Picoseconds) -> bool {
    elapsed.abs_diff(expected) <= US
}

#[test]
fn two_siblings_that_work_take_longer_by_the_speed_that_they_share() {
    let elapsed = beside(|_| manycore::work(300 * US));
    assert!(is_about(elapsed, 600 * US), "{elapsed}");
}

#[test]
fn a_sibling_that_sleeps_costs_nothing() {
    assert_eq!(beside(|_| thread::park()), 300 * US);
    assert_eq!(
        beside(|_| thread::sleep(Duration::from_millis(1))),
        300 * US
    );
}

#[test]
fn a_sibling_that_spins_costs_what_one_that_works_does() {
    let elapsed = beside(|is_done| {
        while !is_done.load(Ordering::Acquire) {
            manycore::spin_loop();
        }
    });
    assert!(is_about(elapsed, 600 * US), "{elapsed}");
}

#[test]
fn long_work_goes_on_alone_when_the_sibling_falls_asleep() {
    let elapsed = beside(|_| {
        manycore::work(10 * US);
        thread::park();
    });
    assert!(is_about(elapsed, 310 * US), "{elapsed}");
}

#[test]
fn long_work_is_slowed_from_when_the_sibling_wakes() {
    let elapsed = beside(|_| {
        thread::sleep(Duration::from_micros(200));
        manycore::work(1_000 * US);
    });
    assert!(is_about(elapsed, 400 * US), "{elapsed}");
}

#[test]
fn a_sibling_that_is_being_woken_costs_nothing_before_it_runs() {
    // It starts after 200 µs, sleeps for 50, and starts again when the work is done.
    let elapsed = beside_from(200 * US, |_| thread::sleep(Duration::from_micros(50)));
    assert_eq!(elapsed, 300 * US);
}

#[test]
fn siblings_have_one_cache_and_other_cores_have_others() {
    let elapsed = |mut machine: Machine| {
        machine.costs.set_transfers(50 * NS);
        machine.costs.hit = NS;
        let body = || {
            #[repr(align(128))]
            struct Word(AtomicUsize);
            let word = Arc::new(Word(AtomicUsize::new(0)));
            let other = Arc::clone(&word);
            let count = |word: Arc<Word>| {
                move || (0..100).for_each(|_| _ = word.0.fetch_add(1, Ordering::Relaxed))
            };
            let thread = thread::spawn(count(other));
            count(word)();
            thread.join().unwrap();
        };
        simulate(&machine, body).1
    };
    let siblings = elapsed(machine(1));
    // Each access of the two takes twice as long as alone.
    assert!(siblings <= 2 * 100 * 2 * NS, "{siblings}");
    let others = elapsed(machine(2));
    assert!(others > 150 * 50 * NS, "{others}");
}

#[test]
fn siblings_share_what_their_core_may_read_from_memory() {
    let mut machine = machine(1);
    machine.costs.byte = 100.0;
    let read = || (0..1_000).for_each(|_| manycore::work_moving(0, 4_096));
    let ((), alone) = simulate(&machine, read);
    let ((), both) = simulate(&machine, move || {
        let sibling = thread::spawn(read);
        read();
        sibling.join().unwrap();
    });
    assert!(is_about(both, 2 * alone), "{both}, {alone} alone");
}

/// The cores of threads that all run at once, the first thread's first.
fn places(cores: usize, threads: usize) -> Vec<usize> {
    let body = move || {
        let place = || {
            let core = manycore::current_core().unwrap();
            manycore::work(100 * US);
            core
        };
        let others: Vec<_> = (1..threads).map(|_| thread::spawn(place)).collect();
        let first = place();
        let others = others.into_iter().map(|thread| thread.join().unwrap());
        std::iter::once(first).chain(others).collect()
    };
    simulate(&machine(cores), body).0
}

#[test]
fn new_threads_get_cores_of_their_own_before_they_get_siblings() {
    assert_eq!(places(3, 3), [0, 1, 2]);
    assert_eq!(places(3, 6), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_woken_thread_prefers_an_idle_core_to_the_idle_sibling_of_its_own() {
    let place = || {
        let sleeper = thread::spawn(|| {
            thread::park();
            manycore::current_core()
        });
        manycore::work(US);
        // It takes the core of the sleeper.
        let other = thread::spawn(|| {
            manycore::work(100 * US);
            manycore::current_core()
        });
        manycore::work(US);
        sleeper.thread().unpark();
        let woken = sleeper.join().unwrap();
        (other.join().unwrap(), woken)
    };
    assert_eq!(simulate(&machine(3), place).0, (Some(1), Some(2)));
    let siblings = simulate(&machine(2), place).0;
    assert_eq!(
        siblings,
        (Some(1), Some(3)),
        "both cores run: the nearest sibling"
    );
}

#[test]
fn a_core_is_in_deep_idle_only_if_both_hardware_threads_are() {
    let mut machine = machine(1);
    machine.costs.resume = 3 * US;
    machine.costs.deep_after = 100 * US;
    machine.costs.deep_resume = 70 * US;
    let ((), elapsed) = simulate(&machine, || {
        let sleeper = thread::spawn(thread::park);
        manycore::work(1_000 * US);
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    });
    // The sleeper started in 3 µs, woke in 3, and then `main`, which waited for less than that.
    assert!(is_about(elapsed, 1_006 * US), "{elapsed}");
}

#[test]
fn two_siblings_that_run_are_one_running_core_of_the_socket() {
    let elapsed = |cores: usize| {
        let mut machine = machine(cores);
        machine.costs.shared_speed = 1.0;
        machine.frequency.dynamic_mhz = vec![(1, 2_000), (2, 1_000)];
        let body = || {
            let sibling = thread::spawn(|| manycore::work(300 * US));
            manycore::work(300 * US);
            sibling.join().unwrap();
        };
        run(&machine, FrequencyMode::Dynamic, 1, body)
            .unwrap()
            .elapsed
    };
    assert!(is_about(elapsed(1), 150 * US));
    assert!(is_about(elapsed(2), 300 * US));
}
