//! The order in which one worker runs jobs of one kind, and in which a thief takes them.

use std::sync::Barrier;
use std::thread;

use rayon_core::{ThreadPool, scope, spawn, yield_local};

use crate::common::{Log, Occupation, Tally, in_time, pool, rounds, spawn_in_turn_and_wait};

const JOBS: i32 = 10;

fn order(pool: &ThreadPool, submit: impl FnOnce(&Log<i32>) + Send) -> Vec<i32> {
    let log = Log::new();
    pool.install(|| {
        submit(&log);
        while yield_local() == Some(rayon_core::Yield::Executed) {}
    });
    log.take()
}

fn job(log: &Log<i32>, i: i32) -> impl FnOnce() + Send + use<> {
    let log = log.clone();
    move || log.add(i)
}

#[test]
fn injected_jobs_run_first_in_first_out() {
    in_time(|| {
        let pool = pool(1);
        let log = Log::new();
        let busy = Occupation::of(&pool);
        for i in 0..JOBS {
            if i % 2 == 0 {
                pool.spawn(job(&log, i));
            } else {
                pool.spawn_fifo(job(&log, i));
            }
        }
        drop(busy);
        pool.install(|| ());
        assert!(log.take().into_iter().eq(0..JOBS));
    });
}

const MANY_JOBS: usize = if cfg!(miri) { 40 } else { 200 };

#[test]
fn a_thief_runs_many_jobs_even_if_each_waits_for_the_one_before() {
    in_time(|| pool(2).install(|| spawn_in_turn_and_wait(MANY_JOBS)));
}

#[test]
fn a_thief_whose_job_blocks_keeps_no_other_job_from_its_owner() {
    in_time(|| {
        for _ in 0..rounds(100, 2) {
            let (ran, second) = (Tally::new(), Tally::new());
            pool(2).install(|| {
                for number in 0..MANY_JOBS {
                    let (ran, second) = (ran.clone(), second.clone());
                    spawn(move || {
                        match number {
                            0 => second.wait_for(1),
                            1 => second.add_one(),
                            _ => (),
                        }
                        ran.add_one();
                    });
                }
                while ran.get() < MANY_JOBS {
                    yield_local();
                }
            });
        }
    });
}

#[test]
fn thieves_take_the_oldest_job() {
    in_time(|| {
        let log = Log::new();
        let (pushed, stolen) = (Barrier::new(2), Barrier::new(2));
        pool(2).broadcast(|context| {
            if context.index() == 0 {
                (0..JOBS).for_each(|i| spawn(job(&log, i)));
                pushed.wait();
            } else {
                pushed.wait();
                for _ in 0..JOBS {
                    rayon_core::yield_now();
                }
            }
            stolen.wait();
        });
        assert!(log.take().into_iter().eq(0..JOBS));
    });
}

#[test]
#[expect(deprecated, reason = "the deprecated option is what is tested")]
fn a_breadth_first_pool_runs_the_oldest_own_job_first() {
    in_time(|| {
        // The option also holds if a spawn handler is set after the option.
        let pool = rayon_core::ThreadPoolBuilder::new()
            .num_threads(1)
            .breadth_first()
            .spawn_handler(|thread| {
                thread::spawn(|| thread.run());
                Ok(())
            })
            .build()
            .unwrap();
        let ran = order(&pool, |log| (0..JOBS).for_each(|i| spawn(job(log, i))));
        assert!(ran.into_iter().eq(0..JOBS));
        let ran = order(&pool, |log| {
            scope(|scope| (0..JOBS).for_each(|i| scope.spawn(move |_| log.add(i))));
        });
        assert!(ran.into_iter().eq(0..JOBS));
    });
}

#[test]
#[expect(deprecated, reason = "the deprecated option is what is tested")]
fn joins_in_a_breadth_first_pool_come_back() {
    fn fibonacci(n: u32) -> u32 {
        if n < 2 {
            return n;
        }
        let (a, b) = rayon_core::join(|| fibonacci(n - 1), || fibonacci(n - 2));
        a + b
    }
    in_time(|| {
        for workers in 1..=3 {
            let builder = rayon_core::ThreadPoolBuilder::new().num_threads(workers);
            let pool = builder.breadth_first().build().unwrap();
            assert_eq!(pool.install(|| fibonacci(10)), 55, "{workers} workers");
        }
    });
}

#[test]
fn jobs_that_a_foreign_thread_puts_into_either_kind_of_scope_run_first_in_first_out() {
    in_time(|| {
        let pool = pool(1);
        let log = &Log::new();
        let busy = Occupation::of(&pool);
        pool.in_place_scope(|scope| {
            (0..JOBS).for_each(|i| scope.spawn(move |_| log.add(i)));
            drop(busy);
        });
        assert!(log.take().into_iter().eq(0..JOBS));
        let busy = Occupation::of(&pool);
        pool.in_place_scope_fifo(|scope| {
            (0..JOBS).for_each(|i| scope.spawn_fifo(move |_| log.add(i)));
            drop(busy);
        });
        assert!(log.take().into_iter().eq(0..JOBS));
    });
}
