//! Results that must hold for all cost parameters: limits from theory or from plain counting.

use std::collections::VecDeque;
use std::sync::Arc;

use manycore::atomic::{AtomicUsize, Ordering, fence};
use manycore::lock::{Condvar, Mutex};
use manycore::{FrequencyMode, Machine, Picoseconds, Spending, run, thread};
use proptest::prelude::*;

use crate::{NS, on_threads, simulate, time_of, timed};

#[derive(Default)]
#[repr(align(128))]
struct Padded(AtomicUsize);

fn with_lines(cores: usize) -> Machine {
    let mut machine = Machine::free(cores);
    machine.costs.set_transfers(50 * NS);
    machine.costs.hit = NS;
    machine
}

#[test]
fn threads_on_cores_of_their_own_work_at_the_same_time() {
    for threads in [1, 8] {
        let work = move || on_threads(threads, |_| manycore::work(1_000 * NS));
        assert_eq!(time_of(&Machine::free(threads), work), 1_000 * NS);
    }
}

/// Number of accesses that `threads` threads make to one word, in the time of a transfer of the
/// word's line.
fn accesses_per_transfer(threads: usize, occupancy: f64) -> f64 {
    let mut machine = with_lines(threads);
    machine.costs.occupancy = occupancy;
    let elapsed = time_of(&machine, move || {
        let word = Arc::new(Padded::default());
        on_threads(threads, move |_| {
            for _ in 0..100 {
                word.0.fetch_add(1, Ordering::Relaxed);
            }
        });
    });
    100.0 * threads as f64 / (elapsed as f64 / (50 * NS) as f64)
}

#[test]
fn a_hot_line_gives_one_access_for_the_occupied_part_of_each_transfer() {
    for (threads, occupancy) in [(2, 1.0), (4, 1.0), (16, 1.0), (16, 0.5)] {
        let accesses = accesses_per_transfer(threads, occupancy) * occupancy;
        assert!(
            (accesses - 1.0).abs() < 0.05,
            "{threads} threads: {accesses}"
        );
    }
}

#[test]
fn two_words_on_one_line_cost_what_one_hot_word_does_and_apart_nothing() {
    #[repr(align(128))]
    struct Words([AtomicUsize; 32]);
    let elapsed = |other: usize| {
        time_of(&with_lines(2), move || {
            let words = Arc::new(Words([const { AtomicUsize::new(0) }; 32]));
            on_threads(2, move |i| {
                for _ in 0..100 {
                    words.0[i * other].fetch_add(1, Ordering::Relaxed);
                }
            });
        })
    };
    let (together, apart) = (elapsed(1), elapsed(16));
    assert!(together > 190 * 50 * NS, "{together}");
    assert!(apart < 10 * 50 * NS, "{apart}");
}

#[test]
fn readers_of_a_line_that_nobody_writes_pay_for_it_once() {
    let elapsed = time_of(&with_lines(4), || {
        let word = Arc::new(Padded::default());
        on_threads(4, move |_| {
            for _ in 0..1000 {
                word.0.load(Ordering::Relaxed);
            }
        });
    });
    assert!(elapsed < 1_500 * NS, "{elapsed}");
}

#[test]
fn a_store_is_buffered_and_a_fence_waits_for_it() {
    let mut machine = Machine::free(2);
    machine.costs.set_transfers(80 * NS);
    let ((store, with_fence), _) = simulate(&machine, || {
        let word = Arc::new(Padded::default());
        let write = |with_fence: bool| {
            let word = Arc::clone(&word);
            let write = move || {
                word.0.store(1, Ordering::Release);
                if with_fence {
                    fence(Ordering::SeqCst);
                }
            };
            thread::spawn(|| timed(write)).join().unwrap()
        };
        // Both writes run on a core that does not have the line.
        word.0.store(0, Ordering::Relaxed);
        let store = write(false);
        word.0.fetch_add(1, Ordering::Relaxed);
        (store, write(true))
    });
    assert_eq!((store, with_fence), (0, 80 * NS));
}

#[test]
fn a_buffer_that_is_full_makes_stores_wait() {
    let mut machine = Machine::free(1);
    machine.costs.memory = 80 * NS;
    machine.costs.store_buffer = 4;
    let (waited, _) = simulate(&machine, || {
        let words: Vec<Padded> = (0..100).map(|_| Padded::default()).collect();
        timed(|| {
            for word in &words {
                word.0.store(1, Ordering::Relaxed);
            }
        })
    });
    assert_eq!(waited, 96 * 80 * NS);
}

#[test]
fn cores_slow_down_as_more_of_them_run() {
    let mut machine = Machine::free(4);
    machine.frequency.dynamic_mhz = vec![(2, 2_000), (4, 1_000)];
    let elapsed = |mode| {
        let body = || {
            on_threads(1, |_| manycore::work(1_000 * NS));
            on_threads(3, |_| manycore::work(1_000 * NS));
        };
        run(&machine, mode, 1, body).unwrap().elapsed
    };
    assert_eq!(elapsed(FrequencyMode::Fixed), 2_000 * NS);
    // In the first call at most two cores run, at 2 GHz. In the second call, the thread that starts
    // last is the third running core, at 1 GHz.
    assert_eq!(elapsed(FrequencyMode::Dynamic), 1_500 * NS);
}

#[test]
fn time_is_accounted_for_to_the_last_picosecond() {
    let mut machine = Machine::free(3);
    machine.costs.resume = 3_000 * NS;
    machine.costs.hit = NS;
    machine.costs.set_transfers(20 * NS);
    let (spent, elapsed) = simulate(&machine, || {
        let word = Arc::new(Padded::default());
        on_threads(3, move |i| {
            word.0.fetch_add(1, Ordering::Relaxed);
            manycore::work(100 * NS * i as u64);
            thread::sleep(std::time::Duration::from_micros(5));
        });
        manycore::spent()
    });
    let main = spent[0];
    let all: Picoseconds = Spending::ALL.iter().map(|&it| main.on(it)).sum();
    assert_eq!(all, elapsed);
    assert_eq!(spent[3].on(Spending::Work), 200 * NS);
    assert_eq!(spent[3].on(Spending::Asleep), 5_000 * NS);
}

#[derive(Clone, Debug)]
struct Task {
    work: Picoseconds,
    children: Vec<Task>,
}

impl Task {
    fn all_work(&self) -> Picoseconds {
        let children = self.children.iter().map(Self::all_work);
        self.work + children.sum::<Picoseconds>()
    }

    fn longest_path(&self) -> Picoseconds {
        let children = self.children.iter().map(Self::longest_path);
        self.work + children.max().unwrap_or(0)
    }
}

fn tasks() -> impl Strategy<Value = Task> {
    let leaf = (1..1000_u64).prop_map(|ns| Task {
        work: ns * NS,
        children: Vec::new(),
    });
    leaf.prop_recursive(5, 120, 6, |inner| {
        let children = prop::collection::vec(inner, 0..6);
        (1..1000_u64, children).prop_map(|(ns, children)| Task {
            work: ns * NS,
            children,
        })
    })
}

fn run_greedily(task: &Task, threads: usize) -> Picoseconds {
    struct Ready {
        tasks: VecDeque<Task>,
        unfinished: usize,
    }
    let unfinished = 1;
    let shared = Arc::new((
        Mutex::new(Ready {
            tasks: VecDeque::from([task.clone()]),
            unfinished,
        }),
        Condvar::new(),
    ));
    simulate(&Machine::free(threads), move || {
        on_threads(threads, move |_| {
            let (ready, changed) = &*shared;
            let mut guard = ready.lock().unwrap();
            while guard.unfinished > 0 {
                let Some(task) = guard.tasks.pop_front() else {
                    guard = changed.wait(guard).unwrap();
                    continue;
                };
                drop(guard);
                manycore::work(task.work);
                guard = ready.lock().unwrap();
                guard.unfinished += task.children.len();
                guard.unfinished -= 1;
                guard.tasks.extend(task.children);
                changed.notify_all();
            }
        });
    })
    .1
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// The bound is from R. L. Graham, "Bounds on multiprocessing timing anomalies", 1969.
    #[test]
    fn a_greedy_schedule_keeps_its_bound_if_nothing_else_costs(task in tasks(), threads in 1..20_usize) {
        let elapsed = run_greedily(&task, threads);
        let share = task.all_work() / threads as u64;
        prop_assert!(elapsed >= share.max(task.longest_path()), "{elapsed}");
        prop_assert!(elapsed <= share + 1 + task.longest_path(), "{elapsed}");
    }
}

/// Runs a thread for each CPU of `machine`. Every thread adds to one word `each` times, and works
/// for `gap` after each addition. Returns the threads in the order of their additions, and the
/// elapsed time.
fn additions(
    machine: &Machine,
    each: usize,
    gap: fn() -> Picoseconds,
) -> (Vec<usize>, Picoseconds) {
    let threads = machine.topology.cpus();
    simulate(machine, move || {
        let word = Arc::new(Padded::default());
        let log = Arc::new(std::sync::Mutex::new(vec![0; threads * each]));
        let shared = Arc::clone(&log);
        on_threads(threads, move |i| {
            for _ in 0..each {
                let value = word.0.fetch_add(1, Ordering::Relaxed);
                shared.lock().unwrap()[value] = i;
                manycore::work(gap());
            }
        });
        Arc::try_unwrap(log).unwrap().into_inner().unwrap()
    })
}

fn streaks(adders: &[usize], group: impl Fn(usize) -> usize) -> Vec<usize> {
    let middle = &adders[adders.len() / 4..adders.len() * 3 / 4];
    let same = |one: &usize, next: &usize| group(*one) == group(*next);
    let mut streaks: Vec<usize> = middle.chunk_by(same).map(<[usize]>::len).collect();
    streaks.pop();
    streaks.drain(..1);
    streaks
}

fn with_run(cores: usize, run: usize) -> Machine {
    let mut machine = with_lines(cores);
    machine.costs.run = run;
    machine
}

#[test]
fn a_core_does_as_many_operations_in_a_row_on_a_hot_line_as_the_run_allows() {
    for run in [1, 2, 4] {
        let (adders, elapsed) = additions(&with_run(2, run), 200, || 0);
        let streaks = streaks(&adders, |it| it);
        assert!(streaks.iter().all(|it| *it == run), "{run}: {streaks:?}");
        let transfers = elapsed as f64 / (50 * NS) as f64;
        let expected = 400.0 / run as f64;
        assert!(
            (transfers / expected - 1.0).abs() < 0.1,
            "{run}: {transfers} transfers"
        );
    }
}

#[test]
fn a_core_does_those_operations_in_a_row_that_begin_before_the_line_leaves() {
    for (run, gap, expected) in [(4, (|| 60 * NS) as fn() -> u64, 1), (8, || 30 * NS, 2)] {
        let (adders, _) = additions(&with_run(2, run), 200, gap);
        let streaks = streaks(&adders, |it| it);
        assert!(streaks.iter().all(|it| *it == expected), "{streaks:?}");
    }
}

#[test]
fn cores_of_a_cluster_have_a_hot_line_before_others_that_asked_earlier() {
    let mean_streak = |run| {
        let mut machine = with_run(8, run);
        machine.topology.clusters_per_socket = 2;
        machine.topology.cores_per_cluster = 4;
        machine.costs.transfer_socket = 100 * NS;
        let (adders, _) = additions(&machine, 200, || manycore::random() % (100 * NS));
        let streaks = streaks(&adders, |it| it / 4);
        streaks.iter().sum::<usize>() as f64 / streaks.len() as f64
    };
    let (first_come, near_first) = (mean_streak(1), mean_streak(3));
    assert!(near_first > 1.5 * first_come, "{first_come}, {near_first}");
}

#[test]
fn no_core_starves_at_a_hot_line() {
    let mut machine = with_run(8, 3);
    machine.topology.clusters_per_socket = 2;
    machine.topology.cores_per_cluster = 4;
    let (adders, _) = additions(&machine, 200, || 0);
    let half = &adders[..adders.len() / 2];
    for core in 0..8 {
        let share = half.iter().filter(|it| **it == core).count() as f64 / half.len() as f64;
        assert!((share * 8.0 - 1.0).abs() < 0.3, "core {core}: {share}");
    }
}

#[test]
fn a_call_takes_the_cycles_of_its_own_instructions() {
    let mut machine = Machine::free(1);
    machine.frequency.reference_mhz = 2_000;
    machine.frequency.fixed_mhz = 1_000;
    machine.costs.own_instructions = 1.5;
    machine.set_own_cycles(manycore::Call::Join, 8.0);
    let ((), elapsed) = simulate(&machine, || {
        manycore::own_instructions(manycore::Call::Join);
        manycore::own_instructions(manycore::Call::Spawn);
    });
    assert_eq!(elapsed, 12 * NS);
}

#[test]
fn a_call_whose_cycles_are_negative_overlaps_its_own_accesses_and_no_later_call() {
    let mut machine = Machine::free(1);
    machine.costs.hit = 2 * NS;
    machine.set_own_cycles(manycore::Call::Join, -3.0);
    let ((), elapsed) = simulate(&machine, || {
        let word = Padded::default();
        manycore::own_instructions(manycore::Call::Join);
        manycore::own_instructions(manycore::Call::Join);
        for _ in 0..4 {
            word.0.load(Ordering::Relaxed);
        }
    });
    assert_eq!(elapsed, (4 * 2 - 3) * NS);
}
