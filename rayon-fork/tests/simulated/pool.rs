//! Properties of the pool that only simulated machines can show. `behaviour/`, which also runs on
//! simulated machines, tests other properties.

use std::process::Command;
use std::time::Duration;

use manycore::{FrequencyMode, Machine, Spending, run, thread};
use rayon_core::{ThreadPool, ThreadPoolBuilder};

#[global_allocator]
static HEAP: manycore::Heap = manycore::Heap;

fn machine(name: &str) -> Machine {
    let file = format!("{}/../../machines/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    Machine::read(file.as_ref()).unwrap()
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

fn on_eight<R: 'static>(body: impl FnOnce(&ThreadPool) -> R + 'static) -> R {
    run(&machine("zen4-64"), FrequencyMode::Dynamic, 1, || body(&pool(8))).unwrap().result
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        // Each leaf works for a microsecond, so that every worker wakes in time to find a part of
        // the tree.
        manycore::work(1_000_000);
        return u64::from(n);
    }
    let (one, other) = rayon_core::join(|| fib(n - 1), || fib(n - 2));
    one + other
}

#[test]
fn joins_give_the_sequential_answer_on_every_worker() {
    let (answer, working) = on_eight(|pool| {
        let answer = pool.install(|| fib(18));
        // The first thread of the simulation is the external thread; the others are workers.
        let workers = manycore::spent().into_iter().skip(1);
        (answer, workers.filter(|spent| spent.on(Spending::Work) > 0).count())
    });
    assert_eq!((answer, working), (2584, 8));
}

#[test]
fn workers_sleep_while_there_is_nothing_to_do_and_wake_for_an_injected_job() {
    let (asleep, answer) = on_eight(|pool| {
        pool.install(|| fib(10));
        thread::sleep(Duration::from_millis(20));
        let spent = manycore::spent();
        let asleep = spent.iter().skip(1).map(|spent| spent.on(Spending::Asleep)).min();
        (asleep.unwrap(), pool.install(|| fib(10)))
    });
    assert!(asleep > 15_000_000_000, "{asleep} ps of 20 ms");
    assert_eq!(answer, 55);
}

#[test]
fn a_pool_of_more_workers_than_cores_ends_its_work() {
    let answer =
        run(&machine("broadwell-2x16"), FrequencyMode::Fixed, 1, || pool(100).install(|| fib(14)));
    assert_eq!(answer.unwrap().result, 377);
}

#[test]
fn more_workers_than_one_word_has_bits_run_a_tree() {
    let answer = run(&machine("wide-1024"), FrequencyMode::Fixed, 1, || {
        let pool = pool(150);
        pool.install(|| fib(14))
    });
    assert_eq!(answer.unwrap().result, 377);
}

#[cfg(feature = "instrument")]
#[test]
fn every_job_is_counted_by_the_core_that_ran_it() {
    let counts = on_eight(|pool| {
        let before = rayon_core::instrument::snapshot(pool);
        pool.install(|| fib(16));
        rayon_core::instrument::snapshot(pool).since(&before)
    });
    let of =
        |name| counts.workers.iter().map(|worker| worker.get(name).unwrap()).collect::<Vec<u64>>();
    let sum = |name| of(name).iter().sum::<u64>();
    // Each call of `fib` with a number above 1 pushes one job. The injected job adds one.
    assert_eq!(sum("jobs_executed"), 1_596 + 1);
    assert!(sum("steals_won") <= sum("pushes"));
    assert!(of("jobs_executed").iter().all(|jobs| *jobs > 0), "{counts:?}");
}
