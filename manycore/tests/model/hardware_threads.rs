use std::sync::Arc;
use std::time::Duration;

use manycore::atomic::{AtomicBool, AtomicUsize, Ordering};
use manycore::{FrequencyMode, Machine, Picoseconds, run, thread};

use crate::{NS, US, simulate, time_of, timed};

fn machine(cores: usize) -> Machine {
    let mut machine = Machine::free(cores);
    machine.topology.hardware_threads = 2;
    machine.costs.shared_speed = 0.5;
    machine
}

/// Work is simulated in pieces of a microsecond, so the effect of a sibling starts and ends with
/// that precision.
fn is_about(elapsed: Picoseconds, expected: Picoseconds) -> bool {
    elapsed.abs_diff(expected) <= US
}

/// How long 300 µs of work take while another thread executes `other`. The machine has one core,
/// and a woken thread runs after the time `wake`.
fn beside(wake: Picoseconds, other: fn(Arc<AtomicBool>)) -> Picoseconds {
    let mut machine = machine(1);
    machine.costs.pause = 40 * NS;
    machine.costs.resume_polling = wake;
    machine.costs.resume = wake;
    let main = move || {
        let is_done = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_done);
        let sibling = thread::spawn(move || other(told));
        let worked = timed(|| manycore::work(300 * US));
        is_done.store(true, Ordering::Release);
        sibling.thread().unpark();
        sibling.join().unwrap();
        worked
    };
    simulate(&machine, main).0
}

#[test]
fn work_takes_longer_by_the_shared_speed_exactly_while_a_sibling_runs() {
    let works = |_| manycore::work(300 * US);
    let spins = |is_done: Arc<AtomicBool>| {
        while !is_done.load(Ordering::Acquire) {
            manycore::spin_loop();
        }
    };
    let falls_asleep = |_| {
        manycore::work(10 * US);
        thread::park();
    };
    let wakes = |_| {
        thread::sleep(Duration::from_micros(200));
        manycore::work(1_000 * US);
    };
    let sleeps = |_| thread::sleep(Duration::from_micros(50));
    for (what, wake, other, expected) in [
        (
            "the sibling works",
            0,
            works as fn(Arc<AtomicBool>),
            600 * US,
        ),
        ("the sibling spins", 0, spins, 600 * US),
        ("the sibling falls asleep", 0, falls_asleep, 310 * US),
        ("the sibling wakes", 0, wakes, 400 * US),
        ("the sibling is parked", 0, |_| thread::park(), 300 * US),
        (
            "the sibling sleeps",
            0,
            |_| thread::sleep(Duration::from_millis(1)),
            300 * US,
        ),
        // The other thread starts after 200 µs and sleeps for 50 µs. It would resume at 450 µs,
        // when the work is done.
        ("the sibling is being woken", 200 * US, sleeps, 300 * US),
    ] {
        let elapsed = beside(wake, other);
        assert!(is_about(elapsed, expected), "{what}: {elapsed}");
    }
}

#[test]
fn siblings_have_one_cache_and_other_cores_have_others() {
    let elapsed = |mut machine: Machine| {
        machine.costs.set_transfers(50 * NS);
        machine.costs.hit = NS;
        time_of(&machine, || {
            #[repr(align(128))]
            struct Word(AtomicUsize);
            let word = Arc::new(Word(AtomicUsize::new(0)));
            let count = |word: Arc<Word>| {
                move || (0..100).for_each(|_| _ = word.0.fetch_add(1, Ordering::Relaxed))
            };
            let thread = thread::spawn(count(Arc::clone(&word)));
            count(word)();
            thread.join().unwrap();
        })
    };
    let siblings = elapsed(machine(1));
    // Each access of the two siblings takes twice as long as alone.
    assert!(siblings <= 2 * 100 * 2 * NS, "{siblings}");
    let others = elapsed(machine(2));
    assert!(others > 150 * 50 * NS, "{others}");
}

#[test]
fn new_threads_get_cores_of_their_own_before_they_get_siblings() {
    let places = |threads: usize| {
        let place = || {
            let core = manycore::current_core().unwrap();
            manycore::work(100 * US);
            core
        };
        let main = move || {
            let others: Vec<_> = (1..threads).map(|_| thread::spawn(place)).collect();
            let first = place();
            let others = others.into_iter().map(|thread| thread.join().unwrap());
            std::iter::once(first).chain(others).collect::<Vec<_>>()
        };
        simulate(&machine(3), main).0
    };
    assert_eq!(places(3), [0, 1, 2]);
    assert_eq!(places(6), [0, 1, 2, 3, 4, 5]);
}

#[test]
fn a_woken_thread_prefers_an_idle_core_to_the_idle_sibling_of_its_own() {
    let place = || {
        let sleeper = thread::spawn(|| {
            thread::park();
            manycore::current_core()
        });
        manycore::work(US);
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
    // Both cores run a thread, so the woken thread gets the sibling of its previous core.
    assert_eq!(simulate(&machine(2), place).0, (Some(1), Some(3)));
}

#[test]
fn a_core_is_in_deep_idle_only_if_both_hardware_threads_are() {
    let mut machine = machine(1);
    machine.costs.resume = 3 * US;
    machine.costs.deep_after = 100 * US;
    machine.costs.deep_resume = 70 * US;
    let elapsed = time_of(&machine, || {
        let sleeper = thread::spawn(thread::park);
        manycore::work(1_000 * US);
        sleeper.thread().unpark();
        sleeper.join().unwrap();
    });
    // After the work, the sleeper resumes in 3 µs, and then `main`, which waits for it, in 3 µs.
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
        let finished = run(&machine, FrequencyMode::Dynamic, 1, body);
        finished.unwrap().elapsed
    };
    assert!(is_about(elapsed(1), 150 * US));
    assert!(is_about(elapsed(2), 300 * US));
}
